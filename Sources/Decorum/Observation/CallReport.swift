public import Foundation
public import HTTPTypes

/// The story of one call, or of one attempt within a call: its outcome, its reasons, and where its time went.
///
/// The same value stands at a response, at an error, and at an observer:
///
/// ```swift
/// print(response.report.explain())
/// print(CallReport(of: error).explain())
/// ```
///
/// It has no secret that ``Redaction/standard`` knows or that the request declares, no field, no content and no reason phrase.
/// A fact is nil, empty or 0 if nobody has noted it: see <doc:seeing-what-happens>.
///
/// As JSON, durations are seconds. For a test, create one and set its properties.
public struct CallReport: Sendable, Hashable, Codable {
    /// The kind of exchange that a report is about.
    public enum Scope: String, Sendable, Hashable, CaseIterable, Codable {
        /// A request of the caller, with all its retries and redirections.
        case call
        /// One request that was sent.
        case attempt
    }

    /// How an exchange ended.
    public enum Outcome: Sendable, Hashable, Codable {
        /// The response and its whole body arrived, whatever the status.
        case finished
        /// Sending or reading the body failed; the name is one of a small number.
        case failed(name: String)
        /// The task was cancelled, which does not count as a failure.
        case cancelled
        /// The response arrived and its body was dropped before its end.
        case abandoned
    }

    /// Whether the report is about a call or an attempt.
    public var scope: Scope
    /// The identifier that all reports and events of one call share; nil for a call without a ``CallContext``.
    public var callID: UInt64?
    /// The number of the attempt within its call, from 1; nil for a call.
    public var attempt: Int?
    package var methodName: String?
    /// The name of the route in the options of the request, cut to 128 bytes of UTF-8.
    public var routeName: String?
    var askedOrigin: AskedOrigin?
    var askedURL: AskedURL?
    /// The code of the status; nil if no response arrived.
    public var statusCode: Int?
    /// How the exchange ended.
    public var outcome = Outcome.finished
    /// The description of the error with which the exchange failed, without secrets.
    public var errorText: String?
    /// The source of the response; nil if it is not known.
    public var source: ResponseMetadata.Source?
    /// Whether the response is the one to an identical request of another caller.
    public var isCoalesced = false

    /// The attempts with their reasons and outcomes, in order; empty if nobody has noted them.
    ///
    /// A call that needed one attempt may have none.
    public var attempts: [Attempt] = []
    /// The number of attempts of a call: the requests that were sent.
    ///
    /// It is 1 for an attempt, 0 for a call that was answered from a store or shares the request of another one, and nil for
    /// a call that failed before anything was sent.
    public var attemptCount: Int?
    /// How often the layers further in sent a request of the call again after a temporary failure; 0 for an attempt.
    public var retries = 0
    /// The reason why `retrying` did not send the request again; nil if it had none, or has used all retries.
    public var retryRefusal: String?
    /// The redirections that were followed.
    public var redirections: [Hop] = []
    /// The handling by the cache of this client; nil without a cache.
    public var cache: Cache? {
        get { knownCache?.value }
        set { knownCache = newValue.map { KnownCache($0) } }
    }
    var knownCache: KnownCache?
    /// The time for which `pacing` held the last attempt back, since the server had asked for a pause.
    public var pacingWait = Duration.zero

    /// The date at which the exchange began, from the clock of its observer; nil unless that gets all events.
    public var startedAt: Date?
    /// The time until the head of the response had arrived; nil without a head, and where no layer observes.
    public var timeToHead: Duration?
    /// The time until the exchange had ended: with its body, or with its failure.
    public var duration: Duration?
    /// The parts of the last exchange of a transport; nil if it does not measure them.
    public var timings: TransferTimings? {
        get { knownTimings?.value }
        set { knownTimings = newValue.map { Boxed($0) } }
    }
    var knownTimings: Boxed<TransferTimings>?
    /// The times of the layers, outermost first, where a stack measures them (``Connection/measuringTime(clock:)``).
    public var layers: [LayerTime] = []
    /// The length of the request's body; if it is not known, the number of its bytes that were read.
    public var bytesSent: Int64 = 0
    /// The bytes that were read of the response's body, without content codings, also of a stored response.
    public var bytesReceived: Int64 = 0
    /// The content codings that were undone, outermost first.
    public var codings: [String] = []
    /// The length of the content with these codings; nil if it is not known.
    public var codedLength: Int64?
    /// The state of the network when the attempt began; nil for a call, and without a layer that asks for it.
    public var network: NetworkState?
    /// The decisions of the layers, in order; empty where nobody keeps them (``CallContext/history``).
    public var decisions: [CallDecision] = []

    private enum CodingKeys: String, CodingKey {
        case scope, callID, attempt, routeName, statusCode, outcome, errorText, source
        case isCoalesced, attempts, attemptCount, retries, retryRefusal, redirections, pacingWait
        case startedAt, timeToHead, duration, layers, bytesSent, bytesReceived, codings, codedLength, network, decisions
        case methodName = "method"
        case knownCache = "cache"
        case knownTimings = "timings"
        case askedOrigin = "origin"
        case askedURL = "url"
    }

    /// The method; nil if it is not known.
    public var method: HTTPRequest.Method? {
        get { methodName.flatMap { HTTPRequest.Method($0) } }
        set { methodName = newValue?.rawValue }
    }

    /// The origin that was asked, before any redirection; nil if it is not known.
    public var origin: Origin? {
        get { askedOrigin?.value ?? askedURL?.origin }
        set { askedOrigin = newValue.map { AskedOrigin($0) } }
    }

    /// The URL that was asked, before any redirection, without its secrets.
    public var url: String? {
        get { askedURL?.description }
        set { askedURL = newValue.map { AskedURL($0) } }
    }

    /// The status, without the server's reason phrase, which may be any text; nil when no response arrived.
    public var status: HTTPResponse.Status? {
        statusCode.flatMap { (0...999).contains($0) ? HTTPResponse.Status(code: $0) : nil }
    }

    /// The URL that was asked last, after all redirections, without its secrets.
    public var finalURL: String? { redirections.last?.to ?? url }

    /// Whether the exchange counts as an error: it failed, or its status is one of 4xx or 5xx.
    public var isError: Bool {
        switch outcome {
        case .failed: true
        case .cancelled: false
        case .finished, .abandoned: (statusCode ?? 0) >= 400
        }
    }
}

extension CallReport {
    /// Creates a report; each parameter is the property of its name.
    public init(
        _ scope: Scope = .call, callID: UInt64? = nil, method: HTTPRequest.Method? = nil, routeName: String? = nil,
        statusCode: Int? = nil, outcome: Outcome = .finished, duration: Duration? = nil
    ) {
        self.init(
            scope: scope, callID: callID, methodName: method?.rawValue, routeName: routeName?.cut(toBytes: 128),
            statusCode: statusCode, outcome: outcome, duration: duration)
    }

    /// Creates the report of an exchange that begins.
    package init(_ exchange: ObservedExchange) { self.init(exchange, sending: 0, at: nil) }

    // The initializer of all properties copies nothing, unlike one that assigns them.
    init(_ exchange: ObservedExchange, sending count: Int64, at date: Date?) {
        self.init(
            scope: exchange.scope, callID: exchange.callID, attempt: exchange.attempt,
            methodName: exchange.method.rawValue, routeName: exchange.routeName,
            askedOrigin: exchange.asked, startedAt: date, bytesSent: count, network: exchange.network)
    }
}

/// Holds a value that most reports do not have or do not show; it is compared and coded as the value.
protocol ValueHolder: Sendable, Hashable, Codable {
    associatedtype Value: Hashable, Codable
    var value: Value { get }
    init(_ value: Value)
}

extension ValueHolder {
    init(from decoder: any Decoder) throws { try self.init(Value(from: decoder)) }
    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
    static func == (one: Self, other: Self) -> Bool { one.value == other.value }
    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// A large value, so that reports are copied in less time.
final class Boxed<Value: Sendable & Hashable & Codable>: ValueHolder {
    let value: Value
    init(_ value: Value) { self.value = value }
}

/// The handling by a cache, which is made of the status when it is read.
struct KnownCache: ValueHolder, SecretHolder {
    let shared: SharedCacheStatus
    let redaction: SharedRedaction?

    var value: CallReport.Cache { CallReport.Cache(shared.status, detail: detail) }
    var detail: String? {
        guard let redaction, let text = shared.status.detail else { return nil }
        return shared.hasFixedDetail ? text : redaction.redaction.applied(toText: text)
    }
    var description: String { "\(value)" }
}

extension KnownCache {
    init(_ cache: CallReport.Cache) {
        let status = CacheStatus(
            cache: cache.name, isHit: cache.isHit, forwardReason: cache.forwardReason.map { .init($0) },
            timeToLive: cache.timeToLive, isStored: cache.isStored, detail: cache.detail)
        self.init(shared: SharedCacheStatus(status, hasFixedDetail: true), redaction: .standard)
    }
}

extension CallReport {
    /// A redirection that was followed.
    public struct Hop: Sendable, Hashable, Codable {
        /// The code of the status that redirects.
        public var statusCode: Int
        /// The method of the request to the new URL.
        public var method: String
        /// The URL that redirects, without its secrets; its origin in a report without URLs.
        public var from: String
        /// The new URL, likewise.
        public var to: String

        /// Creates a redirection.
        public init(_ statusCode: Int, _ method: HTTPRequest.Method = .get, from: String, to: String) {
            (self.statusCode, self.method, self.from, self.to) = (statusCode, method.rawValue, from, to)
        }
    }

    /// The handling of a request by the cache of this client.
    public struct Cache: Sendable, Hashable, Codable {
        /// The name of the cache.
        public var name: String
        /// Whether it answered without forwarding the request.
        public var isHit = false
        /// Whether it stored the response; nil if it is not known.
        public var isStored: Bool?
        /// The reason why it forwarded the request, as in `uri-miss` (RFC 9211, section 2.2); nil if it did not.
        public var forwardReason: String?
        /// The time for which the response stays fresh; negative for a stale one.
        public var timeToLive: Duration?
        /// Why it did not use or store a response, with the section of the RFC, as in ``CacheStatus/detail``.
        public var detail: String?

        /// Creates the handling by a cache that had no response.
        public init(_ name: String) {
            self.name = name
        }
    }

    /// The time of one layer of a stack, until the heads of responses have arrived.
    public struct LayerTime: Sendable, Hashable, Codable {
        /// The name of the layer.
        public var name: String
        /// The time of the layer itself, without the layers further in.
        public var own: Duration
        /// The time with all layers further in.
        public var total: Duration
        /// The number of requests that reached the layer.
        public var sends: Int

        /// Creates the time of a layer.
        public init(_ name: String, own: Duration, total: Duration, sends: Int = 1) {
            (self.name, self.own, self.total, self.sends) = (name, own, total, sends)
        }
    }
}
