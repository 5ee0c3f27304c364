public import Decorum
import Synchronization

/// The requests of each user that are under way, so that they end when the user signs out.
///
/// ```swift
/// let requests = RequestsUnderWay()
/// let connection = SystemConnection()
///     .authenticating(with: tokens, for: api)
///     .ending(with: requests)
///     .acting(for: Principal("user-42"))
/// ```
public final class RequestsUnderWay: SignsOut {
    private struct State {
        var generations: [Principal: Int] = [:]
        var requests: [Int: (principal: Principal, end: @Sendable () async -> Void)] = [:]
        var last = 0
    }

    /// A place in the list, which is kept until this is released.
    final class Entry: Sendable {
        private let requests: RequestsUnderWay
        private let number: Int

        fileprivate init(_ number: Int, in requests: RequestsUnderWay) {
            self.requests = requests
            self.number = number
        }

        deinit {
            requests.remove(number)
        }
    }

    private let state = Mutex(State())

    /// Creates the list, without a request.
    public init() {}

    /// Ends all requests of a user, and the bodies of their responses; their callers get ``SignedOutError``.
    ///
    /// - Parameter principal: The user.
    public func signOut(_ principal: Principal) async {
        let requests = state.withLock { state in
            state.generations[principal, default: 0] += 1
            return state.requests.values.filter { $0.principal == principal }
        }
        for request in requests { await request.end() }
    }

    /// The number of requests, of all users, that have no response yet, or one whose body is under way.
    public var count: Int { state.withLock { $0.requests.count } }

    func generation(of principal: Principal) -> Int { state.withLock { $0.generations[principal] ?? 0 } }

    /// Adds a request or a body.
    ///
    /// - Parameters:
    ///   - principal: The user.
    ///   - generation: The sign-in at the start of the request.
    ///   - end: Ends it when the user signs out.
    /// - Returns: The place in the list; nil where the user was signed out since.
    func add(_ principal: Principal, since generation: Int, end: @escaping @Sendable () async -> Void) -> Entry? {
        let number = state.withLock { state -> Int? in
            guard state.generations[principal] ?? 0 == generation else { return nil }
            state.last += 1
            state.requests[state.last] = (principal, end)
            return state.last
        }
        return number.map { Entry($0, in: self) }
    }

    private func remove(_ number: Int) {
        // Released outside of the lock, since the closure may hold the last reference to something.
        let removed = state.withLock { $0.requests.removeValue(forKey: number) }
        withExtendedLifetime(removed) {}
    }
}
