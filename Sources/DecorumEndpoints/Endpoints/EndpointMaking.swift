import Foundation

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

    /// Makes an endpoint that posts content, and decodes the JSON of the answer, unless it is read in another way.
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
        content: RequestContent = .empty, as reading: ResponseReading<Value> = .ofContent
    ) -> Self {
        Self(.post, path, parameters, query: query, content: content, as: reading)
    }

    /// Makes an endpoint that replaces a resource, and decodes the JSON of the answer, unless it is read in another way.
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
        content: RequestContent = .empty, as reading: ResponseReading<Value> = .ofContent
    ) -> Self {
        Self(.put, path, parameters, query: query, content: content, as: reading)
    }

    /// Makes an endpoint that changes a part of a resource, and decodes the JSON of the answer, unless it is read in another way.
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
        content: RequestContent = .empty, as reading: ResponseReading<Value> = .ofContent
    ) -> Self {
        Self(.patch, path, parameters, query: query, content: content, as: reading)
    }

    /// Makes an endpoint that deletes a resource, and decodes the JSON of the answer, unless it is read in another way.
    ///
    /// - Parameters:
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - reading: The way to read an accepted response.
    /// - Returns: The endpoint.
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
