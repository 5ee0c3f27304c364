public import Decorum
import Foundation
public import HTTPTypes
import Synchronization

/// A connection that answers from memory and remembers what it was asked.
///
/// ```swift
/// let stub = StubConnection(
///     Response(status: .serviceUnavailable),
///     Response(status: .ok, body: "hello"))
/// let response = try await stub.retrying().send(.get("https://api.example.com/"))
/// #expect(stub.requests.count == 2)
/// ```
///
/// Queued answers are given in order; when none is left, sending throws ``StubExhaustedError``.
/// Answers of a closure are computed for each request.
///
/// To test a time limit, give it the clock of the stack: an answer that takes longer than the
/// `RequestOptions.deadline` of its request then fails as over a network.
///
/// ```swift
/// let clock = VirtualClock()
/// let stub = StubConnection(clock: clock) { _ in
///     try await clock.sleep(for: .seconds(60))
///     return Response(status: .ok)
/// }
/// let connection = stub.limitingTime(TimePolicy(call: .seconds(2)), clock: clock)
///
/// let call = Task { try await connection.send(.get("https://example.com/")) }
/// try await clock.waitForSleepers(2)
/// clock.advance(by: .seconds(2))
/// await #expect(throws: TransportError.self) { try await call.value }
/// ```
///
/// It is the innermost layer, where the transport would be.
public final class StubConnection: Connection {
    /// Computes the answer to a request.
    public typealias Answer = @Sendable (_ request: Request) async throws -> Response

    private let state: Mutex<(answers: ArraySlice<Answer>, requests: [Request])>
    private let fallback: Answer
    private let watch: TimeLimitWatch?

    /// Creates a stub that gives these responses in order, one for each request.
    public convenience init(_ responses: Response...) {
        self.init(answers: responses.map { response in { _ in response } })
    }

    /// Creates a stub that computes every answer.
    ///
    /// - Parameters:
    ///   - clock: The clock by which an answer ends at the deadline of its request; nil for one that takes as long as it
    ///     likes.
    ///   - answer: Computes the answer to a request, or throws in its stead.
    public convenience init(clock: (any DatedClock)? = nil, _ answer: @escaping Answer) {
        self.init(answers: [], clock: clock, then: answer)
    }

    /// Creates a stub that runs these closures in order, one for each request.
    ///
    /// - Parameters:
    ///   - answers: The closures; each answers one request, or throws in its stead.
    ///   - clock: The clock by which an answer ends at the deadline of its request; nil for one that takes as long as it
    ///     likes.
    ///   - fallback: Answers all further requests.
    public init(
        answers: [Answer], clock: (any DatedClock)? = nil,
        then fallback: @escaping Answer = { request in throw StubExhaustedError(method: request.head.method) }
    ) {
        state = Mutex((answers[...], []))
        self.fallback = fallback
        watch = clock.map(TimeLimitWatch.init)
    }

    /// The requests so far, in the order in which they came.
    public var requests: [Request] { state.withLock { $0.requests } }

    /// Adds a closure at the end of the queue, which answers one request or throws in its stead.
    public func enqueue(_ answer: @escaping Answer) { state.withLock { $0.answers.append(answer) } }

    /// One layer, which sends nothing and invents its answers.
    public var layers: [Layer] {
        [
            Layer(
                name: "StubConnection", role: .transport, facts: [.inventsAnswers], sending: .init(0...0),
                memory: .init(bytes: .unbounded))
        ]
    }

    /// Answers a request with the next answer, as one of a stub at the URL of the request, unless it names another source or
    /// URL.
    public func send(_ request: consuming Request) async throws -> Response {
        let request = request
        try Task.checkCancellation()
        request.reportSending()
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answers.popFirst()
        }
        var response = try await self.response(to: request, by: answer ?? fallback)
        response.metadata.source = response.metadata.source ?? .stub
        // Links and errors need the URL that has answered and the route, as from a transport.
        response.metadata.completeURL(from: request)
        response.metadata.routeName = response.metadata.routeName ?? request.options.routeName
        return response
    }

    private func response(to request: Request, by answer: @escaping Answer) async throws -> Response {
        guard let watch, let deadline = request.options.deadline else { return try await answer(request) }
        let start = watch.clock.now
        let result: Result<Response?, any Error>
        do {
            result = .success(
                try await watch.value(until: deadline) {
                    guard let clock = watch.clock as? ImpatientClock else { return try await answer(request) }
                    return try await clock.answer(by: deadline) { try await answer(request) }
                })
        } catch {
            result = .failure(error)
        }
        // A clock that skips waits may have passed the deadline before the task that watches it had its turn.
        try Task.checkCancellation()
        guard watch.clock.now < deadline, let response = try result.get() else {
            throw TransportError.locate(
                TransportError(.deadlineExceeded, at: .head), in: request, after: watch.clock.now - start)
        }
        return response
    }
}

/// A stub was asked more often than it has answers.
public struct StubExhaustedError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The method of the request that found no answer.
    public let method: HTTPRequest.Method

    /// Creates an error for the method of a request that found no answer.
    public init(method: HTTPRequest.Method) {
        self.method = method
    }

    /// The cause and the way to mend it.
    public var description: String {
        "The stub has no answer left for a \(method) request; queue one more, or give it a closure."
    }
}
