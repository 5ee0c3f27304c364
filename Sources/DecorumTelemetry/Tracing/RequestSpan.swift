#if Tracing
import Decorum
import Foundation
import HTTPTypes
import Tracing

/// The span of one request, which ends with the body of its response.
struct RequestSpan: ExchangeReporter {
    private let span: any Span
    private let start: DefaultTracerClock.Timestamp
    /// The call; nil for an attempt.
    private let call: TracedCall?
    /// The number of the attempt in its call, from 1; nil for a call, and where no layer traces it.
    private let attempt: Int?
    private let head: HTTPRequest
    private let routeName: String?
    private let callID: UInt64?
    private let bytesSent: Int64
    private let redaction: SharedRedaction

    init(
        _ span: any Span, _ start: DefaultTracerClock.Timestamp, of request: borrowing Request, call: TracedCall?,
        attempt: Int?
    ) {
        (self.span, self.start, self.call, self.attempt) = (span, start, call, attempt)
        (head, bytesSent) = (request.head.withoutFields, request.body.isEmpty ? 0 : request.body.length ?? 0)
        (routeName, callID) = (request.options.routeName, request.options.callContext?.id)
        redaction = .standard.covering(queryItems: request.options.secretQueryItems)
    }

    func report(_ exchange: ExchangeReport, of response: Response) {
        end(after: exchange.duration, answeredBy: response.metadata) {
            $0.add(exchange, of: response, to: head, in: nil, redacting: $1)
        }
    }

    func report(_ error: any Error, after duration: Duration) {
        end(after: duration, answeredBy: (error as? StatusError)?.response.metadata) {
            $0.add(error, after: duration, to: head, in: nil, redacting: $1)
        }
    }

    // A sampler of swift-distributed-tracing sees no attributes, so all of them are added at the end.
    private func end(
        after duration: Duration, answeredBy answer: ResponseMetadata?,
        _ complete: (inout CallReport, SharedRedaction) -> Void
    ) {
        defer { span.end(at: start.advanced(by: duration)) }
        guard span.isRecording else { return }
        var report = CallReport(
            call == nil ? .attempt : .call, callID: callID, method: head.method, routeName: routeName)
        complete(&report, redaction.covering(queryItems: answer?.secretQueryItems ?? []))
        (report.bytesSent, report.attempt) = (bytesSent, call?.attempts ?? attempt)
        span.updateAttributes { attributes in
            for case (let name, let value?) in report.conventionAttributes {
                let number = (value as? Int).map(Int64.init) ?? value as? Int64
                attributes[name] = number.map(SpanAttribute.int64) ?? .string("\(value)".withoutControls)
            }
        }
        if let status = SpanStatus(report) { span.setStatus(status) }
        if call != nil, report.isCoalesced, let fetching = answer?.fetchingSpan {
            span.addLink(SpanLink(context: fetching, attributes: [:]))
        }
    }
}

extension SpanStatus {
    /// The status of a span; nil to leave it unset, as for a success and a cancellation.
    init?(_ report: CallReport) {
        guard report.errorType != nil else { return nil }
        // The convention demands no text for what the status code tells.
        self.init(code: .error, message: (report.statusCode ?? 0) >= 400 ? nil : report.errorText?.withoutControls)
    }
}

extension DefaultTracerClock.Timestamp {
    init(_ date: Date) {
        self.init(nanosecondsSinceEpoch: UInt64(exactly: (date.timeIntervalSince1970 * 1e9).rounded()) ?? 0)
    }

    /// The instant after a duration, of which at most 272 years count.
    func advanced(by duration: Duration) -> Self {
        let (seconds, attoseconds) = duration.components
        let whole = UInt64(max(0, min(seconds, Int64(1) << 33))) * 1_000_000_000
        let rest = UInt64(max(0, attoseconds)) / 1_000_000_000
        return Self(nanosecondsSinceEpoch: nanosecondsSinceEpoch &+ whole &+ rest)
    }
}
#endif
