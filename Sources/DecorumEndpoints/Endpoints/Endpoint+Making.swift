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
