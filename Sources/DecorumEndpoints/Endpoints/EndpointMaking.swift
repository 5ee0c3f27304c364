public import Decorum
import Foundation

extension Endpoint {
    /// Makes an endpoint that gets a resource, and reads it in a way of its own.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - reading: The way to read an accepted response.
    /// - Returns: The endpoint.
    public static func get(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:], as reading: ResponseReading<Value>
    ) -> Self {
        Self(.get, path, parameters, query: query, as: reading)
    }

    /// Makes an endpoint that posts content, and reads the answer in a way of its own.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - content: The content of the request.
    ///   - reading: The way to read an accepted response.
    /// - Returns: The endpoint.
    public static func post(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty, as reading: ResponseReading<Value>
    ) -> Self {
        Self(.post, path, parameters, query: query, content: content, as: reading)
    }

    /// Makes an endpoint that replaces a resource, and reads the answer in a way of its own.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - content: The content of the request.
    ///   - reading: The way to read an accepted response.
    /// - Returns: The endpoint.
    public static func put(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty, as reading: ResponseReading<Value>
    ) -> Self {
        Self(.put, path, parameters, query: query, content: content, as: reading)
    }

    /// Makes an endpoint that changes a part of a resource, and reads the answer in a way of its own.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - content: The content of the request.
    ///   - reading: The way to read an accepted response.
    /// - Returns: The endpoint.
    public static func patch(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty, as reading: ResponseReading<Value>
    ) -> Self {
        Self(.patch, path, parameters, query: query, content: content, as: reading)
    }

    /// Makes an endpoint that deletes a resource, and reads the answer in a way of its own.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - reading: The way to read an accepted response.
    /// - Returns: The endpoint.
    public static func delete(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:], as reading: ResponseReading<Value>
    ) -> Self {
        Self(.delete, path, parameters, query: query, as: reading)
    }
}

extension Endpoint where Value: Decodable {
    /// Makes an endpoint that gets a resource, and decodes the JSON of the answer.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    /// - Returns: The endpoint.
    public static func get(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:]
    ) -> Self {
        Self(.get, path, parameters, query: query, as: .ofContent)
    }

    /// Makes an endpoint that posts content, and decodes the JSON of the answer.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - content: The content of the request.
    /// - Returns: The endpoint.
    public static func post(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty
    ) -> Self {
        Self(.post, path, parameters, query: query, content: content, as: .ofContent)
    }

    /// Makes an endpoint that replaces a resource, and decodes the JSON of the answer.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - content: The content of the request.
    /// - Returns: The endpoint.
    public static func put(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty
    ) -> Self {
        Self(.put, path, parameters, query: query, content: content, as: .ofContent)
    }

    /// Makes an endpoint that changes a part of a resource, and decodes the JSON of the answer.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - content: The content of the request.
    /// - Returns: The endpoint.
    public static func patch(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty
    ) -> Self {
        Self(.patch, path, parameters, query: query, content: content, as: .ofContent)
    }

    /// Makes an endpoint that deletes a resource, and decodes the JSON of the answer.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    /// - Returns: The endpoint.
    public static func delete(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:]
    ) -> Self {
        Self(.delete, path, parameters, query: query, as: .ofContent)
    }
}

extension ResponseReading where Value: Decodable {
    /// JSON for each type but `Data`, which is the content itself: hardly any API has Base64 as its whole answer.
    fileprivate static var ofContent: Self { (ResponseReading<Data>.data as? Self) ?? .json }
}

extension Endpoint where Value == Void {
    /// Makes an endpoint that gets a resource, and leaves the content of the answer out.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    /// - Returns: The endpoint.
    public static func get(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:]
    ) -> Self {
        Self(.get, path, parameters, query: query, as: .nothing)
    }

    /// Makes an endpoint that posts content, and leaves the content of the answer out.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - content: The content of the request.
    /// - Returns: The endpoint.
    public static func post(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty
    ) -> Self {
        Self(.post, path, parameters, query: query, content: content, as: .nothing)
    }

    /// Makes an endpoint that replaces a resource, and leaves the content of the answer out.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - content: The content of the request.
    /// - Returns: The endpoint.
    public static func put(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty
    ) -> Self {
        Self(.put, path, parameters, query: query, content: content, as: .nothing)
    }

    /// Makes an endpoint that changes a part of a resource, and leaves the content of the answer out.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - content: The content of the request.
    /// - Returns: The endpoint.
    public static func patch(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty
    ) -> Self {
        Self(.patch, path, parameters, query: query, content: content, as: .nothing)
    }

    /// Makes an endpoint that deletes a resource, and leaves the content of the answer out.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    /// - Returns: The endpoint.
    public static func delete(
        _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:]
    ) -> Self {
        Self(.delete, path, parameters, query: query, as: .nothing)
    }
}

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
