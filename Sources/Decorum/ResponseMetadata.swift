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
    @usableFromInline var values: TypedValues
    // Facts of nearly every response are kept outside the list, which needs a search and allocations.
    /// The source of the response; nil if it is not known.
    public var source: Source?
    /// The route name of the request that the response answers; nil if it has none, or if the transport does not tell.
    public var routeName: String?
    // A reference to the parts of the request, of which the URL is made only when it is read: that takes longer than setting
    // all other metadata of a transport.
    private(set) var asked: HTTPRequest.PseudoHeaderFields?
    var sharedCacheStatus: SharedCacheStatus?
    var callEnd: CallEnd?
    /// The context of the call that the response answers; nil without one.
    var call: CallContext?

    /// The fact of a key.
    public subscript<Key: ResponseMetadataKey>(_ key: Key.Type) -> Key.Value {
        @inlinable get { values.value(for: key, as: Key.Value.self) ?? Key.defaultValue }
        @inlinable set { values.set(newValue, for: key) }
    }
}

extension ResponseMetadata {
    /// Creates metadata with default values.
    public init() { values = TypedValues() }

    /// Creates the metadata of a response to a request, as a transport or another double of a server gives it.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent; ``url`` is its URL with its fragment, which is parsed when it is read.
    ///   - source: Where the response comes from.
    public init(answering request: borrowing Request, from source: Source) {
        // An initializer that assigns the parts in turn makes a copy at its end.
        self = ResponseMetadata(
            values: TypedValues(answering: request), source: source, routeName: request.options.routeName,
            asked: request.head.pseudoHeaderFields, call: request.options.callContext)
    }

    /// Takes the URL of the request that the response answers, unless it has one, with its method and its call.
    package mutating func completeURL(from request: borrowing Request) {
        call = call ?? request.options.callContext
        let names = request.options.secretQueryItems
        if !names.isEmpty { secretQueryItems.formUnion(names) }
        if asked == nil, values.isEmpty || self[URLKey.self] == nil {
            asked = request.head.pseudoHeaderFields
            if let fragment = request.options.fragment { self[FragmentKey.self] = fragment }
        } else if methodName == nil {
            methodName = request.head.method.rawValue
        }
    }
}

extension TypedValues {
    fileprivate init(answering request: borrowing Request) {
        if let fragment = request.options.fragment { set(fragment as String?, for: FragmentKey.self) }
        let names = request.options.values.isEmpty ? [] : request.options.secretQueryItems
        if !names.isEmpty { set(names, for: SecretQueryItemsKey.self) }
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
    public struct Source: Sendable, Hashable, TextCodable {
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

    /// The time for which `pacing` held the last attempt back.
    package var pacingWait: Duration {
        get { self[PacingWaitKey.self] }
        set { self[PacingWaitKey.self] = newValue }
    }

    /// The date at which `pacing` sends the next such request; nil if the response began no pause.
    package var pauseEnd: Date? {
        get { self[PauseEndKey.self] }
        set { self[PauseEndKey.self] = newValue }
    }

    /// The date at which a layer got a response with the status of a failure that the request accepts; a layer that refuses
    /// it counts `Retry-After` from then.
    package var arrivalDate: Date? {
        get { self[ArrivalDateKey.self] }
        set { self[ArrivalDateKey.self] = newValue }
    }

    /// Gives the place of the recording that was played; a closure, since finding out takes time, and only errors tell it.
    package var recordingPlace: (@Sendable () -> String)? {
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

    /// The method of the request that was asked, before any redirection; nil if it is not known.
    var methodName: String? {
        get { (values.isEmpty ? nil : self[MethodNameKey.self]) ?? asked?.method.value }
        set { if newValue != methodName { self[MethodNameKey.self] = newValue } }
    }

    /// The names of the secret items in the query of the request, whose values a server may repeat, such as in `Location`.
    package var secretQueryItems: Set<String> {
        get { self[SecretQueryItemsKey.self] }
        set { self[SecretQueryItemsKey.self] = newValue }
    }

    /// The URL that answered, after redirections, with the fragment that applies after them.
    public var url: URL? {
        get { self[URLKey.self] ?? urlText.flatMap { URL(string: $0) } }
        set {
            let name = methodName
            (self[URLKey.self], asked) = (newValue, nil)
            methodName = name
        }
    }

    /// The parts of the URL with its fragment; nil if it is set as a whole or not known.
    var target: Target? {
        asked.flatMap { Target(HTTPRequest($0), fragment: values.isEmpty ? nil : self[FragmentKey.self]) }
    }

    var urlText: String? { target?.urlText }
}

private enum FragmentKey: ResponseMetadataKey { static let defaultValue: String? = nil }
private enum MethodNameKey: ResponseMetadataKey { static let defaultValue: String? = nil }
private enum SecretQueryItemsKey: ResponseMetadataKey { static let defaultValue: Set<String> = [] }
private enum RecordingPlaceKey: ResponseMetadataKey { static let defaultValue: (@Sendable () -> String)? = nil }
private enum AttemptsKey: ResponseMetadataKey { static let defaultValue = 1 }
private enum PacingWaitKey: ResponseMetadataKey { static let defaultValue = Duration.zero }
private enum PauseEndKey: ResponseMetadataKey { static let defaultValue: Date? = nil }
private enum ArrivalDateKey: ResponseMetadataKey { static let defaultValue: Date? = nil }
private enum InformationalKey: ResponseMetadataKey { static let defaultValue: [HTTPResponse] = [] }
private enum DecodedContentCodingsKey: ResponseMetadataKey { static let defaultValue: [String] = [] }
private enum URLKey: ResponseMetadataKey { static let defaultValue: URL? = nil }

extension ResponseMetadata: SecretHolder {
    /// The source of the response, the number of attempts, and the URL without its fragment and the secrets that
    /// ``Redaction/standard`` knows; of other facts, only the names.
    public var description: String {
        var facts = ["from " + (source?.description ?? "an unknown source"), "attempts \(attempts)"]
        if let url = urlText ?? url?.absoluteString { facts.append(Redaction.described(url)) }
        facts += redirects.map(\.description)
        if let redirectionRefusal { facts.append("redirection refused: \(redirectionRefusal)") }
        facts += informational.map { "informational \($0.status.code)" }
        if cacheStatus != nil { facts.append("cache status") }
        return "metadata: " + (facts + values.keyNames).joined(separator: ", ")
    }
}
