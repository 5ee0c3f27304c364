public import Decorum
import Foundation
public import HTTPTypes

/// A connection that answers each call with the sample beside its endpoint.
///
/// ```
/// #Preview { RepositoryView(connection: SampleConnection(after: .seconds(1))) }
/// ```
///
/// It sends nothing. A test that wants to look at the requests wraps the samples in a stub that remembers them:
///
/// ```swift
/// let stub = StubConnection { try await SampleConnection().send($0) }
/// ```
public struct SampleConnection: Connection {
    private let delay: Duration
    private let clock: any DatedClock

    /// Creates a connection.
    ///
    /// - Parameters:
    ///   - delay: The time before each answer, as for the preview of a view that waits.
    ///   - clock: The clock of the delay.
    public init(after delay: Duration = .zero, clock: any DatedClock = SystemClock()) {
        self.delay = delay
        self.clock = clock
    }

    /// One layer, which sends nothing and invents its answers.
    public var layers: [Layer] {
        [
            Layer(
                name: "SampleConnection", role: .transport, facts: [.inventsAnswers], sending: .init(0...0),
                time: .init(waiting: .atMost(delay)), memory: .init(bytes: .unbounded))
        ]
    }

    /// Answers with the sample that the request carries, or throws ``MissingSampleError``.
    public func send(_ request: consuming Request) async throws -> Response {
        let request = request
        try Task.checkCancellation()
        if delay > .zero { try await clock.sleep(for: delay) }
        guard let sample = request.options.sample else {
            throw MissingSampleError(method: request.head.method, routeName: request.options.routeName)
        }
        var response = try sample.response(using: request.options.api?.api.encoder)
        response.metadata.source = .stub
        response.metadata.completeURL(from: request)
        response.metadata.routeName = request.options.routeName
        return response
    }
}

/// A call has no sample beside its endpoint.
public struct MissingSampleError: DescribableError, Hashable {
    /// The method of the request.
    public let method: HTTPRequest.Method
    /// The route name of the request, which is the path template of its endpoint; nil where it has none.
    public let routeName: String?

    /// The call, and how to give it a sample.
    public var description: String {
        "The endpoint of \(method) \(routeName ?? "a request without a route name") has no sample; add one with `sampled(_:)`."
    }
}
