import HTTPTypes

extension CallReport: CustomStringConvertible {
    /// The report as one line, as in `GET https://a.example/feed 200 in 31.2 ms, 5120 bytes in 35.0 ms, from network`.
    ///
    /// A report without a URL names the route and the origin.
    public var description: String { line(numbered: attempt.map { "attempt \($0)" }) }

    /// The line; `number` tells which attempt it is, or nil to name the attempts of the call.
    func line(numbered number: String?) -> String {
        let (text, isPlain) = LineText.made { write(to: &$0, number) }
        return isPlain ? text : text.withoutControls
    }

    private func write(to line: inout LineText, _ number: String?) {
        line += methodText
        line += " "
        if let askedURL {
            askedURL.write(to: &line)
            line += " "
        } else if let place {
            line += (place, " ")
        }
        if hasHead {
            line += Int64(statusCode ?? 0)
            if let timeToHead { line += (" in ", timeToHead) }
            addBody(to: &line)
            addFacts(to: &line)
            addNumber(number, to: &line)
        } else {
            line += outcome.name
            if let duration { line += (" after ", duration) }
            if let number { line += (", ", number) }
        }
        if case .failed(let name) = outcome { line += (": ", errorText ?? name) }
    }

    /// Whether the response is what the exchange ended with, and not the failure of a layer that refused it.
    private var hasHead: Bool {
        switch outcome {
        case .failed, .cancelled: timeToHead != nil && statusCode != nil
        case .finished, .abandoned: statusCode != nil
        }
    }

    private var place: String? {
        guard let routeName else { return origin?.description }
        return routeName + (origin.map { " of \($0)" } ?? "")
    }

    private func addBody(to line: inout LineText) {
        guard let duration else { return }
        switch outcome {
        case .finished where bytesReceived == 0: return
        case .finished: line += ", "
        case .abandoned where bytesReceived == 0:
            line += ", body not read"
            return
        default: line += (", body ", outcome.name + " after ")
        }
        line += bytesReceived
        line += (" bytes in ", duration)
    }

    private func addFacts(to line: inout LineText) {
        if let source { line += (source == .revalidated ? ", " : ", from ", source.description) }
        if let last = redirections.last { line += (", redirected to ", last.to) }
        if pacingWait > .zero { line += (", paced for ", pacingWait) }
        if let retryRefusal { line += (", not sent again: ", retryRefusal) }
        // A cache stores hardly any response to an unsafe method, so its reason would only lengthen each such line.
        if let detail = knownCache?.detail, method?.isSafe ?? true { line += (", ", detail) }
    }

    private func addNumber(_ number: String?, to line: inout LineText) {
        let count = max((attemptCount ?? 1) &- redirections.count, retries &+ 1)
        if let number {
            line += (", ", number)
        } else if count > 1 {
            line += ", \(count) attempts"
            let ended = attempts.dropLast().filter { $0.outcome != nil && $0.reason != .redirection }
            if !ended.isEmpty { line += " (\(ended.compactMap(\.outcome).joined(separator: ", ")))" }
            let wait = attempts.reduce(.zero) { ($0 + $1.wait.bounded).bounded }
            if wait > .zero { line += (", waited ", wait) }
        }
    }

    fileprivate var methodText: String { methodName ?? "Request" }
}

extension CallReport.Outcome {
    /// The name of the outcome, without that of an error.
    package var name: String {
        switch self {
        case .finished: "finished"
        case .failed: "failed"
        case .cancelled: "cancelled"
        case .abandoned: "abandoned"
        }
    }
}

extension CallReport {
    /// Tells the story of the exchange in at most fifteen lines of plain words.
    ///
    /// - Returns: A line for the outcome, and one for each attempt, wait, redirection and fact that matters.
    public func explain() -> String {
        var lines = [summary]
        if let network { lines.append("The network was \(network.words).") }
        lines += Self.shortened(attempts.count > 1 ? attempts.enumerated().map { $1.words(at: $0 + 1) } : [], to: 4)
        lines += Self.shortened(
            redirections.map { "\($0.statusCode) redirected from \($0.from) to \($0.method) \($0.to)." }, to: 3)
        // Of an attempt, nobody knows what its call does next.
        if scope == .call, isError || retries > 0 || retryRefusal != nil { lines.append(explainRetrying()) }
        if pacingWait > .zero {
            lines.append("pacing held it back for \(pacingWait.shortText), since the server had asked for a pause.")
        }
        if cache != nil || source == .cache || isCoalesced { lines.append(explainCaching()) }
        if let timings { lines.append(timings.words) }
        if bytesSent > 0 || bytesReceived > 0 { lines.append(bodies) }
        if !layers.isEmpty {
            let times = layers.sorted { $0.own > $1.own }.prefix(5).map { "\($0.name) \($0.own.shortText)" }
            lines.append("Most time until the head: \(times.joined(separator: ", ")).")
        }
        return lines.prefix(15).map(\.withoutControls).joined(separator: "\n")
    }

    /// Says in a sentence why the response came from a store, or why it did not, and whether it was stored.
    ///
    /// - Returns: The reason, with the section of the RFC where the cache names it.
    public func explainCaching() -> String {
        if isCoalesced { return "It got the response to an identical request of another caller." }
        guard let cache else {
            return source == .cache ? "It was answered from a store." : "No cache of this client has handled it."
        }
        let detail = cache.detail.map { ": \($0)" } ?? ""
        guard let reason = cache.forwardReason else {
            guard cache.isHit else { return "The cache \(cache.name) refused it\(detail).".withoutControls }
            let rest = cache.timeToLive.map { $0 > .zero ? ", fresh for \($0.shortText) more" : ", stale" } ?? ""
            return "The cache \(cache.name) answered it\(rest)\(detail).".withoutControls
        }
        let cause = Self.forwardWords[reason] ?? reason
        let stored = cache.isStored == true ? ", and stored the response" : ""
        return "The cache \(cache.name) asked the server, since \(cause)\(stored)\(detail).".withoutControls
    }

    /// Says in a sentence why the request was sent again, or why it was not.
    ///
    /// - Returns: The reason, in the words of the layer that has decided.
    public func explainRetrying() -> String {
        let times = retries > 0 ? "It was sent again \(retries == 1 ? "once" : "\(retries) times")" : ""
        let last = decisions.last { $0.kind == .givesUp && $0.layer == "retrying" }
        if let reason = retryRefusal ?? last?.words {
            return (times.isEmpty ? "It was not sent again: \(reason)." : "\(times), and then no more: \(reason).")
                .withoutControls
        }
        guard times.isEmpty else { return times + "." }
        return isError
            ? "It was not sent again: no layer takes the failure for one that passes." : "It needed no retry."
    }

    private static let forwardWords = [
        "uri-miss": "nothing was stored for the URL", "vary-miss": "what is stored answers other fields",
        "miss": "nothing that matches was stored", "stale": "the stored response was stale",
        "request": "the request did not accept the stored response", "partial": "only a part was stored",
        "method": "the method has to reach the server", "bypass": "it does not handle such requests",
    ]

    private var summary: String {
        let place = url ?? origin?.description ?? ""
        let route = routeName.map { " (route “\($0)”)" } ?? ""
        let name = attempt.map { "Attempt \($0): " } ?? ""
        let answer = "was answered" + (statusCode.map { " with \($0)" } ?? "")
        let end =
            switch outcome {
            case .finished: answer
            case .abandoned: "\(answer), and the rest of its body was dropped"
            case .cancelled: "was cancelled"
            case .failed where timeToHead == nil: "failed"
            case .failed: "\(answer), but its body failed"
            }
        let time = duration.map { " after \($0.shortText)" } ?? ""
        let subject = [methodText, place].filter { !$0.isEmpty }.joined(separator: " ")
        guard case .failed(let error) = outcome else { return "\(name)\(subject)\(route) \(end)\(time)." }
        return "\(name)\(subject)\(route) \(end)\(time): \(errorText ?? error)"
    }

    private var bodies: String {
        let length = codedLength.map { ", \($0) as sent" } ?? ""
        let coded = codings.isEmpty ? "" : " (\(codings.joined(separator: ", "))\(length))"
        return "\(bytesSent) bytes were sent, and \(bytesReceived) bytes of the response read\(coded)."
    }

    private static func shortened(_ lines: [String], to limit: Int) -> [String] {
        guard lines.count > limit else { return lines }
        return lines.prefix(limit - 1) + ["… and \(lines.count - limit + 1) more."]
    }
}

extension CallReport.Attempt {
    fileprivate func words(at number: Int) -> String {
        let cause = reason == .first ? "" : " (\(reason)\(wait > .zero ? ", after a wait of \(wait.shortText)" : ""))"
        let place = origin.map { " to \($0)" } ?? ""
        let moment = start.map { " at \($0.shortText)" } ?? ""
        return "Attempt \(number)\(cause)\(place)\(moment): \(outcome ?? "outcome not known")."
    }
}

extension TransferTimings {
    fileprivate var words: String {
        let parts: [(String, Duration?)] = [
            // Most exchanges wait for less than can be told from no wait.
            ("a place in the pool", queued.flatMap { $0 < .milliseconds(1) ? nil : $0 }),
            ("name lookup", nameLookup), ("connection", connect), ("TLS", handshake), ("first byte", firstByte),
            ("last byte", total),
        ]
        let times = parts.compactMap { name, time in time.map { "\(name) after \($0.shortText)" } }
        let connection = isConnectionReused.map { $0 ? "a used connection" : "a new connection" } ?? "a connection"
        let version = protocolVersion.map { " with \($0)" } ?? ""
        return "The last exchange, over \(connection)\(version): \(times.joined(separator: ", "))."
    }
}

extension NetworkState {
    fileprivate var words: String {
        guard isReachable else { return "not reachable" }
        let words = [kind?.rawValue, isExpensive ? "expensive" : nil, isConstrained ? "constrained" : nil]
        let text = words.compactMap(\.self).joined(separator: ", ")
        return text.isEmpty ? "reachable" : text
    }
}

/// A text that is put together from others in one place, since each of them would take longer to append to a string.
@safe struct LineText: ~Copyable {
    private let room: UnsafeMutableRawBufferPointer
    /// The bytes of all texts, also behind the room: all is then written again with more room.
    private var count = 0

    /// Makes a text, and tells whether it has only printable ASCII characters.
    static func made(_ write: (inout LineText) -> Void) -> (text: String, isPlain: Bool) {
        // Most lines are shorter.
        var (size, count, isPlain) = (240, 0, false)
        while true {
            // The memory is written before it is read, and no pointer to it escapes.
            let text = unsafe String(unsafeUninitializedCapacity: size) { room in
                var line = unsafe LineText(room: UnsafeMutableRawBufferPointer(room))
                write(&line)
                count = line.count
                guard count <= size else { return 0 }
                // Without an early exit, many bytes are compared at a time.
                let bytes = unsafe UnsafeMutableBufferPointer(rebasing: room[..<count])
                isPlain = unsafe bytes.reduce(0 as UInt8) { $0 | ($1 &- 0x20 > 0x5E ? 1 : 0) } == 0
                return count
            }
            if count <= size { return (text, isPlain) }
            size = count
        }
    }

    private mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        if let text = bytes.baseAddress, unsafe count &+ bytes.count <= room.count {
            unsafe room.baseAddress?.advanced(by: count).copyMemory(from: text, byteCount: bytes.count)
        }
        count &+= bytes.count
    }

    private mutating func append(_ byte: UInt8) {
        if unsafe count < room.count { unsafe room[count] = byte }
        count += 1
    }

    /// Appends a text.
    static func += (line: inout Self, text: String) {
        // The pointer does not escape.
        let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { unsafe line.append($0) }
        if isDone == nil { for byte in text.utf8 { line.append(byte) } }
    }

    fileprivate static func += (line: inout Self, texts: (String, String)) {
        line += texts.0
        line += texts.1
    }

    fileprivate static func += (line: inout Self, part: (String, Duration)) {
        let (number, unit) = part.1.shortParts
        line += part.0
        line += number
        line += unit
    }

    /// Appends a number, which takes less time than its text.
    fileprivate static func += (line: inout Self, number: Int64) {
        if number < 0 { line += "-" }
        if number.magnitude > 9 { line += Int64(number.magnitude / 10) }
        line.append(UInt8(0x30 + number.magnitude % 10))
    }
}

extension String {
    /// The text with control characters as escapes, so that a value can neither start a line nor control a terminal.
    package var withoutControls: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        return unicodeScalars.map { $0.isControl ? $0.escaped(asASCII: true) : String($0) }.joined()
    }
}

extension Unicode.Scalar {
    /// Whether a terminal may take the scalar for a command, or show nothing for it.
    package var isControl: Bool {
        // The category of a scalar is looked up in a table, which takes longer than all else that is done with a text.
        guard !isASCII else { return value < 0x20 || value == 0x7F }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
