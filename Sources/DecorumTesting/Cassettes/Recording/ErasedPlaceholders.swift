import Decorum
import Foundation
import HTTPTypes

/// The placeholders that were erased from an interaction, in their order.
///
/// Two lists are equal if each placeholder is of the same kind as the other: random secrets of one kind may differ a little
/// in length, and a server that gives tokens of another form has changed.
struct ErasedPlaceholders: Equatable {
    private var found: [[UInt8]] = []

    /// Erases the placeholders of a text, and notes them.
    mutating func erase(in text: [UInt8]) -> [UInt8]? {
        for range in PseudonymPlaces.all(in: text) { found.append(Array(text[range])) }
        return Pseudonym.erased(in: text)
    }

    /// Erases the placeholders of a text, and notes them.
    mutating func erase(in text: String) -> String {
        erase(in: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    static func == (one: Self, other: Self) -> Bool {
        one.found.count == other.found.count && zip(one.found, other.found).allSatisfy(isSameKind)
    }

    /// Whether two placeholders have as many parts between dots, as a JSON Web Token has three.
    private static func isSameKind(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        Pseudonym.partCount(of: one) == Pseudonym.partCount(of: other)
    }
}

extension Interaction {
    /// Erases the placeholders of the request, without its content, and of the response, and their lengths.
    mutating func erasePlaceholders(into erased: inout ErasedPlaceholders) {
        request.url = erased.erase(in: request.url)
        request.fields.erasePlaceholders(into: &erased)
        request.fields[.contentLength] = nil
        guard var answer = response else { return }
        answer.fields.erasePlaceholders(into: &erased)
        answer.trailers.erasePlaceholders(into: &erased)
        if let content = erased.erase(in: Array(answer.body.bytes)) {
            answer.body.bytes = Data(content)
            answer.fields[.contentLength] = nil
        }
        response = answer
    }
}

extension HTTPFields {
    fileprivate mutating func erasePlaceholders(into erased: inout ErasedPlaceholders) {
        for index in indices { self[index].value = erased.erase(in: self[index].value) }
    }
}
