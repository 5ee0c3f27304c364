// An app that makes typed calls composes its stack too, so one import gives it both.
@_exported public import Decorum
import Foundation
public import HTTPTypes

/// One call of an API: the request to make, the statuses to accept, and the way to read the answer.
///
/// ```swift
/// extension Endpoint where Value == Repository {
///     static func repository(_ owner: String, _ name: String) -> Self {
///         .get("repos/{owner}/{name}", ["owner": owner, "name": name])
///     }
/// }
/// ```
///
/// A call of it is one line:
///
/// ```swift
/// let repository = try await connection.value(of: .repository("apple", "swift"))
/// ```
///
/// An endpoint is a value: copy it and change its properties. Nothing is checked before ``request()``, so making one needs
/// no `try`. Credentials are no part of an endpoint; they belong to the layers of authentication.
public struct Endpoint<Value: Sendable>: Sendable {
    /// The method of the request.
    public var method: HTTPRequest.Method
    /// The path, which is relative to the base URL of the API; it becomes the route name of the request.
    public var path: PathTemplate
    /// The values for the names in the path.
    public var parameters: PathParameters
    /// The query, which follows that of the path.
    public var query: Query
    /// The header fields beside `Accept` and `Content-Type`, which follow from ``reading`` and ``content``.
    ///
    /// A field that is set here stays. `Authorization`, `Proxy-Authorization` and `Cookie` are an error of the request.
    public var fields: HTTPFields = [:]
    /// The content of the request.
    public var content: RequestContent
    /// The statuses that are no error; by default, those from 200 to 299.
    public var accepted: AcceptedStatuses = .endpoint
    /// The way to read an accepted response.
    public var reading: ResponseReading<Value>
    /// The largest number of bytes of content to read into memory; nil for the limit of the API.
    public var limit: Int?
    /// The API that the endpoint is a part of; nil for that of the connection.
    public var api: API?
    /// The options of the request.
    public var options = RequestOptions()

    /// Creates an endpoint.
    ///
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - content: The content of the request.
    ///   - reading: The way to read an accepted response.
    public init(
        _ method: HTTPRequest.Method, _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty, as reading: ResponseReading<Value>
    ) {
        self.method = method
        self.path = path
        self.parameters = parameters
        self.query = query
        self.content = content
        self.reading = reading
    }

    /// Makes the request, which any connection can send.
    ///
    /// JSON without an encoder of its own is encoded by that of ``api``.
    ///
    /// - Returns: A request with a relative path, unless the path of the endpoint is a URL.
    /// - Throws: `InvalidRequestError` that names the parameter or the field at fault, or the error of the content.
    public func request() throws -> Request {
        try request(of: api)
    }

    /// Makes the request with the encoder of an API.
    func request(of api: API?) throws -> Request {
        let fields = try requestFields()
        var expansion = PathExpansion(template: path.text, parameters: parameters)
        try expansion.run()
        var target = expansion.path
        if !query.isEmpty { target += (target.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + query.text }
        let body = try content.body(using: api?.encoder)
        var request: Request
        if expansion.isAbsolute {
            request = try Request(method, target, fields: fields, body: body)
            request.options = options
        } else {
            // The path is made of characters that a URL may have, so it needs no parser.
            let head = HTTPRequest(method: method, scheme: nil, authority: nil, path: target, headerFields: fields)
            request = Request(head: head, body: body, options: options)
        }
        if content.takesEncoder, api == nil { request.options.lacksEncoder = true }
        if options.routeName == nil { request.options.routeName = path.text }
        return request
    }
}

extension AcceptedStatuses {
    /// The statuses from 200 to 299: a 304 has no content, so a typed call has no value for it.
    static let endpoint = AcceptedStatuses("2xx") { (200...299).contains($0.code) }
}

extension Endpoint: SecretHolder {
    /// The method, the path template and the type of the value; never a parameter, a field or content.
    public var description: String { "\(method) \(path.text) with a value of \(Value.self)" }
}

extension Endpoint {
    /// Makes an endpoint whose value is nil if the resource is missing: for the statuses 404 (Not Found) and 410 (Gone).
    ///
    /// ```swift
    /// let item = try await connection.value(of: Endpoint<Item>.get("items/{id}", ["id": 7]).nilIfMissing())
    /// ```
    ///
    /// The two statuses join the accepted ones, and any other is a ``RefusalError`` as before. A later
    /// ``accepting(statuses:)`` replaces them. Their content is read up to the limit and left out. A server that answers a
    /// wrong path with 404 looks the same.
    ///
    /// - Returns: An endpoint that makes the same call.
    public func nilIfMissing() -> Endpoint<Value?> {
        let reading = ResponseReading<Value?>(
            accept: reading.accept,
            perform: { [reading] response, settings in
                guard AcceptedStatuses.missing.contains(response.status) else {
                    let read = try await reading.read(response, settings)
                    return ReadValue(value: read.value, content: read.content)
                }
                try await response.bodyInTime.drain(upTo: settings.limit)
                return ReadValue(value: nil, content: nil)
            })
        var endpoint = Endpoint<Value?>(method, path, parameters, query: query, content: content, as: reading)
        endpoint.fields = fields
        endpoint.accepted = AcceptedStatuses("\(accepted), 404, 410") { [accepted] status in
            accepted.contains(status) || AcceptedStatuses.missing.contains(status)
        }
        endpoint.limit = limit
        endpoint.api = api
        endpoint.options = options
        return endpoint
    }
}

extension AcceptedStatuses {
    /// The statuses of a resource that is missing.
    fileprivate static let missing = AcceptedStatuses.codes([404, 410])
}

extension Endpoint {
    /// Makes the request for a connection, whose API has the encoder.
    func request(over connection: some Connection) throws -> Request {
        // A conformance takes longer to find than all other parts of a request without content.
        guard content.takesEncoder, api == nil else { return try request() }
        return try request(of: (connection as? any CallingConnection)?.shared.api)
    }

    /// Sends a request of the endpoint, and reads the answer.
    ///
    /// - Throws: ``RefusalError`` for a status that is not accepted, the errors of the layers, and the errors of ``reading``.
    func response(to request: Request, over connection: some Connection) async throws -> TypedResponse<Value> {
        let (response, settings) = try await accepted(request, over: connection)
        let read = try await reading.read(response, settings)
        return TypedResponse(
            value: read.value, content: read.content, head: response.head, metadata: response.metadata, request: request
        )
    }

    /// Sends a request of the endpoint.
    ///
    /// - Returns: An accepted response, and the settings to read it with.
    /// - Throws: ``RefusalError`` for a status that is not accepted, and the errors of the layers.
    func accepted(
        _ request: consuming Request, over connection: some Connection
    ) async throws -> (Response, ReadingSettings) {
        try checkCompletion(of: request, by: connection)
        // The endpoint decides, so that one status is no error here and another one there.
        request.options.acceptedStatuses = .all
        let response = try await connection.send(request)
        let api = api ?? (response.metadata.api ?? .standard).api
        guard accepted.contains(response.status) else { throw try await refusal(response, api) }
        var settings = api.settings
        if let limit { settings.limit = limit }
        return (response, settings)
    }

    /// Refuses a call whose late values no layer would fill in.
    func checkCompletion(of request: borrowing Request, by connection: some Connection) throws {
        guard request.options.completion != nil, !connection.layers.contains(where: \.completesRequests) else { return }
        throw InvalidRequestError(
            .missingLayer,
            "The endpoint “\(path.text)” has a step for each attempt, and no layer runs it; apply `completing()` inside of "
                + "`retrying()`.")
    }

    /// Makes the error of a response with a status that is not accepted.
    func refusal(_ received: Response, _ api: API) async throws -> RefusalError {
        let arrival = received.metadata.arrivalDate ?? api.clock.date
        let (response, content) = try await RefusedContent.read(received)
        let error = StatusError(
            method: method, origin: response.metadata.url.flatMap { try? Origin($0) },
            routeName: options.routeName ?? path.text, response: response, arrival: arrival)
        var problem: (any Sendable)?
        if let content, let type = api.problem { problem = try? api.settings.decoder.decode(type, from: content) }
        return RefusalError(statusError: error, content: content, decodedProblem: problem)
    }
}

extension Layer {
    fileprivate var completesRequests: Bool {
        facts.contains(.completesRequests) || branches.contains { $0.layers.contains(where: \.completesRequests) }
    }
}

extension InvalidRequestError.Reason {
    /// The request needs a layer that the stack does not have.
    public static let missingLayer = Self("missingLayer")
}

extension Endpoint {
    /// Reports the sending of the content; see `Body.reportingProgress(every:clock:to:)`.
    ///
    /// - Parameters:
    ///   - interval: The shortest time between two reports.
    ///   - clock: The clock that measures the time.
    ///   - report: Gets the progress; it may belong to the main actor.
    /// - Returns: An endpoint that makes the same call.
    public func reportingUpload(
        every interval: Duration = .milliseconds(100), clock: any DatedClock = SystemClock(),
        to report: @escaping ProgressReport
    ) -> Self {
        var endpoint = self
        endpoint.content = content.changingBody { $0.reportingProgress(every: interval, clock: clock, to: report) }
        return endpoint
    }

    /// Reports the arrival of an accepted response's content, with the parameters of ``reportingUpload(every:clock:to:)``.
    ///
    /// The total is not known if the content is decompressed on its way, since `Content-Length` counts the compressed bytes.
    public func reportingDownload(
        every interval: Duration = .milliseconds(100), clock: any DatedClock = SystemClock(),
        to report: @escaping ProgressReport
    ) -> Self {
        var endpoint = self
        endpoint.reading = reading.preparing { $0.reportingProgress(every: interval, clock: clock, to: report) }
        return endpoint
    }
}

extension Endpoint {
    /// States the media types to ask for, in place of the types of ``reading``.
    ///
    /// - Parameter types: The types or ranges, such as `text/csv` and `text/*;q=0.5`.
    /// - Returns: The endpoint with the field `Accept` (RFC 9110, section 12.5.1).
    public func accepting(_ types: String...) -> Self {
        setting(.accept, types.joined(separator: ", "))
    }

    /// Makes the call depend on the version of the resource that the caller knows, so that no other update is lost.
    ///
    /// A server that has another version answers with 412 (Precondition Failed).
    ///
    /// - Parameter entityTag: The value of the field `ETag` of the version, with its quotation marks. A weak tag makes the call
    ///   fail before it is sent, since it would never match (RFC 9110, section 13.1.1).
    /// - Returns: The endpoint with the field `If-Match`.
    public func ifMatch(_ entityTag: String) -> Self {
        setting(.ifMatch, entityTag)
    }

    /// Makes the call depend on the absence of the resource, as for one that must not be replaced.
    ///
    /// - Returns: The endpoint with the field `If-None-Match: *` (RFC 9110, section 13.1.2).
    public func ifAbsent() -> Self {
        setting(.ifNoneMatch, "*")
    }

    /// States which statuses alone are no error, as in `.codes([200, 404])`.
    public func accepting(statuses: AcceptedStatuses) -> Self {
        var endpoint = self
        endpoint.accepted = statuses
        return endpoint
    }

    private func setting(_ name: HTTPField.Name, _ value: String) -> Self {
        var endpoint = self
        endpoint.fields[name] = value
        return endpoint
    }

    /// The fields of the request, with the fields that follow from the reading.
    ///
    /// - Throws: `InvalidRequestError` for credentials, and for a precondition that never holds.
    func requestFields() throws(InvalidRequestError) -> HTTPFields {
        guard !fields.isEmpty else { return AcceptFields.accepting(reading.accept) }
        for name in [HTTPField.Name.authorization, .proxyAuthorization, .cookie] where fields.contains(name) {
            throw InvalidRequestError(
                .invalidField,
                "The endpoint “\(path.text)” sets \(name); give credentials to `authenticating(with:for:)` instead, "
                    + "which sends them only to their origins.")
        }
        if let tag = fields[.ifMatch], tag.hasPrefix("W/") {
            throw InvalidRequestError(
                .invalidField, "The endpoint “\(path.text)” has a weak tag in If-Match, which never matches.")
        }
        var fields = fields
        if let accept = reading.accept, !fields.contains(.accept) { fields[.accept] = accept }
        return fields
    }
}

/// The fields of most requests, which are made once since each call needs them.
private enum AcceptFields {
    private static let none = HTTPFields()
    private static let json: HTTPFields = [.accept: "application/json"]

    static func accepting(_ mediaType: String?) -> HTTPFields {
        switch mediaType {
        case nil: none
        case "application/json"?: json
        case let mediaType?: [.accept: mediaType]
        }
    }
}

extension Endpoint where Value: Decodable {
    /// Makes an endpoint that gets a resource, and decodes the JSON of the answer, unless it is read in another way.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - reading: The way to read an accepted response.
    /// - Returns: The endpoint.
    public static func get(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        as reading: ResponseReading<Value> = .ofContent
    ) -> Self {
        Self(.get, path, parameters, query: query, as: reading)
    }

    /// Makes an endpoint that posts content, with the parameters of ``get(_:_:query:as:)`` and the content of the request.
    public static func post(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty, as reading: ResponseReading<Value> = .ofContent
    ) -> Self {
        Self(.post, path, parameters, query: query, content: content, as: reading)
    }

    /// Makes an endpoint that replaces a resource, with the parameters of ``get(_:_:query:as:)`` and the content of the
    /// request.
    public static func put(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty, as reading: ResponseReading<Value> = .ofContent
    ) -> Self {
        Self(.put, path, parameters, query: query, content: content, as: reading)
    }

    /// Makes an endpoint that changes a part of a resource, with the parameters of ``get(_:_:query:as:)`` and the content of
    /// the request.
    public static func patch(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty, as reading: ResponseReading<Value> = .ofContent
    ) -> Self {
        Self(.patch, path, parameters, query: query, content: content, as: reading)
    }

    /// Makes an endpoint that deletes a resource, with the parameters of ``get(_:_:query:as:)``.
    public static func delete(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        as reading: ResponseReading<Value> = .ofContent
    ) -> Self {
        Self(.delete, path, parameters, query: query, as: reading)
    }
}

extension ResponseReading where Value: Decodable {
    /// JSON for each type but `Data`, which is the content itself: hardly any API has Base64 as its whole answer.
    public static var ofContent: Self { (ResponseReading<Data>.data as? Self) ?? .json }
}

extension Endpoint where Value == Void {
    /// Makes an endpoint that gets a resource, and leaves the content of the answer out.
    ///
    /// It takes the parameters of ``get(_:_:query:as:)``.
    public static func get(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:]
    ) -> Self {
        Self(.get, path, parameters, query: query, as: .nothing)
    }

    /// Makes an endpoint that posts content, with the parameters of ``get(_:_:query:)`` and the content of the request.
    public static func post(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty
    ) -> Self {
        Self(.post, path, parameters, query: query, content: content, as: .nothing)
    }

    /// Makes an endpoint that replaces a resource, with the parameters of ``get(_:_:query:)`` and the content of the request.
    public static func put(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty
    ) -> Self {
        Self(.put, path, parameters, query: query, content: content, as: .nothing)
    }

    /// Makes an endpoint that changes a part of a resource, with the parameters of ``get(_:_:query:)`` and the content of the
    /// request.
    public static func patch(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty
    ) -> Self {
        Self(.patch, path, parameters, query: query, content: content, as: .nothing)
    }

    /// Makes an endpoint that deletes a resource, with the parameters of ``get(_:_:query:)``.
    public static func delete(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:]
    ) -> Self {
        Self(.delete, path, parameters, query: query, as: .nothing)
    }
}
