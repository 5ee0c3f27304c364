import Foundation

/// What a subject did that a case of a conformance suite forbids.
public struct ConformanceFailure: Error, Sendable, CustomStringConvertible {
    /// The name of the case; nil where none has told it.
    public let name: String?
    /// What happened, in a sentence.
    public let sentence: String
    /// The error that the subject threw where it should not; nil where it threw none.
    public let underlying: (any Error)?

    /// Creates a failure.
    ///
    /// - Parameters:
    ///   - sentence: What happened, in a sentence.
    ///   - name: The name of the case.
    ///   - underlying: The error that the subject threw where it should not.
    public init(_ sentence: String, of name: String? = nil, underlying: (any Error)? = nil) {
        self.name = name
        self.sentence = sentence
        self.underlying = underlying
    }

    /// The name of the case and what happened.
    public var description: String {
        name.map { "\($0): \(sentence)" } ?? sentence
    }
}

extension ConformanceCase {
    /// Lets a case decide, and names it in what it throws, which is a failure or the caller's own cancellation.
    func decide(within limit: Duration, _ examine: @escaping @Sendable () async throws -> Void) async throws {
        do {
            try await withDeadline(of: limit, "\(demand) It was not decided within \(limit).", examine)
        } catch let failure as ConformanceFailure {
            throw ConformanceFailure(failure.sentence, of: name, underlying: failure.underlying)
        } catch let skip as ConformanceSkip {
            throw skip
        } catch let error as CancellationError where Task.isCancelled {
            throw error
        } catch {
            throw ConformanceFailure(
                "\(demand) It threw \(type(of: error)) instead: \(error)", of: name, underlying: error)
        }
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

/// Bytes as a text, and everything else as it describes itself.
private func shown<Value>(_ value: Value) -> String {
    // Not by a cast of the value: an empty array is one of bytes too.
    if Value.self is [UInt8].Type || Value.self is [UInt8]?.Type {
        return (value as? [UInt8]).map { text(of: $0) } ?? "nothing"
    }
    if let text = value as? String { return text.debugDescription }
    return (value as? Data).map { text(of: $0) } ?? "\(value)"
}

/// The start of some bytes, with those that are no visible ASCII as `\\xFF`.
private func text(of bytes: some Collection<UInt8>) -> String {
    let shown = bytes.prefix(200).map { byte in
        (0x20..<0x7F).contains(byte) ? String(UnicodeScalar(byte)) : "\\x" + hexadecimal(byte)
    }
    return "“\(shown.joined())\(bytes.count > 200 ? "…" : "")” of \(bytes.count) bytes"
}

private func hexadecimal(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
}

/// Waits for a value, or fails with a sentence when it takes too long.
///
/// What is waited for runs in a task of its own, which is cancelled in the end and then left alone: a subject that
/// hangs must not hang its suite. The time is counted in many steps: where the tasks of a busy process wait long for a
/// thread, so does each step, and what is waited for gets as many turns.
func withDeadline<Value: Sendable>(
    of limit: Duration = .seconds(5), _ sentence: String, _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let outcome = Monitor<Result<Value, any Error>?>(nil)
    let work = Task {
        do {
            let value = try await operation()
            outcome.update { $0 = $0 ?? .success(value) }
        } catch {
            outcome.update { $0 = $0 ?? .failure(error) }
        }
    }
    let alarm = Task {
        for _ in 0..<100 { try await Task.sleep(for: limit / 100) }
        outcome.update { $0 = $0 ?? .failure(ConformanceFailure(sentence)) }
    }
    defer {
        alarm.cancel()
        work.cancel()
    }
    try await outcome.wait { $0 != nil }
    guard let result = outcome.state else { throw CancellationError() }
    return try result.get()
}
