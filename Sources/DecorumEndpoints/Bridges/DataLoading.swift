public import Decorum

#if canImport(FoundationNetworking)
public import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension Connection {
    /// A function in the shape of URLSession's `data(for:)`, for an SDK that takes one in place of a session.
    ///
    /// ```swift
    /// let client = WeatherClient(load: connection.dataLoader(upTo: 1 << 20))
    /// ```
    ///
    /// The method, the URL, the fields and the content of a `URLRequest` are sent; its timeout, its cache policy and the
    /// rest are left to the layers. Every status is returned, also where this stack validates statuses, since the SDK
    /// judges them itself. An `InputStream` of more than a mebibyte can be sent once only, so it is not sent again after a
    /// failure.
    ///
    /// The function throws the errors of the layers unchanged, `InvalidRequestError` for a request that cannot be sent,
    /// `BodyLimitError` for a longer body, and `CancellationError`. An SDK that looks for a `URLError` finds
    /// one in `URLError(_:url:)` of them.
    ///
    /// - Parameter limit: The largest number of bytes of a response body.
    /// - Returns: A function that sends a request through this connection, and returns the content and the head.
    public func dataLoader(
        upTo limit: Int = 16 << 20
    ) -> @Sendable (URLRequest) async throws -> (Data, URLResponse) {
        { urlRequest in
            let request = try await Request(bridging: urlRequest)
            let response = try await send(request)
            guard let url = urlRequest.url, let head = HTTPURLResponse(response, url: url) else {
                throw URLError(.badServerResponse)
            }
            return (try await response.data(upTo: limit), head)
        }
    }
}

extension Request {
    /// Creates a request for a caller who judges statuses himself, with the content of an `InputStream` too.
    init(bridging urlRequest: URLRequest) async throws {
        var plain = urlRequest
        // To set no stream would remove the bytes too.
        if plain.httpBodyStream != nil { plain.httpBodyStream = nil }
        try self.init(plain)
        options.acceptedStatuses = .all
        guard let stream = urlRequest.httpBodyStream else { return }
        let length = urlRequest.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
        body = try await Body(reading: stream, length: length)
    }
}
