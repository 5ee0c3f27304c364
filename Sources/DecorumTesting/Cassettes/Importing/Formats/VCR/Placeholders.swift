import DecorumArchive
import Foundation
import HTTPTypes

extension ImportDraft {
    /// Warns of names and templates that VCR and betamax would replace before they play an exchange.
    mutating func warnOfPlaceholders() {
        var seen: Set<String> = []
        for (interaction, place) in zip(interactions, places) {
            let response = interaction.response
            let values = interaction.request.fields.map(\.value) + (response?.fields.map(\.value) ?? [])
            var names: [String] = []
            for value in [interaction.request.url] + values {
                names += Placeholder.all(in: Array(value.utf8)).map(\.name)
            }
            for body in [interaction.request.body, response?.body ?? RecordedBody()] {
                names += Placeholder.all(in: Array(body.bytes)).filter(\.isCertain).map(\.name)
            }
            for name in names where seen.insert(name).inserted {
                warn(.placeholder, at: place, "\(name) stands in place of a value.")
            }
        }
    }
}

extension ImportedCassette {
    /// Whether names in place of values are part of the format.
    var hasNamedPlaceholders: Bool { format == .vcr || format == .betamax }

    /// The exchanges as a cassette plays them: a name in place of a value of a request matches any value.
    ///
    /// VCR and betamax put the value back before they match, which is not known here.
    var playedInteractions: [Interaction] {
        guard hasNamedPlaceholders else { return interactions }
        return interactions.map { interaction in
            var interaction = interaction
            interaction.request.url = Placeholder.erased(in: interaction.request.url)
            for index in interaction.request.fields.indices {
                let value = interaction.request.fields[index].value
                let erased = Placeholder.erased(in: value)
                if erased != value { interaction.request.fields[index].value = erased }
            }
            let body = Array(interaction.request.body.bytes)
            // Words in angle brackets are common in markup.
            let isMarkup = body.first { $0 > 0x20 } == UInt8(ascii: "<")
            let erased = Placeholder.erased(in: body) { $0.isCertain || !isMarkup }
            if erased != body { interaction.request.body.bytes = Data(erased) }
            return interaction
        }
    }
}

/// A name or a template that a recorder wrote in place of a value, such as `<API_KEY>` or `<%= key %>`.
struct Placeholder {
    let range: Range<Int>
    /// The name in its angle brackets; `<%` for a template.
    let name: String
    /// Whether it is no element of old HTML, since the name of none has an underscore.
    let isCertain: Bool

    /// Finds the placeholders in a text, from the left; in a URL, the angle brackets may be percent-encoded.
    static func all(in bytes: [UInt8]) -> [Placeholder] {
        var found: [Placeholder] = []
        var index = 0
        while index < bytes.count {
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

    /// The text with the mark of a redacted value in the place of each placeholder, which matches any value.
    static func erased(in bytes: [UInt8], where isErased: (Placeholder) -> Bool = { _ in true }) -> [UInt8] {
        var output: [UInt8] = []
        var copied = 0
        for placeholder in all(in: bytes) where isErased(placeholder) {
            output += bytes[copied..<placeholder.range.lowerBound]
            output += Pseudonym.erasedText.utf8
            copied = placeholder.range.upperBound
        }
        return output + bytes[copied...]
    }

    static func erased(in text: String) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "%") }) else { return text }
        return String(decoding: erased(in: Array(text.utf8)), as: UTF8.self)
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

    /// The index behind a bracket, as it is or percent-encoded; nil if there is none.
    private static func end(of bracket: Unicode.Scalar, _ encoded: String, in bytes: [UInt8], at index: Int) -> Int? {
        guard index < bytes.count else { return nil }
        if bytes[index] == UInt8(ascii: bracket) { return index + 1 }
        guard bytes[index] == UInt8(ascii: "%") else { return nil }
        let isEncoded = bytes[index...].prefix(3).elementsEqual(encoded.utf8) { $0 == $1 || $0 == $1 | 0x20 }
        return isEncoded ? index + 3 : nil
    }
}
