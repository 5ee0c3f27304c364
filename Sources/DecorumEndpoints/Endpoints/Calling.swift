public import Decorum
public import Foundation
public import HTTPTypes

extension Connection {
    /// Calls an endpoint and returns its value.
    ///
    /// ```swift
    /// let repository = try await connection.value(of: .repository("apple", "swift"))
    /// ```
    ///
    /// The answer is decoded on the global executor, whichever actor makes the call.
    ///
    /// - Parameter endpoint: The endpoint.
    /// - Returns: The value.
    /// - Throws: `InvalidRequestError` before anything is sent; ``RefusalError`` for a status that the endpoint does not
    ///   accept; the errors of the layers, and the errors of ``Endpoint/reading``.
    public func value<Value>(of endpoint: Endpoint<Value>) async throws -> Value {
        let (response, settings) = try await endpoint.accepted(try endpoint.request(over: self), over: self)
        return try await endpoint.reading.read(response, settings).value
    }

    /// Calls an endpoint and returns its value together with the response.
    ///
    /// - Parameter endpoint: The endpoint.
    /// - Returns: The value, the content, the head, and the request.
    /// - Throws: As ``value(of:)-(Endpoint<Value>)``.
    public func response<Value>(of endpoint: Endpoint<Value>) async throws -> TypedResponse<Value> {
        try await endpoint.response(to: endpoint.request(over: self), over: self)
    }
}

/// The value of an endpoint, and the response it was made from.
public struct TypedResponse<Value: Sendable>: Sendable {
    /// The value.
    public let value: Value
    /// The content; nil if it was not read into memory, as of a file.
    public let content: Data?
    /// The status and the fields.
    public let head: HTTPResponse
    /// Facts about the response that come from the layers, such as its URL after redirections.
    public let metadata: ResponseMetadata
    /// The request as the endpoint has made it; layers may have added to it.
    public let request: Request
}

extension TypedResponse: SecretHolder {
    /// The status and the type of the value; never fields or content.
    public var description: String { "\(head.status.code) with a value of \(Value.self)" }
}

extension Connection {
    /// Runs the step that an endpoint has for each attempt, such as to fill in a value that is valid for a short time.
    ///
    /// ```swift
    /// let connection = try SystemConnection()
    ///     .authenticating(with: .bearer(token), for: origin)
    ///     .completing()
    ///     .retrying()
    ///     .calling(at: "https://api.example.com/v1/")
    /// let upload = Endpoint<Photo>.post("photos", content: .file(photo))
    ///     .completed { request in request.head.headerFields[.uploadTicket] = try await tickets.next() }
    /// ```
    ///
    /// Each attempt begins with the request as it was before the step, so a value of the last attempt is not sent again. A
    /// request without a step passes unchanged. After a redirection by another origin or to one, the step does not run, so that
    /// no value for one server goes to another.
    ///
    /// Place it inside of `retrying`, and outside of the layers that sign a request or add credentials to it.
    /// A call whose endpoint has a step fails before it is sent in a stack without this layer.
    ///
    /// - Parameter clock: The clock by which a step ends at the deadline of its request.
    /// - Returns: A connection that completes requests.
    public func completing(clock: any DatedClock = SystemClock()) -> some Connection {
        CompletingConnection(base: self, clock: clock)
    }
}

extension Endpoint {
    /// Adds a step that changes the request of each attempt; see `completing(clock:)`.
    ///
    /// - Parameter step: Changes the request, or throws in place of the attempt. Credentials belong to the layers of
    ///   authentication, which bind them to their origins.
    /// - Returns: An endpoint with the step behind its other steps.
    public func completed(_ step: @escaping RequestCompletion) -> Self {
        var endpoint = self
        let earlier = options.completion
        endpoint.options.completion = { request in
            try await earlier?(&request)
            try await step(&request)
        }
        return endpoint
    }
}

/// Changes the request of one attempt before it is sent.
public typealias RequestCompletion = @Sendable (_ request: inout Request) async throws -> Void

extension Layer.Fact {
    /// Runs the steps that endpoints have for each attempt.
    static let completesRequests = Layer.Fact("completes requests")
}

extension RequestOptions {
    var completion: RequestCompletion? {
        get { self[CompletionKey.self] }
        set { self[CompletionKey.self] = newValue }
    }
}

private enum CompletionKey: RequestOptionKey {
    static let defaultValue: RequestCompletion? = nil
    static let travels = OptionTravel.call
}

struct CompletingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let clock: any DatedClock

    var layer: Layer {
        Layer(
            name: "completing", role: .preparation,
            facts: [.completesRequests, .changesSignedParts, .mayAddCredentials, .waitsUntilDeadline],
            time: .init(waiting: .unbounded))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard let step = request.options.completion else { return try await base.send(request) }
        let isAtHome = try Self.isAtHome(request)
        return try await base.send(isAtHome ? try await completed(request, step) : request)
    }

    private static func isAtHome(_ request: borrowing Request) throws -> Bool {
        let earlier = request.options.redirectingOrigins
        guard !earlier.isEmpty else { return true }
        let origin = try Origin(request.head)
        return earlier.allSatisfy { $0 == origin }
    }

    private func completed(_ request: consuming Request, _ step: @escaping RequestCompletion) async throws -> Request {
        guard let timeLeft = request.options.timeLeft(at: clock.now) else {
            try await step(&request)
            return request
        }
        let unfinished = request
        let end = clock.now.advanced(by: timeLeft)
        return try await withThrowingTaskGroup(of: Request?.self) { [clock] group in
            group.addTask {
                var request = unfinished
                try await step(&request)
                return request
            }
            group.addTask {
                try await clock.sleep(untilLimit: end)
                return nil
            }
            defer { group.cancelAll() }
            guard let request = try await group.next() ?? nil else {
                throw TransportError(.deadlineExceeded, at: .connecting)
            }
            return request
        }
    }
}
