public import Decorum
import Foundation
import HTTPTypes
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
        var requests: [Int: (principal: Principal, cancel: @Sendable () -> Void)] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// Creates the list, without a request.
    public init() {}

    /// Cancels all requests of a user; their callers get ``SignedOutError``.
    ///
    /// - Parameter principal: The user.
    public func signOut(_ principal: Principal) async {
        let requests = state.withLock { state in
            state.generations[principal, default: 0] += 1
            return state.requests.values.filter { $0.principal == principal }
        }
        for request in requests { request.cancel() }
    }

    /// The number of requests under way, of all users.
    public var count: Int { state.withLock { $0.requests.count } }

    func generation(of principal: Principal) -> Int { state.withLock { $0.generations[principal] ?? 0 } }

    /// Adds a request; false where the user was signed out since a generation.
    func add(_ principal: Principal, since generation: Int, cancel: @escaping @Sendable () -> Void) -> Int? {
        state.withLock { state in
            guard state.generations[principal] ?? 0 == generation else { return nil }
            state.last += 1
            state.requests[state.last] = (principal, cancel)
            return state.last
        }
    }

    func remove(_ number: Int) {
        state.withLock { _ = $0.requests.removeValue(forKey: number) }
    }
}

extension Connection {
    /// Ends each request of a user when the user signs out, and the body of its response at its next chunk.
    ///
    /// A request without a principal passes unchanged. Each other one is sent in a task of its own. Place it inside of
    /// `acting(for:)`, and outside of all layers that wait, such as `retrying`.
    ///
    /// - Parameter requests: The list of the requests, which ``SigningOut`` signs out of.
    /// - Returns: A connection that throws ``SignedOutError`` too.
    public func ending(with requests: RequestsUnderWay) -> some Connection {
        EndingConnection(base: self, requests: requests)
    }
}

struct EndingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let requests: RequestsUnderWay

    var layer: Layer {
        Layer(name: "ending", role: .resilience, sharedState: [Layer.StateIdentity(requests)])
    }

    func send(_ request: consuming Request) async throws -> Response {
        guard let principal = request.options.principal else { return try await base.send(request) }
        let generation = requests.generation(of: principal)
        let isOver: @Sendable () -> Bool = { [requests] in requests.generation(of: principal) != generation }
        let sent = copy request
        let work = Task { [base] in try await base.send(sent) }
        guard let number = requests.add(principal, since: generation, cancel: { work.cancel() }) else {
            work.cancel()
            throw SignedOutError(.signedOut)
        }
        defer { requests.remove(number) }
        do {
            var response = try await withTaskCancellationHandler {
                try await work.value
            } onCancel: {
                work.cancel()
            }
            guard !isOver() else { throw SignedOutError(.signedOut) }
            if response.body.bytes == nil { response.body = response.body.ending(where: isOver) }
            return response
        } catch let error as CancellationError {
            guard isOver(), !Task.isCancelled else { throw error }
            throw SignedOutError(.signedOut)
        }
    }
}

extension Body {
    /// The body, whose next chunk is an error once a user has signed out.
    fileprivate func ending(where isOver: @escaping @Sendable () -> Bool) -> Body {
        let body = self
        return Body(length: length, replay: replay) { offset in
            guard !isOver() else { throw SignedOutError(.signedOut) }
            return EndingBodyReader(base: try await body.open(at: offset), isOver: isOver)
        }
        .typed(as: mediaType)
    }
}

private struct EndingBodyReader: BodyReader {
    var base: any BodyReader
    let isOver: @Sendable () -> Bool

    mutating func next() async throws -> Data? {
        let chunk = try await base.next()
        guard !isOver() else { throw SignedOutError(.signedOut) }
        return chunk
    }

    var trailers: HTTPFields? { base.trailers }
}
