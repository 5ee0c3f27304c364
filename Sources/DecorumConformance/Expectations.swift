import Decorum
package import DecorumTesting
import Foundation

/// Throws a failure unless a condition holds.
func expect(
    _ condition: Bool, _ what: @autoclosure () -> String, file: String = #fileID, line: Int = #line
) throws(ConformanceFailure) {
    guard condition else { throw ConformanceFailure("Expected \(what()) (\(file):\(line)).") }
}

/// Throws a failure unless two values are equal.
func expect<Value: Equatable>(
    _ value: Value, is expected: Value, _ what: @autoclosure () -> String = "value", file: String = #fileID,
    line: Int = #line
) throws(ConformanceFailure) {
    try expect(value == expected, "\(what()) \(shown(expected)), got \(shown(value))", file: file, line: line)
}

/// Throws a failure unless an operation throws a transport error, of one of the codes and at the stage if these are given.
///
/// The row names the operation if a case tries several.
func expectFailure(
    _ codes: [TransportError.Code] = [], at stage: TransportError.Stage? = nil, in row: @autoclosure () -> String = "",
    file: String = #fileID, line: Int = #line, _ operation: () async throws -> Void
) async throws {
    let error = try await expectError(TransportError.self, in: row(), file: file, line: line, operation)
    try expect(
        (codes.isEmpty || codes.contains(error.code)) && stage ?? error.stage == error.stage,
        "\(codes) at \(stage ?? error.stage) \(row()), got \(error.code) at \(error.stage)", file: file, line: line)
}

/// Throws a failure unless an operation throws an error of a type, which is returned.
@discardableResult func expectError<Failure: Error>(
    _ type: Failure.Type, in row: @autoclosure () -> String = "", file: String = #fileID, line: Int = #line,
    _ operation: () async throws -> Void
) async throws -> Failure {
    let found: String
    do {
        try await operation()
        found = "success"
    } catch let error as Failure {
        return error
    } catch let failure as ConformanceFailure {
        throw failure
    } catch {
        found = "\(Swift.type(of: error)): \(error)"
    }
    throw ConformanceFailure("Expected \(type) \(row()), got \(found) (\(file):\(line)).")
}

/// Throws a failure unless a task ends in `CancellationError` within five seconds.
func expectCancelled(
    _ task: Task<some Sendable, any Error>, file: String = #fileID, line: Int = #line
) async throws {
    try expectCancellation(try await withDeadline(file: file, line: line) { await task.result }, file: file, line: line)
}

/// Throws a failure unless a result is `CancellationError`.
func expectCancellation(
    _ result: Result<some Any, any Error>, file: String = #fileID, line: Int = #line
) throws(ConformanceFailure) {
    let isCancelled = if case .failure(is CancellationError) = result { true } else { false }
    try expect(isCancelled, "CancellationError, got \(result)", file: file, line: line)
}

/// Waits for a value, or fails when it takes too long.
///
/// The operation runs in a separate task, which is cancelled at the end and not awaited: a subject that hangs must not
/// hang its suite. The time is counted in many short sleeps. In a busy process each of them waits for a thread as the
/// operation does, so the operation gets as many turns as it would in an idle one.
func withDeadline<Value: Sendable>(
    of limit: Duration = .seconds(5), file: String = #fileID, line: Int = #line,
    _ operation: @escaping @Sendable () async throws -> Value
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
        outcome.update { $0 = $0 ?? .failure(ConformanceFailure("No end within \(limit) (\(file):\(line)).")) }
    }
    defer {
        alarm.cancel()
        work.cancel()
    }
    try await outcome.wait { $0 != nil }
    guard let result = outcome.state else { throw CancellationError() }
    return try result.get()
}

extension VirtualClock {
    /// Moves on, second by second, until a task has ended.
    ///
    /// In steps, since what is under way in the buffers of both sides may start the time anew. A task that does not end within
    /// ten seconds of real time is cancelled, and makes a ``ConformanceFailure``.
    package func advance(until task: Task<Void, any Error>, file: String = #fileID, line: Int = #line) async throws {
        let advancing = Task {
            while !Task.isCancelled {
                advance(by: .seconds(1))
                try await Task.sleep(for: .milliseconds(2))
            }
        }
        defer {
            advancing.cancel()
            task.cancel()
        }
        try await withDeadline(of: .seconds(10), file: file, line: line) { _ = await task.result }
    }
}

/// Ends a case that cannot be tried.
struct ConformanceSkip: Error {
    let reason: String
}

extension ConformanceSkip {
    /// Makes a skip of the error of a server whose program is missing; nil for another error.
    init?(_ error: any Error) {
        guard let missing = error as? MissingProgramError else { return nil }
        reason = missing.reason
    }
}

/// Shows the first bytes of data as text, and any other value by its own description.
private func shown(_ value: some Any) -> String {
    switch value {
    case let text as String: text.debugDescription
    case let data as Data:
        "\(String(decoding: data.prefix(200), as: UTF8.self).debugDescription) of \(data.count) bytes"
    default: "\(value)"
    }
}
