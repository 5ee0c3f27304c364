import Decorum
import HTTPTypes

extension Endpoint {
    /// Makes an endpoint whose value is nil where the resource is missing: for the statuses 404 (Not Found) and 410 (Gone).
    ///
    /// ```swift
    /// let item = try await connection.value(of: Endpoint<Item>.get("items/{id}", ["id": 7]).nilIfMissing())
    /// ```
    ///
    /// The two statuses join those that the endpoint accepts, and any other is a ``RefusalError`` as before. A later
    /// ``accepting(statuses:)`` replaces them. Their content is read up to the limit and left out. A server that answers a wrong
    /// path with 404 looks the same.
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
