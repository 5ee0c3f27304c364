import Foundation
import HTTPTypes

/// The parts of an entry that are known before the request is sent, and the destination of the entry.
struct LogReporter: ExchangeReporter {
    let place: LoggedPlace
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
        var entry = newEntry
        entry.report.add(report, of: response, to: request, in: call, redacting: shared)
        write(&entry, redacting: shared, place.detail.showsFields ? response.head.headerFields : nil, report.received)
    }

    func report(_ error: any Error, after duration: Duration) {
        let shared = shared.covering(queryItems: (error as? StatusError)?.response.metadata.secretQueryItems ?? [])
        var entry = newEntry
        entry.report.add(error, after: duration, to: request, in: call, redacting: shared)
        write(&entry, redacting: shared)
    }

    // A report is completed in its entry: a copy of it, or a closure that completes it, takes as long as half of the line.
    private var newEntry: LogEntry {
        var entry = LogEntry(report: CallReport(exchange, sending: sent.count, at: nil))
        entry.report.callID = call?.id
        return entry
    }

    private func write(
        _ entry: inout LogEntry, redacting shared: SharedRedaction, _ fields: HTTPFields? = nil,
        _ received: BodyTally.Reading = .init()
    ) {
        guard place.sink.wants(entry.report) else { return }
        entry.line = entry.report.line(numbered: number ?? entry.report.attempt.map { "attempt \($0)" })
        if place.detail.showsFields {
            let messages = MessageText(log: self, redaction: shared.redaction)
            entry.request = messages.lines(request.headerFields, sent.reading)
            if let fields { entry.response = messages.lines(fields, received) }
        }
        place.sink.write(entry)
    }
}

/// The texts of the messages of an exchange.
private struct MessageText {
    let log: LogReporter
    let redaction: Redaction

    func lines(_ fields: HTTPFields, _ body: BodyTally.Reading) -> [String] {
        let shown = redaction.applied(to: fields, secretFields: log.secretFields)
        var lines = shown.map { "\($0.name): \($0.value)" }
        if log.place.detail.bodyLimit > 0, body.count > 0 {
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
