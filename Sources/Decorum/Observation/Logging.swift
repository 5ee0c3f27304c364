import Foundation
import HTTPTypes

extension Connection {
    /// Writes an entry of plain text for each exchange, without its secrets.
    ///
    /// Each exchange has one entry, which is written when it has ended: with the head if all content has arrived by then,
    /// at the end of the body, when the body is dropped, or when sending fails. The layer does not wait, buffer or read ahead.
    ///
    /// ```swift
    /// let connection = transport.logging(to: .standardError)
    /// // GET https://api.example.com/feed?token=REDACTED 200 in 48.1 ms, 5120 bytes in 53.0 ms, from network
    /// ```
    ///
    /// An entry stands for a call, and names the attempts before the last one:
    ///
    /// ```
    /// GET https://api.example.com/feed 200 in 2.31 s, from network, 3 attempts (503, connectionLost), waited 2.20 s
    /// ```
    ///
    /// As `.attempt`, inside of all layers that send a request again, each attempt has one:
    /// `… 200 in 41.0 ms, from network, attempt 2 of 4, after 503, waited 0.40 s`. Outside of a cache, an entry has the
    /// ``CacheStatus/detail`` of the cache.
    ///
    /// An entry has no time stamp: a logger adds one, and for a console, add it in the sink, as in
    /// `LogSink { print(Date.now.ISO8601Format(), $0) }`.
    ///
    /// Requests and responses pass unchanged. Place the layer inside of the layers that add fields which the log should
    /// show. Outside of ``resolving(against:)``, it learns the URL of a relative request from the response or the error.
    ///
    /// - Parameters:
    ///   - sink: The destination of the entries.
    ///   - scope: Whether a request that passes this layer is a call or an attempt.
    ///   - detail: The level of detail of an entry.
    ///   - redaction: The secrets that are kept out of the log. With any redaction, an error that may hold a secret is
    ///     logged only by its type.
    ///   - clock: The clock that measures durations.
    /// - Returns: A connection that logs.
    public func logging(
        to sink: LogSink,
        as scope: CallReport.Scope = .call,
        detail: LogDetail = .line,
        redacting redaction: Redaction = .standard,
        clock: any DatedClock = SystemClock()
    ) -> some Connection {
        let secretFields = Set(layers.flatMap(\.secretFields))
        return LoggingConnection(
            base: self,
            place: LoggedPlace(
                sink: sink, scope: scope, detail: detail, shared: SharedRedaction(redaction), clock: clock,
                secretFields: secretFields))
    }
}

struct LoggingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let place: LoggedPlace

    var layer: Layer { place.layer }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard place.sink.isEnabled else { return try await base.send(request) }
        let watch = place.begin(&request)
        return try await base.send(request, under: watch)
    }
}

/// The log at one place of a stack; a class, since a copy of its parts takes longer than most of what is done with them.
final class LoggedPlace: Sendable {
    let sink: LogSink
    let detail: LogDetail
    private let scope: CallReport.Scope
    private let shared: SharedRedaction
    private let clock: any DatedClock
    /// The fields that layers further in declare secret: a caller may have set one of them directly.
    private let secretFields: Set<HTTPField.Name>

    init(
        sink: LogSink, scope: CallReport.Scope, detail: LogDetail, shared: SharedRedaction, clock: any DatedClock,
        secretFields: Set<HTTPField.Name>
    ) {
        (self.sink, self.scope, self.detail, self.shared, self.clock) = (sink, scope, detail, shared, clock)
        self.secretFields = secretFields
    }

    var layer: Layer {
        Layer(
            name: "logging", role: .observation,
            settings: [Layer.Setting("as", scope.rawValue), Layer.Setting("detail", detail)],
            facts: Layer.facts(of: clock).union(shared.redaction == .none ? [.records] : [.records, .redacts])
                .union(detail == .line ? [] : [.recordsFields]).union(scope == .attempt ? [.observesAttempts] : []),
            memory: .init(bytes: detail.bodyLimit > Int.max / 2 ? .unbounded : .atMost(2 * detail.bodyLimit)))
    }

    func begin(_ request: inout Request) -> ExchangeWatch<LogReporter> {
        let call = request.options.callContext
        var (number, attempts) = (nil as String?, call?.attempts)
        if !request.options.values.isEmpty, let retry = request.options.retryHistory {
            (number, attempts) = (retry.next, attempts ?? retry.attempts)
        }
        // An observer of attempts may have given a number.
        let attempt = request.options.attemptNumber ?? (attempts ?? 0) + 1
        return ExchangeWatch(
            clock: clock, previewLimit: detail.bodyLimit,
            reporter: LogReporter(
                place: self, shared: shared.covering(queryItems: request.options.secretQueryItems),
                secretFields: detail.showsFields ? secretFields.union(request.options.secretFields) : [],
                request: detail.showsFields ? request.head : request.head.withoutFields,
                exchange: ObservedExchange(
                    scope, callID: call?.id ?? 0, attempt: scope == .attempt ? attempt : nil, sending: request),
                call: call, number: number, sent: tally(&request)))
    }

    /// Keeps the start of the request's body; of a stream, while it is sent.
    private func tally(_ request: inout Request) -> SentContent {
        guard detail.bodyLimit > 0, request.body.file == nil else {
            return .known(BodyTally.Reading(count: request.body.length ?? 0))
        }
        if let bytes = request.body.bytes {
            return .known(BodyTally.Reading(count: Int64(bytes.count), preview: bytes.prefix(detail.bodyLimit)))
        }
        let tally = BodyTally(previewLimit: detail.bodyLimit)
        request.body = tally.counting(request.body)
        return .tallied(tally)
    }
}

/// The level of detail of a log entry.
public struct LogDetail: Sendable, Hashable, CustomStringConvertible {
    let showsFields: Bool
    let bodyLimit: Int
    /// The name of the detail.
    public let description: String

    /// One line with the request, the result and the duration.
    public static let line = LogDetail(showsFields: false, bodyLimit: 0, description: "line")

    /// The line, and the fields of the request and the response.
    public static let fields = LogDetail(showsFields: true, bodyLimit: 0, description: "fields")

    /// The line, the fields, and the start of each body.
    ///
    /// JSON and forms are shown, because a redaction can find their secrets; other text only with ``Redaction/none``. For all
    /// other content, and for content with a content coding, the log shows the number of bytes.
    ///
    /// - Parameter limit: The largest number of bytes to show of a body; the rest is not kept.
    /// - Returns: A detail with bodies.
    public static func bodies(upTo limit: Int = 1024) -> LogDetail {
        LogDetail(showsFields: true, bodyLimit: max(0, limit), description: "bodies(upTo: \(limit))")
    }
}
