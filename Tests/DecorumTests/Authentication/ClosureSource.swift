import Decorum
import Synchronization

/// A source that a test writes in its own body.
struct ClosureSource: CredentialSource {
    let give: @Sendable (AuthenticationAttempt) async throws -> Credentials?

    init(_ give: @escaping @Sendable (AuthenticationAttempt) async throws -> Credentials?) {
        self.give = give
    }

    func credentials(for attempt: AuthenticationAttempt) async throws -> Credentials? { try await give(attempt) }
}

/// The values that a double was given.
final class Kept<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    var all: [Value] { values.withLock { $0 } }

    func keep(_ value: Value) { values.withLock { $0.append(value) } }
}
