import Foundation
import HTTPTypes

/// The parts of an entry that are known before the request is sent, and the destination of the entry.
struct LogReporter: ExchangeReporter {
    let sink: LogSink
    let detail: LogDetail
    let shared: SharedRedaction
    let secretFields: Set<HTTPField.Name>
    let request: HTTPRequest
    let exchange: ObservedExchange
    let call: CallContext?
    /// The number of the attempt in words, if a layer has sent it again.
    let number: String?
    let sent: SentContent

    func report(_ report: ExchangeReport, of response: Response) {
        let shared = shared.covering(queryItems: response.metadata.secretQueryItems)
        var full = CallReport(exchange, sending: sent.count, at: nil)
        full.callID = call?.id
        full.add(report, of: response, to: request, in: call, redacting: shared)
        write(full, redacting: shared, detail.showsFields ? response.head.headerFields : nil, report.received)
    }

    func report(_ error: any Error, after duration: Duration) {
        let shared = shared.covering(queryItems: (error as? StatusError)?.response.metadata.secretQueryItems ?? [])
        var full = CallReport(exchange, sending: sent.count, at: nil)
        full.callID = call?.id
        full.add(error, after: duration, to: request, in: call, redacting: shared)
        write(full, redacting: shared)
    }

    private func write(
        _ report: consuming CallReport, redacting shared: SharedRedaction, _ fields: HTTPFields? = nil,
        _ received: BodyTally.Reading = .init()
    ) {
        guard sink.wants(report) else { return }
        let number = number ?? report.attempt.map { "attempt \($0)" }
        var entry = LogEntry(line: report.line(numbered: number), report: consume report)
        if detail.showsFields {
            let messages = MessageText(log: self, redaction: shared.redaction)
            entry.request = messages.lines(request.headerFields, sent.reading)
            if let fields { entry.response = messages.lines(fields, received) }
        }
        sink.write(entry)
    }
}

/// The texts of the messages of an exchange.
private struct MessageText {
    let log: LogReporter
    let redaction: Redaction

    func lines(_ fields: HTTPFields, _ body: BodyTally.Reading) -> [String] {
        let shown = redaction.applied(to: fields, secretFields: log.secretFields)
        var lines = shown.map { "\($0.name): \($0.value)" }
        if log.detail.bodyLimit > 0, body.count > 0 {
            lines += content(of: body, fields: fields).split(whereSeparator: \.isNewline).map(String.init)
        }
        return lines.map(\.withoutControls)
    }

    private func content(of body: BodyTally.Reading, fields: HTTPFields) -> String {
        let mediaType = fields[.contentType]
        guard !fields.contains(.contentEncoding), !body.preview.isEmpty,
            let shown = shown(body.preview, mediaType)
        else { return "(\(body.count) bytes)" }
        let rest = body.count - Int64(body.preview.count)
        return String(decoding: shown, as: UTF8.self) + (rest > 0 ? " (\(rest) more bytes)" : "")
    }

    /// Content with its secrets replaced; nil for a kind in which secrets cannot be found.
    private func shown(_ content: Data, _ mediaType: String?) -> Data? {
        switch ContentKind(mediaType: mediaType) {
        case .json, .form: redaction.applied(to: content, mediaType: mediaType)
        case .text, .markup: redaction == .none ? content : nil
        case .binary, .multipart, .unknown: nil
        }
    }
}
