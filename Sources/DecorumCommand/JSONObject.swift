#if CommandLine
import ArgumentParser
import Foundation

extension JSONEncoder {
    /// The text of a value: its keys are in order, times are in ISO 8601, and no character could move a cursor.
    static func text(of value: some Encodable, _ formatting: OutputFormatting = []) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting.union([.sortedKeys, .withoutEscapingSlashes])
        encoder.dateEncodingStrategy = .iso8601
        return String(decoding: try encoder.encode(value), as: UTF8.self)
            .harmless { $0.utf16.map { String(format: "\\u%04x", $0) }.joined() }
    }
}

/// An object of JSON, as a subcommand writes it; a member without a value is left out.
struct JSONObject: Encodable, ExpressibleByDictionaryLiteral {
    fileprivate struct Member: Encodable {
        let value: any Encodable

        func encode(to encoder: any Encoder) throws {
            // A container, other than the value itself, writes times as the encoder is told to.
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }

    fileprivate var members: [String: Member]

    init(dictionaryLiteral members: (String, (any Encodable)?)...) {
        self.members = members.reduce(into: [:]) { $0[$1.0] = $1.1.map(Member.init) }
    }

    func encode(to encoder: any Encoder) throws { try members.encode(to: encoder) }
}

/// The options of a subcommand that writes what it has found.
struct FindingOptions: ParsableArguments {
    @Flag(help: "Write a line of JSON, whose “schema” is the version of its form.") var jsonOutput = false
    @OptionGroup var options: ConsoleOptions

    /// Writes an object as a line of JSON, or as text.
    func write(_ object: JSONObject, orLines lines: @autoclosure () -> [String]) throws {
        let console = Console(options)
        var object = object
        object.members["schema"] = .init(value: 1)
        for line in jsonOutput ? [try JSONEncoder.text(of: object)] : lines().map(\.harmless) {
            try console.write(line: line)
        }
    }
}
#endif
