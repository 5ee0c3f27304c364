public import Decorum
public import Foundation
public import HTTPTypes

/// An answer that stands beside an endpoint, for tests and previews.
///
/// ```swift
/// extension Endpoint where Value == Repository {
///     static func latest(of owner: String) -> Self {
///         .get("users/{owner}/repos/latest", ["owner": owner])
///             .sampled(.json(Repository(id: 1, name: "swift")))
///     }
/// }
/// ```
///
/// A ``SampleConnection`` answers with the samples.
public struct Sample: Sendable {
    fileprivate let make: @Sendable (JSONEncoder?) throws -> Response

    /// Creates a sample from a closure, which makes a response once for each request.
    public init(_ response: @escaping @Sendable () throws -> Response) {
        make = { _ in try response() }
    }

    private init(encoding response: @escaping @Sendable (JSONEncoder?) throws -> Response) {
        make = response
    }

    /// A value as JSON.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - status: The status of the response.
    ///   - encoder: The encoder; nil for that of the ``API`` of the connection, or else the standard one.
    /// - Returns: The sample.
    public static func json(
        _ value: some Encodable & Sendable, status: HTTPResponse.Status = .ok,
        using encoder: JSONEncoder? = nil
    ) -> Sample {
        Sample(encoding: { others in
            let body = try Body(json: value, using: encoder ?? others ?? JSONEncoder())
            return Response(status: status, fields: [.contentType: "application/json"], body: body)
        })
    }

    /// Content with its media type, such as a piece of JSON that a server has sent.
    ///
    /// - Parameters:
    ///   - content: The content.
    ///   - mediaType: The media type.
    ///   - status: The status of the response.
    /// - Returns: The sample.
    public static func content(
        _ content: String, as mediaType: String = "application/json", status: HTTPResponse.Status = .ok
    ) -> Sample {
        Sample { Response(status: status, fields: [.contentType: mediaType], body: Body(Data(content.utf8))) }
    }

    /// A response without content.
    public static func status(_ status: HTTPResponse.Status) -> Sample {
        Sample { Response(status: status) }
    }
}

extension Endpoint {
    /// Puts a sample answer beside the endpoint, which only a ``SampleConnection`` gives.
    public func sampled(_ sample: Sample) -> Self {
        var endpoint = self
        endpoint.options.sample = sample
        return endpoint
    }
}

extension RequestOptions {
    /// The answer that a ``SampleConnection`` gives to the request; nil without one.
    var sample: Sample? {
        get { self[SampleKey.self] }
        set { self[SampleKey.self] = newValue }
    }
}

private enum SampleKey: RequestOptionKey {
    static let defaultValue: Sample? = nil
}

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
        var response = try sample.make(request.options.api?.api.encoder)
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
    /// The route name of the request, which is the path template of its endpoint; nil without an endpoint.
    public let routeName: String?

    /// The call, and how to give it a sample.
    public var description: String {
        "The endpoint of \(method) \(routeName ?? "a request without a route name") has no sample; add one with `sampled(_:)`."
    }
}
