import Foundation
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
/// | requests over the network | 168 | 84 | 63 |
/// | time until the head of the response | 31 s | 16 s | 61 s |
/// | bytes of content in memory | 65 MiB | 52 MiB | 52 MiB |
///
/// ## Settings in a file
///
/// The value is `Codable`. A file names the settings that differ from a preset; `false` leaves a part out, and `true`
/// takes it with its defaults. The keys are the names of the properties here and in the policies. Times are in seconds.
///
/// ```json
/// { "preset": "server", "baseURL": "https://api.example.com/", "retries": { "retries": 1 }, "pacing": false }
/// ```
///
/// Decoding throws a ``StackSettingsError`` for an unknown key and for a value of another type; it names the path of the key,
/// as in `retries.retries`, and quotes no text of the file. Encoding throws it for a policy that holds a closure. Nothing
/// secret belongs into a file: fields that hold credentials are refused.
public struct StandardStack: Sendable {
    /// The URL that relative references are resolved against, as in `https://api.example.com/v1/`; nil for none.
    ///
    /// It ends with a slash, since references replace what is behind the last slash. The items of its query go with every
    /// request, as those of ``Connection/addingDefaultQueryItems(_:)``.
    /// Credentials are for its origin, unless they name others.
    public var baseURL: String?
    /// Whether a status other than 2xx and 304 becomes a ``StatusError``.
    public var statusValidation = true
    /// The log of calls, as their callers see them; nil for none.
    public var callLog: LogDetail?
    /// The log of the requests that are sent; nil for none.
    public var wireLog: LogDetail?
    /// Whether reports tell the time of each layer, as with ``Connection/measuringTime(clock:)``.
    public var measuresLayers = false
    /// The times of a call and of bodies; nil for no limits.
    public var time: TimePolicy? = .initial
    /// The time of each attempt; nil for no limit.
    public var attemptTime: AttemptTimePolicy? = .initial
    /// Whether a `POST` and a `PATCH` get an `Idempotency-Key`, so that they may be sent again; for servers that know it.
    public var idempotencyKeys = false
    /// Whether requests get an `X-Request-ID`, by which the logs of the server find them.
    public var requestIDs = false
    /// The name and version of the app, for `User-Agent`; nil to leave that to the transport.
    public var client: ClientInformation?
    /// The languages of the user, the preferred one first, as in `["pt-BR", "en"]`; empty for no `Accept-Language`.
    public var languages: [String] = []
    /// Fields for requests that lack them, without credentials.
    public var fields: HTTPFields = [:]
    /// The redirections to follow; nil to return them.
    public var redirects: RedirectionPolicy? = .standard
    /// The largest number of redirections to follow for one call.
    public var redirectLimit = 20
    /// Whether permanent redirections are followed without asking again, for as long as the connection exists.
    public var remembersPermanentRedirects = false
    /// The content codings to ask for and to decode; nil to keep content as it comes.
    public var decompression: DecompressionPolicy? = .standard
    /// The cache; nil for none.
    ///
    /// The default asks the server for a response that names no lifetime: ``CachingPolicy/heuristicLimit`` is zero.
    public var caching: CachingPolicy? = .initial
    /// The largest number of bytes that a cache in memory keeps; a store that is passed to the composition has its own limit.
    public var cacheSize = 32 << 20
    /// The sharing of identical requests at the same time, in addition to that of the cache; nil for none.
    public var coalescing: CoalescingPolicy?
    /// The retries, which need a ``time`` with a limit for a call; nil for none.
    public var retries: RetryPolicy? = .standard
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
            (time, attemptTime) = (TimePolicy(call: .seconds(15), idle: .seconds(15)), AttemptTimePolicy(.seconds(5)))
            (retries, caching, requestIDs) = (.server, nil, true)
        case .tool:
            (time, attemptTime) = (TimePolicy(call: .seconds(60), idle: .seconds(30)), AttemptTimePolicy(.seconds(20)))
            (retries, caching) = (.tool, nil)
        }
    }

    /// A kind of program, which has settings that suit it.
    public enum Preset: String, Sendable, Hashable, CaseIterable, Codable {
        /// An app whose user waits.
        case app
        /// A server whose own callers wait, and which sends requests for many users.
        case server
        /// A command that a person or a script runs once.
        case tool
    }
}

/// A setting of a ``StandardStack`` is unknown or unsuitable, or contradicts what is passed to its composition.
public struct StackSettingsError: DescribableError, Sendable, Hashable {
    /// The keys that lead to the setting, joined by periods, as in `retries.retries`; or the name of an argument.
    public let path: String
    /// The reason, as a text that continues the path.
    public let reason: String

    init(_ path: String, _ reason: String) {
        (self.path, self.reason) = (path, reason)
    }

    init(_ path: [any CodingKey], _ reason: String) {
        self.init(path.map(\.stringValue).joined(separator: "."), reason)
    }

    /// The path and the reason.
    public var description: String { "`\(path)` \(reason)." }
}

extension StandardStack: FilePolicy {
    static let initial = StandardStack()

    mutating func exchange(with file: inout SettingsFile) throws {
        try file.optional("baseURL", &baseURL)
        try file.value("statusValidation", &statusValidation)
        try file.detail("callLog", &callLog)
        try file.detail("wireLog", &wireLog)
        try file.part("time", &time)
        try file.part("attemptTime", &attemptTime)
        try file.value("idempotencyKeys", &idempotencyKeys)
        try file.value("requestIDs", &requestIDs)
        try file.value("measuresLayers", &measuresLayers)
        var storedClient = client.map { StoredClient($0) }
        if try file.optional("client", &storedClient) { client = try storedClient?.client() }
        try file.value("languages", &languages)
        try exchangeFields(with: &file)
        try exchangeRedirects(with: &file)
        try file.value("redirectLimit", &redirectLimit)
        try file.value("remembersPermanentRedirects", &remembersPermanentRedirects)
        try file.part("decompression", &decompression)
        try file.part("caching", &caching)
        try file.value("cacheSize", &cacheSize)
        try file.part("coalescing", &coalescing)
        try file.part("retries", &retries)
        try file.part("pacing", &pacing)
        try file.part("compression", &compression)
        // The preset decides what the other keys replace.
        file.ignore("preset")
    }

    private mutating func exchangeFields(with file: inout SettingsFile) throws {
        // Several fields of one name become one with a list.
        var values = Dictionary(fields.map { ($0.name.rawName, $0.value) }) { "\($0), \($1)" }
        guard try file.value("fields", &values) else { return }
        fields = [:]
        for key in Array(values.keys).sorted() {
            // HTTPField replaces characters that a field cannot have, so that a mistake would be sent.
            guard !key.hasPrefix(":"), let name = HTTPField.Name(key), let value = values[key],
                HTTPField.isValidValue(value)
            else {
                throw file.error("fields.\(key)", "is no field: its name or its value has a character of no field")
            }
            fields.append(HTTPField(name: name, value: value))
        }
    }

    private mutating func exchangeRedirects(with file: inout SettingsFile) throws {
        if file.isWritten, redirects?.isNamed == false {
            throw file.error("redirects", "holds a closure, which no file holds")
        }
        var name = redirects?.description
        guard try file.optional("redirects", &name) else { return }
        redirects = try name.map { name in
            let named: [RedirectionPolicy] = [.standard, .never, .sameOrigin, .httpsOnly]
            guard let policy = named.first(where: { $0.description == name }) else {
                throw file.error("redirects", "is no policy with a name")
            }
            return policy
        }
    }

    /// Reads settings that differ from a preset, which the key `preset` names.
    ///
    /// - Parameter decoder: The decoder of the file.
    /// - Throws: ``StackSettingsError`` for an unknown or unsuitable setting, with its path.
    public init(from decoder: any Decoder) throws {
        do {
            let container = try decoder.container(keyedBy: SettingKey.self)
            self.init(try container.decodeIfPresent(Preset.self, forKey: .preset) ?? .app)
            try read(from: decoder)
        } catch let error as DecodingError {
            throw StackSettingsError(error)
        } catch let error as InvalidRequestError {
            // Of the policies, only `client` refuses values by itself.
            throw StackSettingsError(
                decoder.codingPath + [SettingKey(stringValue: "client")],
                "cannot be used: \(Redaction.shownWords("\(error)"))")
        }
        do throws(StackSettingsError) { try check(replacing: []) } catch {
            throw StackSettingsError(decoder.codingPath + [SettingKey(stringValue: error.path)], error.reason)
        }
    }

    /// Writes all settings, with `false` for each part that is left out.
    ///
    /// - Parameter encoder: The encoder of the file.
    /// - Throws: ``StackSettingsError`` for a policy that holds a closure, with its path, and for what decoding would refuse,
    ///   so that no credentials get into a file.
    public func encode(to encoder: any Encoder) throws {
        try check(replacing: [])
        do { try write(to: encoder) } catch EncodingError.invalidValue(_, let context) {
            throw StackSettingsError(
                context.codingPath, "holds a closure or a state of this process, which no file holds")
        }
    }

    /// Refuses settings that cannot be used, except settings of parts in whose places other layers stand.
    func check(replacing replaced: Set<Part>) throws(StackSettingsError) {
        if let field = fields.first(where: { Redaction.standard.isSecret($0, secretFields: []) }) {
            throw StackSettingsError(
                "fields.\(field.name)",
                "holds credentials, which no settings hold; pass `authentication:` to `composed`")
        }
        if retries != nil, time?.call?.asLimit == nil, replaced.isDisjoint(with: [.retries, .callTime]) {
            throw StackSettingsError("retries", "need a limit for a whole call; set `time.call`")
        }
        guard let baseURL, !replaced.contains(.baseURL) else { return }
        do throws(InvalidRequestError) {
            guard try BaseURL(baseURL).isCut else { return }
        } catch {
            throw StackSettingsError("baseURL", "cannot be used: \(Redaction.shownWords("\(error)"))")
        }
        throw StackSettingsError("baseURL", "has to end with “/”, because references replace what is behind it")
    }
}

extension SettingKey {
    fileprivate static let preset = SettingKey(stringValue: "preset")
}

extension StackSettingsError {
    /// The path of a decoder's error, without its text, which may quote the file.
    fileprivate init(_ error: DecodingError) {
        switch error {
        case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
            self.init(context.codingPath, "is not of the type \(type)")
        case .keyNotFound(let key, let context): self.init(context.codingPath + [key], "is missing")
        case .dataCorrupted(let context): self.init(context.codingPath, "has a value that cannot be used")
        @unknown default: self.init([], "cannot be read")
        }
    }
}
