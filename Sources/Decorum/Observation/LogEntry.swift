import Foundation
import HTTPTypes

/// The redaction of a log; a class, since a copy of a redaction takes longer than most of what is done with it.
final class SharedRedaction: Sendable {
    let redaction: Redaction

    init(_ redaction: Redaction) {
        self.redaction = redaction
    }

    /// The redaction with further names of query items; the same object without any.
    func covering(queryItems: Set<String>) -> SharedRedaction {
        queryItems.isEmpty ? self : SharedRedaction(redaction.covering(queryItems: queryItems))
    }
}

/// The parts of an entry that are known before the request is sent, and the destination of the entry.
struct LogReporter: ExchangeReporter {
    let sink: LogSink
    let detail: LogDetail
    let shared: SharedRedaction
    let secretFields: Set<HTTPField.Name>
    let request: HTTPRequest
    let attempt: Int?
    let retry: RetryHistory?
    let sent: SentContent

    func report(_ report: ExchangeReport) {
        var secretQueryItems = report.metadata?.secretQueryItems
        if secretQueryItems == nil, case .failed(let error as StatusError) = report.ending {
            secretQueryItems = error.response.metadata.secretQueryItems
        }
        let shared = shared.covering(queryItems: secretQueryItems ?? [])
        sink.write(LogEntry(log: self, request: request, shared: shared, report: report).text)
    }
}

/// The text of one exchange in a log.
private struct LogEntry: ~Copyable {
    let log: LogReporter
    let request: HTTPRequest
    let shared: SharedRedaction
    let report: ExchangeReport

    var text: String {
        guard log.detail.showsFields else { return line }
        var lines = [line] + message(request.headerFields, body: log.sent.reading, prefix: "  > ")
        if let head = report.head { lines += message(head.headerFields, body: report.received, prefix: "  < ") }
        return lines.joined(separator: "\n")
    }

    private var line: String {
        var line: [UInt8] = []
        // Most lines are shorter.
        line.reserveCapacity(240)
        line += request.method.rawValue
        line += " "
        addURL(to: &line)
        if let head = report.head, let timeToHead = report.timeToHead {
            line += " "
            line += String(head.code)
            line += " in "
            line += timeToHead.shortText
            addBody(to: &line)
            addFacts(to: &line)
        } else {
            line += " "
            line += ending
            line += " after "
            line += report.duration.shortText
            if log.retry != nil || log.attempt != nil { addNumber(to: &line) }
        }
        line += reason
        let text = String(decoding: line, as: UTF8.self)
        // Most lines are plain ASCII. Without an early exit, many bytes are compared at a time.
        let others = line.reduce(0 as UInt8) { $0 | ($1 &- 0x20 > 0x5E ? 1 : 0) }
        return others == 0 ? text : text.withoutControls
    }

    private func addBody(to line: inout [UInt8]) {
        let bytes = report.received.count
        switch report.ending {
        case .finished where bytes == 0: return
        case .finished: line += ", "
        case .abandoned where bytes == 0:
            line += ", body not read"
            return
        default:
            line += ", body "
            line += ending
            line += " after "
        }
        line += String(bytes)
        line += " bytes in "
        line += report.duration.shortText
    }

    private func addFacts(to line: inout [UInt8]) {
        // The metadata is not copied as a whole, which takes longer than the rest.
        if let source = report.metadata?.source {
            line += source == .revalidated ? ", " : ", from "
            line += source.description
        }
        if let last = report.metadata?.redirects.last {
            line += ", redirected to "
            line += shared.redaction.applied(toURL: last.to.absoluteString)
        }
        if let wait = report.metadata?.pacingWait, wait > .zero { line += ", paced for \(wait.shortText)" }
        if let refusal = report.metadata?.retryRefusal { line += ", not sent again: \(refusal)" }
        // A cache stores hardly any response to an unsafe method, so its reason would only lengthen each such line.
        if let status = report.metadata?.sharedCacheStatus, let detail = status.status.detail, request.method.isSafe {
            line += ", "
            line += status.hasFixedDetail ? detail : shared.redaction.applied(toText: detail)
        }
        addNumber(to: &line)
    }

    private func addNumber(to line: inout [UInt8]) {
        if let retry = log.retry {
            line += ", \(retry.next)"
        } else if let attempt = log.attempt {
            line += ", attempt \(attempt)"
        } else if report.metadata?.attempts ?? 1 > 1, let metadata = report.metadata, metadata.tries > 1 {
            line += ", \(metadata.tries) attempts"
            guard let record = metadata.retryHistory else { return }
            line += " (\(record.outcomes.joined(separator: ", ")))"
            if record.waited > .zero { line += ", waited \(record.waited.shortText)" }
        }
    }

    private func addURL(to line: inout [UInt8]) {
        if let scheme = request.scheme, let authority = request.authority {
            add(scheme, authority, request.path, to: &line)
        } else if let target = askedTarget, let scheme = target.scheme, let authority = target.authority {
            add(scheme, authority, target.path, to: &line)
        } else if let asked {
            line += shared.redaction.applied(toURL: asked)
        } else {
            line += request.path.map { shared.redaction.applied(toPath: $0, of: request.authority) } ?? "/"
        }
    }

    private func add(_ scheme: String, _ authority: String, _ path: String?, to line: inout [UInt8]) {
        line += scheme
        line += "://"
        // Most URLs hold nothing to search for, and to see that takes less time than a copy of the redaction.
        line += Self.mayHoldSecret(authority) ? shared.redaction.applied(toAuthority: authority) : authority
        let path = path ?? "/"
        let needsSearch =
            Self.mayHoldSecret(path) || SecretPath.mayHoldSecret(path) || SecretPath.addressedHost(of: authority) != nil
        line += needsSearch ? shared.redaction.applied(toPath: path, of: authority) : path
    }

    private static func mayHoldSecret(_ part: String) -> Bool {
        part.mayHoldSecretPart || TokenSearch.mayHoldToken(part)
    }

    /// The parts of the URL of a relative request that was neither redirected nor has a fragment, as most are not.
    private var askedTarget: Target? {
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
        var lines = shared.redaction.applied(to: fields, secretFields: log.secretFields).map {
            "\(prefix)\($0.name): \($0.value)"
        }
        if log.detail.bodyLimit > 0, body.count > 0 {
            lines += content(of: body, fields: fields).split(whereSeparator: \.isNewline).map { prefix + $0 }
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
        case .json, .form: shared.redaction.applied(to: content, mediaType: mediaType)
        case .text, .markup: shared.redaction == .none ? content : nil
        case .binary, .multipart, .unknown: nil
        }
    }
}

extension [UInt8] {
    /// Appends a text; a string that is put together from others takes longer.
    fileprivate static func += (line: inout Self, text: String) {
        // The pointer does not escape.
        let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { unsafe line.append(contentsOf: $0) }
        if isDone == nil { line.append(contentsOf: text.utf8) }
    }
}

extension String {
    /// The text with control characters as escapes, so that a value can neither start a line nor control a terminal.
    fileprivate var withoutControls: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        return unicodeScalars.map { $0.isControl ? $0.escaped(asASCII: true) : String($0) }.joined()
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
