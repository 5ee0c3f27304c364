public import Decorum

/// A type that stands for one kind of call, for those who prefer types to functions that make an ``Endpoint``.
///
/// ```swift
/// struct GetRepository: EndpointRequest {
///     var owner: String
///     var name: String
///
///     var endpoint: Endpoint<Repository> { .get("repos/{owner}/{name}", ["owner": owner, "name": name]) }
/// }
/// ```
///
/// A value of it is called like an endpoint:
///
/// ```swift
/// let repository = try await connection.value(of: GetRepository(owner: "apple", name: "swift"))
/// ```
public protocol EndpointRequest<Value>: Sendable {
    /// The type of the answer.
    associatedtype Value: Sendable
    /// The call that this value stands for.
    var endpoint: Endpoint<Value> { get }
}

extension Endpoint: EndpointRequest {
    /// The endpoint itself.
    public var endpoint: Self { self }
}

extension Connection {
    /// Makes the call that a value stands for, and returns its value.
    ///
    /// - Parameter call: The value that stands for the call.
    /// - Returns: The value of its endpoint.
    /// - Throws: As ``value(of:)-(Endpoint<Value>)``.
    public func value<Call: EndpointRequest>(of call: Call) async throws -> Call.Value {
        try await value(of: call.endpoint)
    }

    /// Makes the call that a value stands for, and returns its value together with the response.
    ///
    /// - Parameter call: The value that stands for the call.
    /// - Returns: The value, the content, the head, and the request.
    /// - Throws: As ``value(of:)-(Endpoint<Value>)``.
    public func response<Call: EndpointRequest>(of call: Call) async throws -> TypedResponse<Call.Value> {
        try await response(of: call.endpoint)
    }
}
