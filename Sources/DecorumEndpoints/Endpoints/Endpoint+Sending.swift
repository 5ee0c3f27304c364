import Decorum
import HTTPTypes

extension Endpoint {
    /// Makes the request for a connection, whose API has the encoder.
    func request(over connection: some Connection) throws -> Request {
        // A conformance takes longer to find than all other parts of a request without content.
        guard content.takesEncoder, api == nil else { return try request() }
        return try request(of: (connection as? any CallingConnection)?.shared.api)
    }

    /// Sends a request of the endpoint, and reads the answer.
    ///
    /// - Throws: ``RefusalError`` for a status that is not accepted, the errors of the layers, and those of ``reading``.
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
        let problem = content.flatMap { api.problem?.read($0, api.settings.decoder) }
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
