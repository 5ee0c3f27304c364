import Foundation
import HTTPTypes

extension ImportDraft {
    /// Warns of names and templates that VCR and betamax would replace before they play an exchange.
    mutating func warnOfPlaceholders() {
        var seen: Set<String> = []
        for (index, interaction) in interactions.enumerated() {
            let response = interaction.response
            let values = interaction.request.fields.map(\.value) + (response?.fields.map(\.value) ?? [])
            var names: [String] = []
            for value in [interaction.request.url] + values {
                names += Placeholder.names(in: Data(value.utf8), needsUnderscore: false)
            }
            // Upper-case words in angle brackets are common in old HTML, but no HTML element has an underscore in its
            // name.
            for body in [interaction.request.body, response?.body ?? RecordedBody()] {
                names += Placeholder.names(in: body.bytes, needsUnderscore: true)
            }
            for name in names where seen.insert(name).inserted {
                warn(.placeholder, at: places[index], "\(name) stands in place of a value.")
            }
        }
    }
}

/// A name that a recorder wrote in place of a value.
enum Placeholder {
    /// Finds `<NAME>`, and reports a template such as `<%= … %>` as `<%`.
    static func names(in bytes: Data, needsUnderscore: Bool) -> [String] {
        var names: [String] = []
        var index = bytes.startIndex
        while let start = bytes[index...].firstIndex(of: UInt8(ascii: "<")) {
            index = start + 1
            if index < bytes.endIndex, bytes[index] == UInt8(ascii: "%") {
                names.append("<%")
                continue
            }
            let name = bytes[index...].prefix(64).prefix {
                (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
            }
            let end = name.endIndex
            guard name.count > 1, end < bytes.endIndex, bytes[end] == UInt8(ascii: ">"),
                !needsUnderscore || name.contains(UInt8(ascii: "_"))
            else { continue }
            names.append("<\(String(decoding: name, as: UTF8.self))>")
        }
        return names
    }
}
