public import Foundation
public import HTTPTypes

/// A key for a fact about a response that a layer reports to the layers further out.
///
/// It is declared like a ``RequestOptionKey``, with an extension of ``ResponseMetadata`` that gives it a name.
public protocol ResponseMetadataKey: SendableMetatype {
    /// The type of the fact.
    associatedtype Value: Sendable
    /// The value for a response on which no layer set the fact.
    static var defaultValue: Value { get }
}

/// Facts about a response that come from the layers, not from the server.
public struct ResponseMetadata: Sendable {
    @usableFromInline var values = TypedValues()
    // Facts of nearly every response are kept outside the list, which needs a search and allocations.
    /// The source of the response; nil where the connection that answered did not set it.
    public var source: Source?
    // The parts are joined and parsed only when the URL is read, which takes longer than setting all other metadata of
    // a transport.
    var target: Target?
    var sharedCacheStatus: SharedCacheStatus?
    var callEnd: CallEnd?

    /// Creates metadata with default values.
    public init() {}

    /// Creates the metadata of a response to a request, as a transport or another double of a server gives it.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent; ``url`` is its URL with its fragment, which is parsed when it is read.
    ///   - source: Where the response comes from.
    public init(answering request: borrowing Request, from source: Source) {
        target = request.target
        self.source = source
        if let routeName = request.options.routeName { self.routeName = routeName }
    }

    /// Takes the URL of the request as ``url``, which is parsed when it is read; a URL that is there already stays.
    ///
    /// - Parameter request: The request that the response answers.
    public mutating func completeURL(from request: borrowing Request) {
        if target == nil, self[URLKey.self] == nil { target = request.target }
    }

    /// The fact of a key.
    public subscript<Key: ResponseMetadataKey>(_ key: Key.Type) -> Key.Value {
        @inlinable get { values.value(for: key, as: Key.Value.self) ?? Key.defaultValue }
        @inlinable set { values.set(newValue, for: key) }
    }
}

/// The end of the time of a call, for those who read the whole body of its response for the caller.
final class CallEnd: Sendable {
    let start: ContinuousClock.Instant
    let deadline: ContinuousClock.Instant
    let method: HTTPRequest.Method
    let watch: TimeLimitWatch

    init(
        at deadline: ContinuousClock.Instant, since start: ContinuousClock.Instant, _ method: HTTPRequest.Method,
        watchedBy watch: TimeLimitWatch
    ) {
        self.deadline = deadline
        self.start = start
        self.method = method
        self.watch = watch
    }
}

extension ResponseMetadata {
    /// Where a response came from, as an open set.
    public struct Source: Sendable, Hashable, CustomStringConvertible {
        /// The name of the source.
        public let description: String

        /// Creates a custom source.
        ///
        /// - Parameter description: The name of the source.
        public init(_ description: String) {
            self.description = description
        }

        /// A server, over the network.
        public static let network = Source("network")
        /// A stored response that no server confirmed: fresh, or stale where that is allowed.
        public static let cache = Source("cache")
        /// A stored response that the server confirmed.
        public static let revalidated = Source("revalidated")
        /// A recording.
        public static let cassette = Source("cassette")
        /// An answer that a test provides.
        public static let stub = Source("stub")
    }

    /// The number of answers that it took to get this response: 1, and 1 more for each retry and each redirection.
    ///
    /// An answer from a store counts too, so a hit has 1. ``source`` tells whether the last answer came over the network.
    public var attempts: Int {
        get { self[AttemptsKey.self] }
        set { self[AttemptsKey.self] = newValue }
    }

    /// The time for which ``Connection/pacing(_:in:clock:generator:)`` held the last attempt back; zero where it did not.
    public var pacingWait: Duration {
        get { self[PacingWaitKey.self] }
        set { self[PacingWaitKey.self] = newValue }
    }

    /// The date at which ``Connection/pacing(_:in:clock:generator:)`` sends the next such request, where the response began a
    /// pause; otherwise nil.
    ///
    /// It is later than the server asks, since a random part is added to each pause.
    public var pauseEnd: Date? {
        get { self[PauseEndKey.self] }
        set { self[PauseEndKey.self] = newValue }
    }

    /// The date at which ``Connection/validatingStatus(_:clock:)`` got a response with the status of a failure (4xx or 5xx)
    /// that the request accepts, by the clock of the layer; otherwise nil.
    ///
    /// A further layer that refuses the response counts `Retry-After` from it.
    public var arrivalDate: Date? {
        get { self[ArrivalDateKey.self] }
        set { self[ArrivalDateKey.self] = newValue }
    }

    /// The route name of the request that the response answers; nil where it has none, or where the connection that
    /// answered does not tell.
    public var routeName: String? {
        get { self[RouteNameKey.self] }
        set { self[RouteNameKey.self] = newValue }
    }

    /// Gives the place of the recording that was played, such as its file and its line; nil where none was played.
    ///
    /// It is a closure, since the place takes time to find out, and only errors tell it.
    public var recordingPlace: (@Sendable () -> String)? {
        get { self[RecordingPlaceKey.self] }
        set { self[RecordingPlaceKey.self] = newValue }
    }

    /// The informational responses (1xx) that came before this one, such as 103 Early Hints.
    public var informational: [HTTPResponse] {
        get { self[InformationalKey.self] }
        set { self[InformationalKey.self] = newValue }
    }

    /// The content codings that the transport or ``Connection/decompressing(_:)`` undoes, outermost first, as in
    /// `["gzip"]`.
    ///
    /// The head then has neither `Content-Encoding` nor the `Content-Length` of the coded content.
    public var decodedContentCodings: [String] {
        get { self[DecodedContentCodingsKey.self] }
        set { self[DecodedContentCodingsKey.self] = newValue }
    }

    /// The names of the items in the query of the request that a layer has declared secret, since a server may repeat their
    /// values, such as in `Location`; a log masks them there too.
    public var secretQueryItems: Set<String> {
        get { self[SecretQueryItemsKey.self] }
        set { self[SecretQueryItemsKey.self] = newValue }
    }

    /// The URL that answered, after redirections, with the fragment that applies after them.
    public var url: URL? {
        get { self[URLKey.self] ?? urlText.flatMap { URL(string: $0) } }
        set {
            self[URLKey.self] = newValue
            target = nil
        }
    }

    var urlText: String? { target?.urlText }
}

extension ResponseMetadata {
    /// The names of the keys that have a value.
    var keyNames: [String] { values.keyNames }
}

private enum SecretQueryItemsKey: ResponseMetadataKey {
    static let defaultValue: Set<String> = []
}

private enum RecordingPlaceKey: ResponseMetadataKey {
    static let defaultValue: (@Sendable () -> String)? = nil
}

private enum AttemptsKey: ResponseMetadataKey {
    static let defaultValue = 1
}

private enum PacingWaitKey: ResponseMetadataKey {
    static let defaultValue = Duration.zero
}

private enum PauseEndKey: ResponseMetadataKey {
    static let defaultValue: Date? = nil
}

private enum ArrivalDateKey: ResponseMetadataKey {
    static let defaultValue: Date? = nil
}

private enum RouteNameKey: ResponseMetadataKey {
    static let defaultValue: String? = nil
}

private enum InformationalKey: ResponseMetadataKey {
    static let defaultValue: [HTTPResponse] = []
}

private enum DecodedContentCodingsKey: ResponseMetadataKey {
    static let defaultValue: [String] = []
}

private enum URLKey: ResponseMetadataKey {
    static let defaultValue: URL? = nil
}

extension ResponseMetadata: SecretHolder {
    /// The source of the response, the number of attempts, and the URL without its fragment and the secrets that
    /// ``Redaction/standard`` knows; of other facts, only the names of those that are set.
    public var description: String { "metadata: " + facts.joined(separator: ", ") }

    private var facts: [String] {
        var facts = ["from " + (source?.description ?? "an unknown source"), "attempts \(attempts)"]
        if let url = urlText ?? url?.absoluteString { facts.append(Redaction.described(url)) }
        facts += redirects.map(\.description)
        if let redirectionRefusal { facts.append("redirection refused: \(redirectionRefusal)") }
        facts += informational.map { "informational \($0.status.code)" }
        if cacheStatus != nil { facts.append("cache status") }
        return facts + keyNames
    }
}
