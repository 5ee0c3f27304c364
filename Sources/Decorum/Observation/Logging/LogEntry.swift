import Foundation
import HTTPTypes

/// The text of one exchange in a log, which depends only on these values.
struct LogEntry {
    let redaction: Redaction
    let detail: LogDetail
    let secretFields: Set<HTTPField.Name>
    let request: HTTPRequest
    let sent: BodyTally.Reading
    let attempt: Int?
    let retry: RetryNumber?
    let report: ExchangeReport

    var text: String {
        guard detail.showsFields else { return Self.printable(line) }
        var lines = [line]
        lines += message(request.headerFields, body: sent, prefix: "  > ")
        if let head = report.head {
            lines += message(head.headerFields, body: report.received, prefix: "  < ")
        }
        return lines.map(Self.printable).joined(separator: "\n")
    }

    private var line: String {
        var line = ""
        // All parts are appended to one string, since separate strings would be most of the cost of an entry.
        line.reserveCapacity(128)
        line += request.method.rawValue
        line += " "
        appendURL(to: &line)
        guard let head = report.head, let timeToHead = report.timeToHead else {
            let number = retry.map { ", \($0)" } ?? attempt.map { ", attempt \($0)" } ?? ""
            return line + " \(ending) after \(report.duration.shortText)\(number)\(reason)"
        }
        line += " "
        line += String(head.status.code)
        line += " in "
        line += timeToHead.shortText
        let bytes = report.received.count
        switch report.ending {
        case .finished: line += bytes == 0 ? "" : ", \(bytes) bytes in \(report.duration.shortText)"
        case .abandoned where bytes == 0: line += ", body not read"
        default: line += ", body \(ending) after \(bytes) bytes in \(report.duration.shortText)"
        }
        if let source = report.metadata?.source { line += ", from \(source)" }
        if let last = report.metadata?.redirects.last {
            line += ", redirected to \(redaction.applied(toURL: last.to.absoluteString))"
        }
        // A cache stores hardly any response to an unsafe method, so its reason would only lengthen each such line.
        if request.method.isSafe, let detail = report.metadata?.cacheStatus?.detail {
            line += ", "
            line += redaction.applied(toText: detail)
        }
        if let retry {
            line += ", \(retry)"
        } else if let attempt {
            line += ", attempt \(attempt)"
        } else if let metadata = report.metadata, metadata.tries > 1 {
            appendTries(of: metadata, to: &line)
        }
        return line + reason
    }

    private func appendTries(of metadata: ResponseMetadata, to line: inout String) {
        line += ", \(metadata.tries) attempts"
        guard let record = metadata.retryRecord else { return }
        line += " (\(record.outcomes.joined(separator: ", ")))"
        if record.waited > .zero { line += ", waited \(record.waited.shortText)" }
    }

    private func appendURL(to line: inout String) {
        if let scheme = request.scheme, let authority = request.authority {
            line += scheme
            line += "://"
            line += redaction.applied(toAuthority: authority)
        } else if let asked {
            line += redaction.applied(toURL: asked)
            return
        }
        line += request.path.map { redaction.applied(toPath: $0, of: request.authority) } ?? "/"
    }

    /// The URL of a relative request, which a layer further in has resolved.
    private var asked: String? {
        if let metadata = report.metadata { return Self.asked(in: metadata) }
        guard case .failed(let error) = report.ending else { return nil }
        return switch error {
        case let error as TransportError: error.resolvedURL
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
        return ": " + redaction.description(of: (error as? TransportError)?.withoutURL ?? error)
    }

    private func message(_ fields: HTTPFields, body: BodyTally.Reading, prefix: String) -> [String] {
        var lines = redaction.applied(to: fields, secretFields: secretFields).map {
            "\(prefix)\($0.name): \($0.value)"
        }
        if detail.bodyLimit > 0, body.count > 0 {
            lines += content(of: body, fields: fields).split(whereSeparator: \.isNewline).map { prefix + $0 }
        }
        return lines
    }

    private func content(of body: BodyTally.Reading, fields: HTTPFields) -> String {
        let mediaType = fields[.contentType]
        guard !fields.contains(.contentEncoding), !body.preview.isEmpty,
            let shown = shown(body.preview, ContentKind(mediaType: mediaType))
        else { return "(\(body.count) bytes)" }
        let rest = body.count - Int64(body.preview.count)
        return String(decoding: shown, as: UTF8.self) + (rest > 0 ? " (\(rest) more bytes)" : "")
    }

    /// Content with its secrets replaced; nil for a kind in which secrets cannot be found.
    private func shown(_ content: Data, _ kind: ContentKind) -> Data? {
        switch kind {
        case .json: redaction.applied(toJSON: content)
        case .form: redaction.applied(toForm: content)
        case .text, .markup: redaction == .none ? content : nil
        case .binary, .multipart, .unknown: nil
        }
    }

    /// Writes control characters as escapes, so that a value can neither start a line nor control a terminal.
    private static func printable(_ line: String) -> String {
        // Most lines are plain ASCII, and looking up the category of each character is the slowest step.
        if line.allUTF8({ (0x20...0x7E).contains($0) }) { return line }
        guard line.unicodeScalars.contains(where: isControl) else { return line }
        return line.unicodeScalars.map { isControl($0) ? $0.escaped(asASCII: true) : String($0) }.joined()
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
