import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// The values in the answers of a run that stand in place of recorded ones, such as the identifier of a new item.
///
/// A server gives another one in each run, and requests repeat it in their paths, queries or contents. With the recorded
/// value in its place, such a request is the recorded one. A short value, such as a count or a price, may equal an
/// identifier by chance, so it is learned only where its place says that it is one. Words that ``areMadeAnew(_:_:)`` refuses
/// may be some that the client chooses, so they are learned only where a member is named as an identifier, or a new item has
/// its URL.
struct AnswerValues {
    /// Longer texts are no identifiers and no paths.
    private static let lengthLimit = 128
    /// A value of fewer bytes may equal another one by chance.
    static let longLength = 6
    private static let names = ["id", "number", "uuid"]

    /// The recorded values by the live ones.
    private var recorded: [[UInt8]: [UInt8]] = [:]

    /// The sign by which a value is taken for an identifier.
    private enum Sign: Comparable {
        /// It is long, and its form says that a server has made it anew.
        case form
        /// It is in a URL, or its member has a name with the letters of one for identifiers.
        case place
        /// Its member has the name of an identifier, or it is in the URL of a new item.
        case name
    }

    /// Learns the values at the same places of a recorded answer and of the live one.
    mutating func learn(from recorded: RecordedResponse, _ live: RecordedResponse) {
        if let old = recorded.fields[.location], let new = live.fields[.location] {
            learn(from: old, new, by: recorded.status == 201 && live.status == 201 ? .name : .place)
        }
        guard let old = try? JSONValue(parsing: Array(recorded.body.bytes)),
            let new = try? JSONValue(parsing: Array(live.body.bytes))
        else { return }
        learn(from: old, new, by: .form)
    }

    private mutating func learn(from old: JSONValue, _ new: JSONValue, by sign: Sign) {
        switch (old, new) {
        case (.string(let old), .string(let new)):
            learn(from: old, new, by: Self.isURL(old) && Self.isURL(new) ? max(sign, .place) : sign)
        case (.number(let old), .number(let new)): learn(from: old, new, by: sign)
        case (.array(let old), .array(let new)):
            for (old, new) in zip(old, new) { learn(from: old, new, by: sign) }
        case (.object(let old), .object(let new)):
            let members = Dictionary(new.map { ($0.name, $0.value) }) { first, _ in first }
            for member in old {
                members[member.name].map { learn(from: member.value, $0, by: Self.sign(of: member.name)) }
            }
        default: break
        }
    }

    private static func sign(of name: String) -> Sign {
        if IdentifierName.includes(name) { return .name }
        return names.contains(where: name.lowercased().hasSuffix) ? .place : .form
    }

    private static func isURL(_ text: String) -> Bool { text.hasPrefix("/") || text.contains("://") }

    /// Learns the words that differ between two texts, such as the last part of a path; a value that was learned first stays.
    private mutating func learn(from old: String, _ new: String, by sign: Sign) {
        guard old != new, old.utf8.count <= Self.lengthLimit, new.utf8.count <= Self.lengthLimit else { return }
        let (oldText, newText) = (Array(old.utf8), Array(new.utf8))
        let oldWords = Self.words(in: oldText[Self.startOfPath(in: oldText)...])
        let newWords = Self.words(in: newText[Self.startOfPath(in: newText)...])
        guard oldWords.count == newWords.count else { return }
        for (old, new) in zip(oldWords, newWords) where old != new && recorded[Array(new)] == nil {
            let isLong = min(old.count, new.count) >= Self.longLength
            guard Self.areMadeAnew(old, new) ? isLong || sign > .form : isLong && sign == .name else { continue }
            recorded[Array(new)] = Array(old)
        }
    }

    /// Whether a server may have made two words anew, one in each run: words without a digit, such as states, may also be some
    /// that the client chooses.
    ///
    /// Of random identifiers, which are long and have the same length, a few have no digit by chance.
    static func areMadeAnew(_ old: some Collection<UInt8>, _ new: some Collection<UInt8>) -> Bool {
        func hasDigit(_ word: some Collection<UInt8>) -> Bool { word.contains(where: \.isDigit) }
        guard !hasDigit(old) || !hasDigit(new) else { return true }
        guard old.count == new.count, old.count >= longLength else { return false }
        return [Array(old), Array(new)].allSatisfy { hasDigit($0) || !OpaqueText.consistsOfWords($0[...]) }
    }

    /// The versions of a request with recorded values in place of live ones: first of long ones alone, which equal no other
    /// value by chance, and then of all; empty if it has none of them.
    func versions(of request: RecordedRequest) -> [RecordedRequest] {
        let long = applied(to: request) { $0.count >= Self.longLength }
        let all = applied(to: request) { _ in true }
        return long == all ? [long].compactMap(\.self) : [long, all].compactMap(\.self)
    }

    /// A URL, and its versions with recorded values in place of live ones.
    func versions(of url: String) -> [String] {
        [url] + versions(of: RecordedRequest(method: "GET", url: url)).map(\.url)
    }

    private func applied(to request: RecordedRequest, where isUsed: (ArraySlice<UInt8>) -> Bool) -> RecordedRequest? {
        guard !recorded.isEmpty else { return nil }
        var request = request
        let url = replaced(in: Array(request.url.utf8), isURL: true, where: isUsed)
        let isCoded = request.fields.contains(.contentEncoding)
        let content = isCoded ? nil : replaced(in: Array(request.body.bytes), isURL: false, where: isUsed)
        guard url != nil || content != nil else { return nil }
        if let url { request.url = String(decoding: url, as: UTF8.self) }
        if let content { request.body.bytes = Data(content) }
        return request
    }

    /// The text with recorded values, or nil if it has no live one.
    ///
    /// The scheme and the authority of a URL stay.
    private func replaced(in text: [UInt8], isURL: Bool, where isUsed: (ArraySlice<UInt8>) -> Bool) -> [UInt8]? {
        var output: [UInt8] = []
        var copied = 0
        for word in Self.words(in: text[(isURL ? Self.startOfPath(in: text) : 0)...]) where isUsed(word) {
            guard let value = recorded[Array(word)] else { continue }
            output += text[copied..<word.startIndex]
            output += value
            copied = word.endIndex
        }
        return copied == 0 ? nil : output + text[copied...]
    }

    /// The place behind the scheme and the authority of a URL; that of the beginning in any other text (RFC 3986, section 3).
    private static func startOfPath(in text: [UInt8]) -> Int {
        let scheme = text.prefix { $0.isLetterOrDigit }.count
        guard text[scheme...].starts(with: "://".utf8) else { return 0 }
        let authority = scheme + 3
        return text[authority...].firstIndex { "/?#".utf8.contains($0) } ?? text.count
    }

    private static func words(in text: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        text.split { !$0.isLetterOrDigit && $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }
    }
}
