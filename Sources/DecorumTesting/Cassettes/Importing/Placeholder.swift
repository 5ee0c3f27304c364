import Decorum
import Foundation
import HTTPTypes

/// A name or a template that a recorder wrote in place of a value, such as `<API_KEY>` or `<%= key %>`.
package struct Placeholder {
    let range: Range<Int>
    /// The name in its angle brackets; `<%` for a template.
    package let name: String
    /// Whether it is no element of old HTML, since the name of none has an underscore.
    package let isCertain: Bool

    /// Finds the placeholders in a text, from the left; in a URL, the angle brackets may be percent-encoded.
    package static func all(in bytes: [UInt8]) -> [Placeholder] {
        var found: [Placeholder] = []
        var index = 0
        while let next = bytes[index...].firstIndex(where: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "%") }) {
            index = next
            guard let start = end(of: "<", "%3C", in: bytes, at: index) else {
                index += 1
                continue
            }
            let placeholder = template(in: bytes, from: index, start) ?? name(in: bytes, from: index, start)
            if let placeholder { found.append(placeholder) }
            index = placeholder?.range.upperBound ?? start
        }
        return found
    }

    /// A request with a mark that matches any value in place of each placeholder.
    ///
    /// VCR and betamax put the value back before they match, which is not known here.
    static func masked(_ request: RecordedRequest) -> RecordedRequest {
        var request = request
        request.url = masked(request.url)
        for index in request.fields.indices {
            let value = request.fields[index].value
            let masked = masked(value)
            if masked != value { request.fields[index].value = masked }
        }
        // Words in angle brackets are common in markup.
        let body = Array(request.body.bytes)
        let isMarkup = body.first { $0 > 0x20 } == UInt8(ascii: "<")
        request.body.bytes = Data(masked(body) { $0.isCertain || !isMarkup })
        return request
    }

    private static func masked(_ text: String) -> String {
        String(decoding: masked(Array(text.utf8)) { _ in true }, as: UTF8.self)
    }

    private static func masked(_ bytes: [UInt8], where isMasked: (Placeholder) -> Bool) -> [UInt8] {
        var output: [UInt8] = []
        var copied = 0
        for placeholder in all(in: bytes) where isMasked(placeholder) {
            output += bytes[copied..<placeholder.range.lowerBound] + Pseudonym.erasedText.utf8
            copied = placeholder.range.upperBound
        }
        return output + bytes[copied...]
    }

    private static func template(in bytes: [UInt8], from index: Int, _ start: Int) -> Placeholder? {
        guard start < bytes.count, bytes[start] == UInt8(ascii: "%"), bytes[index] == UInt8(ascii: "<") else {
            return nil
        }
        let limit = min(bytes.count - 1, start + 1024)
        let end = (start + 1..<max(limit, start + 1)).first { bytes[$0...].starts(with: "%>".utf8) }
        return end.map { Placeholder(range: index..<$0 + 2, name: "<%", isCertain: true) }
    }

    private static func name(in bytes: [UInt8], from index: Int, _ start: Int) -> Placeholder? {
        let name = bytes[start...].prefix(64).prefix {
            (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
        }
        guard name.count > 1, let end = end(of: ">", "%3E", in: bytes, at: name.endIndex) else { return nil }
        return Placeholder(
            range: index..<end, name: "<\(String(decoding: name, as: UTF8.self))>",
            isCertain: name.contains(UInt8(ascii: "_")))
    }

    /// The index behind a bracket, as it is or percent-encoded; nil if the index has no bracket.
    private static func end(of bracket: Unicode.Scalar, _ encoded: String, in bytes: [UInt8], at index: Int) -> Int? {
        guard index < bytes.count else { return nil }
        if bytes[index] == UInt8(ascii: bracket) { return index + 1 }
        let isEncoded = bytes[index...].prefix(3).elementsEqual(encoded.utf8) { $0 == $1 || $0 == $1 | 0x20 }
        return isEncoded ? index + 3 : nil
    }
}

extension RecordedRequest {
    /// The placeholders, without percent-encoding and Base64; also of other tools, such as `<API_KEY>`, if `named` is true.
    func placeholders(named: Bool) -> Set<[UInt8]> {
        let content = Array(body.bytes)
        let isForm = ContentKind(mediaType: fields[.contentType]) == .form
        let texts = [
            PercentCoding.decode(Array(url.utf8)[...], plusIsBlank: false),
            isForm ? PercentCoding.decode(content[...], plusIsBlank: true) : content,
        ]
        return Set(
            (texts + fields.map { Array($0.value.utf8) }).flatMap { text -> [[UInt8]] in
                let names = named ? Placeholder.all(in: text).map { Array($0.name.utf8) } : []
                let texts = [text] + EncodedWord.all(in: text).map(\.text)
                return names + texts.flatMap { text in Pseudonym.places(in: text).map { Array(text[$0]) } }
            })
    }
}
