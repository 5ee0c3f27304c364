import Foundation
import HTTPTypes

extension Connection {
    /// Writes an entry of plain text for each exchange, without the secrets in it.
    ///
    /// The entry is written when the exchange has ended: at the end of the response's body, when the body is
    /// dropped, or when sending fails. An answer that is in memory already is written at once. One exchange is one
    /// entry, so entries of exchanges at the same time do not mix. Nothing is waited for, buffered or read ahead:
    /// bodies are watched while their reader reads them.
    ///
    /// ```swift
    /// let connection = transport.logging(to: .standardError)
    /// // GET https://api.example.com/feed?token=REDACTED 200 in 48.1 ms, 5120 bytes in 53.0 ms, from network
    /// ```
    ///
    /// Requests and responses pass through as they are. Outside of `retrying` an entry stands for a call, inside of
    /// it for an attempt; place it inside of the layers that add fields which the log should show.
    ///
    /// - Parameters:
    ///   - sink: Where the entries go.
    ///   - detail: How much is told of an exchange.
    ///   - redaction: What is kept out of the log. Errors that may hold a secret are told by their type alone under
    ///     any redaction.
    ///   - clock: The time that durations are measured by.
    /// - Returns: A connection that logs.
    public func logging(
        to sink: LogSink,
        detail: LogDetail = .line,
        redacting redaction: Redaction = .standard,
        clock: any DatedClock = SystemClock()
    ) -> some Connection {
        let secretFields = Set(layers.flatMap(\.secretFields))
        return LoggingConnection(
            base: self, sink: sink, detail: detail, redaction: redaction, clock: clock, secretFields: secretFields)
    }
}

struct LoggingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let sink: LogSink
    let detail: LogDetail
    let redaction: Redaction
    let clock: any DatedClock
    /// The fields that layers further in call secret: a caller may have set one of them by hand.
    let secretFields: Set<HTTPField.Name>

    var layer: Layer {
        Layer(
            name: "logging", role: .observation, settings: [Layer.Setting("detail", detail)],
            facts: [.readsClock, .records])
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        let reporter = LogReporter(
            sink: sink, detail: detail, redaction: redaction,
            secretFields: detail.showsFields ? secretFields.union(request.options.secretFields) : [],
            request: detail.showsFields ? request.head : request.head.withoutFields,
            attempt: request.options.attemptNumber, sent: tally(&request))
        let watch = ExchangeWatch(clock: clock, previewLimit: detail.bodyLimit, reporter: reporter)
        return try await base.send(request, under: watch)
    }

    /// Looks at the start of the request's body, of a stream while it is sent.
    private func tally(_ request: inout Request) -> SentContent {
        guard detail.bodyLimit > 0 else { return .known(BodyTally.Reading()) }
        if let bytes = request.body.bytes {
            return .known(BodyTally.Reading(count: Int64(bytes.count), preview: bytes.prefix(detail.bodyLimit)))
        }
        if request.body.file != nil { return .known(BodyTally.Reading(count: request.body.length ?? 0)) }
        let tally = BodyTally(previewLimit: detail.bodyLimit)
        request.body = tally.counting(request.body)
        return .tallied(tally)
    }
}

/// The start of what is sent: known before, or looked at meanwhile.
private enum SentContent: Sendable {
    case known(BodyTally.Reading)
    case tallied(BodyTally)

    var reading: BodyTally.Reading {
        switch self {
        case .known(let reading): reading
        case .tallied(let tally): tally.reading
        }
    }
}

/// What an entry knows before the request is sent, and where it is written.
private struct LogReporter: ExchangeReporter {
    let sink: LogSink
    let detail: LogDetail
    let redaction: Redaction
    let secretFields: Set<HTTPField.Name>
    let request: HTTPRequest
    let attempt: Int?
    let sent: SentContent

    func report(_ report: ExchangeReport) {
        let entry = LogEntry(
            redaction: redaction, detail: detail, secretFields: secretFields, request: request, sent: sent.reading,
            attempt: attempt, report: report)
        sink.write(entry.text)
    }
}

extension HTTPRequest {
    /// A head to log by that leaves the request the only owner of its fields, so that adding one copies nothing.
    fileprivate var withoutFields: HTTPRequest {
        var head = self
        head.headerFields = HTTPFields()
        return head
    }
}

/// How much a log tells of an exchange.
public struct LogDetail: Sendable, Hashable, CustomStringConvertible {
    let showsFields: Bool
    let bodyLimit: Int
    /// The name of the detail.
    public let description: String

    /// One line: what was asked, how it ended, how long it took.
    public static let line = LogDetail(showsFields: false, bodyLimit: 0, description: "line")

    /// The line, and the fields of the request and the response.
    public static let fields = LogDetail(showsFields: true, bodyLimit: 0, description: "fields")

    /// The line, the fields, and the start of each body.
    ///
    /// JSON and forms are shown, which a redaction can read. Other text is shown only under ``Redaction/none``; of all
    /// else, and of content with a content coding, the log tells the number of bytes.
    ///
    /// - Parameter limit: The largest number of bytes to show of a body; the rest is not kept.
    /// - Returns: A detail with bodies.
    public static func bodies(upTo limit: Int = 1024) -> LogDetail {
        LogDetail(showsFields: true, bodyLimit: max(0, limit), description: "bodies(upTo: \(limit))")
    }
}
