import Foundation
import HTTPTypes

/// The redaction of a log; a class, since a copy of a redaction takes longer than most of what is done with it.
final class SharedRedaction: Sendable {
    let redaction: Redaction

    init(_ redaction: Redaction) {
        self.redaction = redaction
    }

    /// The redaction with further names of query items; the same object where there are none.
    func covering(queryItems: Set<String>) -> SharedRedaction {
        queryItems.isEmpty ? self : SharedRedaction(redaction.covering(queryItems: queryItems))
    }
}

/// The text of one exchange in a log, which depends only on these values.
struct LogEntry {
    let shared: SharedRedaction
    let detail: LogDetail
    let secretFields: Set<HTTPField.Name>
    let request: HTTPRequest
    let sent: BodyTally.Reading
    let attempt: Int?
    let retry: RetryNumber?
    let report: ExchangeReport

    var text: String {
        guard detail.showsFields else { return line.text }
        var lines = [line.text]
        lines += message(request.headerFields, body: sent, prefix: "  > ")
        if let head = report.head {
            lines += message(head.headerFields, body: report.received, prefix: "  < ")
        }
        return lines.joined(separator: "\n")
    }

    private var line: LogLine {
        var line = LogLine()
        line.add(request.method.rawValue)
        line.add(" ")
        addURL(to: &line)
        line.add(" ")
        if let head = report.head, let timeToHead = report.timeToHead {
            line.add(head.code)
            line.add(" in ")
            line.add(timeToHead)
            addBody(to: &line)
            addFacts(to: &line)
        } else {
            line.add(ending)
            line.add(" after ")
            line.add(report.duration)
            if let number = retry.map({ ", \($0)" }) ?? attempt.map({ ", attempt \($0)" }) { line.add(number) }
        }
        line.add(reason)
        return line
    }

    private func addBody(to line: inout LogLine) {
        let bytes = report.received.count
        switch report.ending {
        case .finished where bytes == 0: return
        case .finished: line.add(", ")
        case .abandoned where bytes == 0: return line.add(", body not read")
        default:
            line.add(", body ")
            line.add(ending)
            line.add(" after ")
        }
        line.add(bytes)
        line.add(" bytes in ")
        line.add(report.duration)
    }

    private func addFacts(to line: inout LogLine) {
        if let source = report.metadata?.source {
            line.add(source == .revalidated ? ", " : ", from ")
            line.add(source.description)
        }
        if let last = report.metadata?.redirects.last {
            line.add(", redirected to ")
            line.add(shared.redaction.applied(toURL: last.to.absoluteString))
        }
        if let wait = report.metadata?.pacingWait, wait > .zero { line.add(", paced for \(wait.shortText)") }
        if let refusal = report.metadata?.retryRefusal { line.add(", not sent again: \(refusal)") }
        // A cache stores hardly any response to an unsafe method, so its reason would only lengthen each such line.
        if let shared = report.metadata?.sharedCacheStatus, let detail = shared.status.detail, request.method.isSafe {
            line.add(", ")
            line.add(shared.hasFixedDetail ? detail : self.shared.redaction.applied(toText: detail))
        }
        addNumber(to: &line)
    }

    private func addNumber(to line: inout LogLine) {
        if let retry {
            line.add(", \(retry)")
        } else if let attempt {
            line.add(", attempt ")
            line.add(attempt)
        } else if report.metadata?.attempts ?? 1 > 1, let metadata = report.metadata, metadata.tries > 1 {
            addTries(of: metadata, to: &line)
        }
    }

    private func addTries(of metadata: ResponseMetadata, to line: inout LogLine) {
        line.add(", \(metadata.tries) attempts")
        guard let record = metadata.retryRecord else { return }
        line.add(" (\(record.outcomes.joined(separator: ", ")))")
        if record.waited > .zero { line.add(", waited \(record.waited.shortText)") }
    }

    private func addURL(to line: inout LogLine) {
        if let scheme = request.scheme, let authority = request.authority {
            add(scheme, authority, request.path, to: &line)
        } else if let target = askedTarget, let scheme = target.scheme, let authority = target.authority {
            add(scheme, authority, target.path, to: &line)
        } else if let asked {
            line.add(shared.redaction.applied(toURL: asked))
        } else {
            line.add(request.path.map { shared.redaction.applied(toPath: $0, of: request.authority) } ?? "/")
        }
    }

    private func add(_ scheme: String, _ authority: String, _ path: String?, to line: inout LogLine) {
        line.add(scheme)
        line.add("://")
        line.add(shared.redaction.applied(toAuthority: authority))
        line.add(path.map { shared.redaction.applied(toPath: $0, of: authority) } ?? "/")
    }

    /// The parts of the URL of a relative request that was neither redirected nor has a fragment, as most are not.
    private var askedTarget: Target? {
        // The metadata is not copied as a whole, which takes longer than the rest.
        guard let target = report.metadata?.target, target.fragment == nil, report.metadata?.redirects.isEmpty == true
        else { return nil }
        return target
    }

    /// The URL of a relative request, which a layer further in has resolved.
    private var asked: String? {
        if let metadata = report.metadata { return Self.asked(in: metadata) }
        guard case .failed(let error) = report.ending else { return nil }
        return switch error {
        case let error as any ResolvedRequestError: error.resolvedURL
        case let error as StatusError: Self.asked(in: error.response.metadata)
        case let error as RedirectionLimitError: error.redirections.first?.from.absoluteString
        case let error as RedirectionLoopError: error.redirections.first?.from.absoluteString
        default: nil
        }
    }

    private static func asked(in metadata: ResponseMetadata) -> String? {
        metadata.redirects.first?.from.absoluteString ?? metadata.urlText
    }

    private var ending: String {
        switch report.ending {
        case .finished: "finished"
        case .failed(let error): error is CancellationError ? "cancelled" : "failed"
        case .abandoned: "abandoned"
        }
    }

    private var reason: String {
        guard case .failed(let error) = report.ending, !(error is CancellationError) else { return "" }
        // The line begins with the request.
        return ": " + shared.redaction.description(of: (error as? TransportError)?.withoutURL ?? error)
    }

    private func message(_ fields: HTTPFields, body: BodyTally.Reading, prefix: String) -> [String] {
        var lines = shared.redaction.applied(to: fields, secretFields: secretFields).map {
            "\(prefix)\($0.name): \($0.value)"
        }
        if detail.bodyLimit > 0, body.count > 0 {
            lines += content(of: body, fields: fields).split(whereSeparator: \.isNewline).map { prefix + $0 }
        }
        return lines.map { text in
            var line = LogLine()
            line.add(text)
            return line.text
        }
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
        case .json, .form: shared.redaction.applied(to: content, mediaType: mediaType)
        case .text, .markup: shared.redaction == .none ? content : nil
        case .binary, .multipart, .unknown: nil
        }
    }
}
