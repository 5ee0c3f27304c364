public import HTTPTypes

/// The settings of a whole stack, which composes its layers in the order that suits most apps.
///
/// ```swift
/// var stack = StandardStack(for: "https://api.example.com/v1/")
/// stack.callLog = .line
/// stack.time?.call = .seconds(20)
/// let connection = try stack.composed(authentication: .with(.bearer(token)), principal: Principal("user-42"))
/// ```
///
/// Each property is one part of the stack, and nil or false leaves the part out. A part that is left out costs nothing.
/// ``composed(over:authentication:principal:store:pauses:observer:attemptObserver:log:adding:clock:generator:spawner:)``
/// takes what is no setting: the transport, credentials, stores and observers, and layers of your own, each with its place.
/// ``Part`` lists the parts in their order.
///
/// ## Presets
///
/// | | ``Preset/app`` | ``Preset/server`` | ``Preset/tool`` |
/// |---|---|---|---|
/// | time of a call, of an attempt, without a byte | 30 s, 10 s, 15 s | 15 s, 5 s, 15 s | 60 s, 20 s, 30 s |
/// | retries | 3, from the budget of the process | 3, from the budget of the process | 2 of each call's own |
/// | longest `Retry-After` that a retry waits for | 60 s | 5 s | 60 s |
/// | cache in memory | 32 MiB | none | none |
/// | sends `X-Request-ID` | no | yes | no |
///
/// All of them validate the status, follow up to 20 redirections, decompress, and pace requests to a server that asks for
/// it. They leave out logs, idempotency keys, `coalescing`, and the compression of requests.
///
/// ## In the worst case
///
/// ``Connection/bounds`` of the presets, over a transport that itself sends once and holds nothing:
///
/// | one call | ``Preset/app`` | ``Preset/server`` | ``Preset/tool`` |
/// |---|---|---|---|
/// | requests over the network | 210 | 105 | 84 |
/// | time until the head of the response | 31 s | 16 s | 61 s |
/// | bytes of content in memory | 64.6 MiB | 51.6 MiB | 51.6 MiB |
///
/// ## Settings in a file
///
/// The value is `Codable`. A file names the settings that differ from a preset; `false` leaves a part out, and `true`
/// takes it with its defaults. Times are in seconds.
///
/// ```json
/// { "preset": "server", "baseURL": "https://api.example.com/", "retries": { "maximum": 1 }, "pacing": false }
/// ```
///
/// Decoding throws a ``StackSettingsError`` for an unknown key, a value of another type, and settings that contradict each
/// other. The error names the path of each, as in `retries.maximum`. Nothing secret belongs into a file: fields that hold
/// credentials are refused. An error quotes no text of the file, and names all mistakes at once.
public struct StandardStack: Sendable, Hashable {
    /// The URL that relative references are resolved against, as in `https://api.example.com/v1/`; nil for none.
    ///
    /// It ends with a slash, and has no query, since references replace what is behind the last slash.
    /// Credentials are for its origin, unless they name others.
    public var baseURL: String?
    /// Whether a status other than 2xx and 304 becomes a ``StatusError``.
    public var statusValidation = true
    /// The log of calls, as their callers see them; nil for none.
    public var callLog: Log?
    /// The log of the requests that are sent; nil for none.
    public var wireLog: Log?
    /// The times of a call, of its attempts, and of bodies; nil for no limits.
    public var time: Times? = Times()
    /// Whether a `POST` and a `PATCH` get an `Idempotency-Key`, so that they may be sent again; for servers that know it.
    public var idempotencyKeys = false
    /// Whether requests get an `X-Request-ID`, by which the logs of the server find them.
    public var requestIDs = false
    /// The name and version of the app, for `User-Agent`; nil to leave that to the transport.
    public var client: Client?
    /// The languages of the user, the preferred one first, as in `["pt-BR", "en"]`; empty for no `Accept-Language`.
    public var languages: [String] = []
    /// Fields for requests that lack them, without credentials.
    public var fields: HTTPFields = [:]
    /// The redirections to follow; nil to return them.
    public var redirects: Redirects? = Redirects()
    /// The content codings to ask for and to decode; nil to keep content as it comes.
    public var decompression: DecompressionPolicy? = .standard
    /// The cache; nil for none.
    public var caching: Caching? = Caching()
    /// The sharing of identical requests at the same time, in addition to that of the cache; nil for none.
    public var coalescing: CoalescingPolicy?
    /// The retries; nil for none.
    ///
    /// They need a ``time`` with a limit for a call.
    public var retries: Retries? = Retries()
    /// The pauses that servers ask for; nil to leave them to retries.
    public var pacing: PacingPolicy? = .standard
    /// The compression of requests; nil for none.
    public var compression: CompressionPolicy?

    /// Creates settings from a preset.
    ///
    /// - Parameters:
    ///   - preset: The kind of program.
    ///   - baseURL: The URL that relative references are resolved against; nil for none.
    public init(_ preset: Preset = .app, for baseURL: String? = nil) {
        self.baseURL = baseURL
        switch preset {
        case .app:
            break
        case .server:
            time = Times(call: .seconds(15), attempt: .seconds(5), idle: .seconds(15))
            retries?.maximumRetryAfter = .seconds(5)
            caching = nil
            requestIDs = true
        case .tool:
            time = Times(call: .seconds(60), attempt: .seconds(20), idle: .seconds(30))
            retries = Retries(
                maximum: 2, baseDelay: .milliseconds(1500), certainPart: 0.5, budget: .perCall)
            caching = nil
        }
    }

    /// A kind of program, which has settings that suit it.
    public enum Preset: String, Sendable, Hashable, CaseIterable {
        /// An app whose user waits.
        case app
        /// A server whose own callers wait, and which sends requests for many users.
        case server
        /// A command that a person or a script runs once.
        case tool
    }
}
