#if CommandLine
import ArgumentParser
import Decorum
import Foundation

/// The options for what responses have to be.
struct ExpectationOptions: ParsableArguments {
    @Option(help: "Fail unless the status is one of these, as in 2xx or 200,204.") var expectStatus: String?
    @Option(help: ArgumentHelp("Fail without this field; * at its end is any text.", valueName: "name: value"))
    var expectField: [String] = []
    @Option(help: "Fail unless this holds, as in json $.items[0].id == 42.") var expect: [String] = []
    @Option(help: "Fail if an exchange takes longer.") var maxTime: TimeArgument?
    @Option(name: .customLong("max-time-p99"), help: "Fail if more than one in a hundred takes longer.")
    var maxTimeP99: TimeArgument?

    func expectations() throws(CommandFailure) -> [Expectation] {
        try (expectStatus.map { [$0] } ?? []).map(Expectation.init(status:)) + expectField.map(Expectation.init(field:))
            + expect.map(Expectation.init(content:))
    }
}

/// What a response has to be, as the user expects it.
struct Expectation: Sendable {
    private(set) var needsContent = false
    /// The words for a response that is not as expected; nil if it is.
    let failure: @Sendable (_ head: HTTPResponse, _ content: Data) -> String?

    init(status text: String) throws(CommandFailure) {
        let codes = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
        guard !codes.isEmpty, codes.allSatisfy({ $0.wholeMatch(of: /[1-5](xx|[0-9]{2})/) != nil }) else {
            throw CommandFailure(.usage, "“\(text.shortened)” is no status. Write 2xx, 404, or 200,204.")
        }
        failure = { head, _ in
            let code = "\(head.status.code)"
            let isMet = codes.contains { $0 == code || $0.hasSuffix("xx") && $0.first == code.first }
            return isMet ? nil : "The status is \(code), and not \(codes.joined(separator: " or "))."
        }
    }

    /// Reads a field, as in `Content-Type: application/json*`.
    init(field text: String) throws(CommandFailure) {
        let parts = text.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
        guard parts.count == 2, let name = HTTPField.Name(parts[0]) else {
            throw CommandFailure(
                .usage, "“\(text.shortened)” is no field. Write Name: value; * at its end is any text.")
        }
        failure = { head, _ in
            let isMet = head.headerFields[values: name].contains {
                parts[1].hasSuffix("*") ? $0.hasPrefix(parts[1].dropLast()) : $0 == parts[1]
            }
            return isMet ? nil : "There is no field \(name): \(parts[1])."
        }
    }

    /// Reads a comparison, as in `json $.id == 42`; the value may be JSON or a bare text.
    init(content text: String) throws(CommandFailure) {
        let steps = /\.([^.\[\]]+)|\[([0-9]{1,9})\]|\['([^']*)'\]/
        guard let match = text.wholeMatch(of: /json\s+(\$(\S*)\s+(==|!=|<=|>=|<|>|exists)\s*(.*?))\s*/),
            match.2.matches(of: steps).map(\.0).joined() == match.2, (match.3 == "exists") == match.4.isEmpty
        else {
            throw CommandFailure(.usage, "“\(text.shortened)” is no expectation. Write json $.items[0].id == 42.")
        }
        let path = match.2.matches(of: steps).map { String($0.1 ?? $0.2 ?? $0.3 ?? "") }
        let value = (try? JSONValue(parsing: Array(match.4.utf8))) ?? .string(String(match.4))
        let (words, relation) = (String(match.1), String(match.3))
        needsContent = true
        failure = { _, content in
            guard let root = try? JSONValue(parsing: Array(content)) else { return "The content is no JSON." }
            let found = path.reduce(Optional(root)) { found, step in
                guard let elements = found?.array else { return found?[step] }
                return Int(step).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            }
            return Self.isMet(found, relation, value) ? nil : "It is not so that \(words)."
        }
    }

    private static func isMet(_ found: JSONValue?, _ relation: String, _ value: JSONValue) -> Bool {
        guard let found else { return relation == "!=" }
        let numbers = found.double.flatMap { left in value.double.map { (left, $0) } }
        // Large integers have no exact value as Double.
        let integers = found.integer.flatMap { left in value.integer.map { (left, $0) } }
        let isEqual = integers.map { $0.0 == $0.1 } ?? numbers.map { $0.0 == $0.1 } ?? (found == value)
        return switch relation {
        case "exists": true
        case "==": isEqual
        case "!=": !isEqual
        default: numbers.map { isEqual ? relation.hasSuffix("=") : ($0.0 < $0.1) == relation.hasPrefix("<") } ?? false
        }
    }
}
#endif
