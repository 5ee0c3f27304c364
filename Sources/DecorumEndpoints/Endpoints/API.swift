public import Decorum
public import Foundation

/// All that the endpoints of one API have in common: its decoder, its encoder, its limit, and its error type.
///
/// ```swift
/// let github = try SystemConnection()
///     .calling(API(decoder: decoder, problem: GitHubProblem.self), at: "https://api.github.com/v3/")
/// ```
public struct API: Sendable {
    /// The decoder and the limit for all responses.
    public var settings: ReadingSettings
    /// The encoder of ``RequestContent/json(_:using:)`` and ``Sample/json(_:status:using:)`` without one of their own; nil
    /// for the standard one.
    public var encoder: JSONEncoder?
    /// The type of the API's own errors, as its responses of other statuses have them in JSON; nil if they have no type.
    let problem: (any (Decodable & Sendable).Type)?
    /// The clock that dates the arrival of a refusal, from which its `Retry-After` counts.
    let clock: any DatedClock

    /// Creates the description of an API.
    ///
    /// - Parameters:
    ///   - decoder: The decoder for JSON.
    ///   - encoder: The encoder for JSON; nil for the standard one.
    ///   - limit: The largest number of bytes of content to read into memory; by default, 16 MiB.
    ///   - problem: The type of the API's own errors, which are JSON; nil if they have no type.
    ///   - clock: The clock that dates the arrival of a refusal, from which its `Retry-After` counts.
    public init(
        decoder: JSONDecoder = JSONDecoder(), encoder: JSONEncoder? = nil, limit: Int = 16 << 20,
        problem: (any (Decodable & Sendable).Type)? = nil, clock: any DatedClock = SystemClock()
    ) {
        settings = ReadingSettings(decoder: decoder, limit: limit)
        self.encoder = encoder
        self.problem = problem
        self.clock = clock
    }

    /// An API with the standard decoder and encoder, a limit of 16 MiB, and no error type.
    public static let standard = API()
}

/// An API that many responses refer to, without a copy of it in each.
final class SharedAPI: Sendable {
    let api: API

    init(_ api: API) {
        self.api = api
    }

    static let standard = SharedAPI(.standard)
}

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
