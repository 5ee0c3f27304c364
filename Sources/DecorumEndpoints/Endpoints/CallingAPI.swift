public import Decorum
import Foundation

extension Connection {
    /// Gives typed calls the decoder, the encoder, the limit and the error type of an API.
    ///
    /// ```swift
    /// let github = try SystemConnection()
    ///     .calling(API(problem: GitHubProblem.self), at: "https://api.github.com/v3/")
    /// let repository = try await github.value(of: .repository("apple", "swift"))
    /// ```
    ///
    /// Place it outermost: a call finds the encoder only there. A `validatingStatus` further in does not decide about typed
    /// calls, since each endpoint names the statuses that it accepts; other requests pass unchanged.
    ///
    /// - Parameter api: All that the endpoints of the API have in common.
    /// - Returns: A connection to the API.
    public func calling(_ api: API) -> some Connection {
        APIConnection(base: self, shared: SharedAPI(api))
    }

    /// Gives typed calls the decoder, the encoder, the limit and the error type of an API, and sends relative requests to its
    /// base URL.
    ///
    /// The path of the base URL stays in front of each relative path, whether or not a slash ends it:
    ///
    /// | base | path | request |
    /// |---|---|---|
    /// | `https://api.example.com/v1` | `items` | `https://api.example.com/v1/items` |
    /// | `https://api.example.com/v1/` | `items` | `https://api.example.com/v1/items` |
    ///
    /// Other relative requests are resolved as by `resolving(against:)`, with a slash at the end of the base.
    ///
    /// - Parameters:
    ///   - api: All that the endpoints of the API have in common.
    ///   - base: An absolute URL over `http` or `https` without a query.
    /// - Returns: A connection to the API.
    /// - Throws: `InvalidRequestError` when the base cannot be parsed or sent to, or has a query.
    public func calling(_ api: API = .standard, at base: String) throws(InvalidRequestError) -> some Connection {
        let folder = base.hasSuffix("/") ? base : base + "/"
        guard !folder.contains("?"), !folder.contains("#") else {
            throw InvalidRequestError(
                .invalidURL, "The base URL of an API has no query and no fragment, since each endpoint has its own.")
        }
        return APIConnection(base: try resolving(against: folder), shared: SharedAPI(api))
    }
}

/// A connection that knows its API before a request is sent.
protocol CallingConnection: Connection {
    var shared: SharedAPI { get }
}

struct APIConnection<Base: Connection>: ComposedConnection, CallingConnection {
    let base: Base
    let shared: SharedAPI

    var layer: Layer {
        Layer(name: "calling", role: .preparation, settings: [Layer.Setting("limit", shared.api.settings.limit)])
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        if request.options.lacksEncoder, shared.api.encoder != nil { throw InvalidRequestError.encodedWithoutAPI }
        if request.options.sample != nil { request.options.api = shared }
        var response = try await base.send(request)
        response.metadata.api = shared
        return response
    }
}

extension InvalidRequestError {
    fileprivate static let encodedWithoutAPI = Self(
        .invalidBody,
        "The JSON of the request was encoded without the encoder of the API; make `calling` the last modifier, or pass the "
            + "encoder to `.json(_:using:)`.")
}

extension ResponseMetadata {
    /// The API that has answered; nil for a connection without `calling`.
    var api: SharedAPI? {
        get { self[APIKey.self] }
        set { self[APIKey.self] = newValue }
    }
}

extension RequestOptions {
    /// The API whose encoder a sample takes.
    var api: SharedAPI? {
        get { self[RequestAPIKey.self] }
        set { self[RequestAPIKey.self] = newValue }
    }

    /// Whether the content was encoded by the standard encoder, since no connection with an API was at hand.
    var lacksEncoder: Bool {
        get { self[LacksEncoderKey.self] }
        set { self[LacksEncoderKey.self] = newValue }
    }
}

private enum APIKey: ResponseMetadataKey {
    static let defaultValue: SharedAPI? = nil
}

private enum RequestAPIKey: RequestOptionKey {
    static let defaultValue: SharedAPI? = nil
}

private enum LacksEncoderKey: RequestOptionKey {
    static let defaultValue = false
}
