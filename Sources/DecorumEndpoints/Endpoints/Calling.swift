public import Decorum
import HTTPTypes

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
    ///   accept; the errors of the layers; and those of ``Endpoint/reading``.
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
