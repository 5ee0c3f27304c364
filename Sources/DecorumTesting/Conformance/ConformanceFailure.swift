import Foundation

/// A subject broke a demand of a conformance suite.
public struct ConformanceFailure: Error, Sendable, CustomStringConvertible {
    /// The name of the case; nil where it is unknown.
    public let name: String?
    /// The event, in a sentence.
    public let sentence: String
    /// The error that the subject threw in violation of the demand; nil if absent.
    public let underlying: (any Error)?

    /// Creates a failure.
    ///
    /// - Parameters:
    ///   - sentence: The event, in a sentence.
    ///   - name: The name of the case.
    ///   - underlying: The error that the subject threw in violation of the demand.
    public init(_ sentence: String, of name: String? = nil, underlying: (any Error)? = nil) {
        self.name = name
        self.sentence = sentence
        self.underlying = underlying
    }

    /// The name of the case and the sentence.
    public var description: String {
        name.map { "\($0): \(sentence)" } ?? sentence
    }
}

/// Throws a failure unless a condition holds.
func require(_ condition: Bool, _ sentence: @autoclosure () -> String) throws(ConformanceFailure) {
    guard condition else { throw ConformanceFailure(sentence()) }
}

/// Throws a failure unless two values are equal.
func requireEqual<Value: Equatable>(
    _ value: Value, _ expected: Value, _ what: @autoclosure () -> String, advice: String = ""
) throws(ConformanceFailure) {
    try require(value == expected, "\(what()): \(shown(value)) in place of \(shown(expected)).\(advice)")
}

/// Shows bytes as text, and any other value by its own description.
private func shown<Value>(_ value: Value) -> String {
    // The type decides: a cast of the value would also take an empty array of another type for bytes.
    if Value.self is [UInt8].Type || Value.self is [UInt8]?.Type {
        return (value as? [UInt8]).map { text(of: $0) } ?? "nothing"
    }
    if let text = value as? String { return text.debugDescription }
    return (value as? Data).map { text(of: $0) } ?? "\(value)"
}

/// The first bytes; a byte that is not visible ASCII is shown as `\\xFF`.
private func text(of bytes: some Collection<UInt8>) -> String {
    let shown = bytes.prefix(200).map { byte in
        (0x20..<0x7F).contains(byte) ? String(UnicodeScalar(byte)) : "\\x" + hexadecimal(byte)
    }
    return "“\(shown.joined())\(bytes.count > 200 ? "…" : "")” of \(bytes.count) bytes"
}

private func hexadecimal(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
}
