import Foundation
package import HTTPTypes

extension ResponseMetadata {
    /// The report of the call that the response answers, made of what is known when it is read.
    ///
    /// ``Response/report`` has the status too.
    public var report: CallReport { .answered(with: nil, self) }
}

extension Response {
    /// The report of the call that the response answers, made of what is known when it is read.
    ///
    /// ```swift
    /// print(response.report.explain())
    /// ```
    public var report: CallReport { .answered(with: code, metadata) }
}

extension CallReport {
    /// Creates the report of a call that has failed, made of what its error knows.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - call: The context that was put into the request, which knows the decisions of all layers; nil without one.
    public init(of error: any Error, in call: CallContext? = nil) {
        self.init()
        let answer = (error as? StatusError)?.response.metadata
        let shared = SharedRedaction.standard.covering(queryItems: answer?.secretQueryItems ?? [])
        add(call ?? answer?.call, redacting: shared)
        add(error, redacting: shared)
        if answer == nil {
            // The request may have declared an item secret that other errors do not know.
            func withoutQuery(_ url: String) -> String {
                String(Substring(url.utf8.prefix { $0 != UInt8(ascii: "?") }))
            }
            url = url.map(withoutQuery)
            for place in redirections.indices {
                redirections[place].from = withoutQuery(redirections[place].from)
                redirections[place].to = withoutQuery(redirections[place].to)
            }
        }
        end()
    }

    fileprivate static func answered(with statusCode: Int?, _ metadata: borrowing ResponseMetadata) -> CallReport {
        var report = CallReport(statusCode: statusCode)
        report.add(metadata.call, redacting: .standard)
        let items = metadata.values.isEmpty ? [] : metadata.secretQueryItems
        report.add(metadata, redacting: .standard.covering(queryItems: items))
        report.end()
        return report
    }

    /// Adds the end of an exchange that was answered; without a redaction, it gets no URL, decision and text.
    package mutating func add(
        _ exchange: borrowing ExchangeReport, of response: borrowing Response, to request: HTTPRequest?,
        in call: CallContext?, redacting shared: SharedRedaction?
    ) {
        timeToHead = exchange.timeToHead
        duration = exchange.duration
        bytesReceived = exchange.received.count
        statusCode = response.code
        if let shared, let request { askedURL = .request(request.pseudoHeaderFields, shared) }
        add(call, redacting: shared)
        add(response.metadata, redacting: shared)
        switch exchange.ending {
        case .finished: break
        case .abandoned: outcome = .abandoned
        case .failed(let error): add(error, redacting: shared)
        }
        end()
    }

    /// Adds the end of an exchange that no response has answered.
    package mutating func add(
        _ error: any Error, after duration: Duration, to request: HTTPRequest?, in call: CallContext?,
        redacting shared: SharedRedaction?
    ) {
        self.duration = duration
        if let shared, let request { askedURL = .request(request.pseudoHeaderFields, shared) }
        add(call, redacting: shared)
        add(error, redacting: shared)
        end()
    }

    /// Adds what the context of the call knows.
    fileprivate mutating func add(_ call: CallContext?, redacting shared: SharedRedaction?) {
        guard let call else { return }
        callID = call.id
        call.withFacts { origin, measured, history in
            if askedOrigin == nil { askedOrigin = origin }
            guard scope == .call else { return }
            if !measured.isEmpty { layers = LayerTime.list(of: measured) }
            if shared != nil { decisions = history }
        }
        guard scope == .call else { return }
        let attempts = call.attempts
        if attempts > 0 {
            attemptCount = attempts
        } else if call.hasJoined {
            (attemptCount, isCoalesced) = (0, true)
        }
        retries = call.retries
    }

    /// Adds the facts of a response.
    private mutating func add(_ metadata: ResponseMetadata, redacting shared: SharedRedaction?) {
        source = metadata.source
        if methodName == nil { methodName = metadata.methodName }
        if routeName == nil { routeName = metadata.routeName?.cut(toBytes: 128) }
        if let status = metadata.sharedCacheStatus { knownCache = KnownCache(shared: status, redaction: shared) }
        if shared == nil ? askedOrigin == nil : askedURL?.isRelative ?? true,
            let answered = AskedURL(answeredBy: metadata, redacting: shared ?? .standard)
        {
            if shared == nil { origin = answered.origin } else { askedURL = answered }
        }
        isCoalesced = false
        if !metadata.values.isEmpty { addValues(of: metadata, redacting: shared) }
        if attemptCount == nil { attemptCount = source == .cache || isCoalesced ? 0 : metadata.attempts }
    }

    private mutating func addValues(of metadata: ResponseMetadata, redacting shared: SharedRedaction?) {
        isCoalesced = metadata.isCoalesced
        redirections = metadata.redirects.map { Hop($0, redacting: shared) }
        (pacingWait, retryRefusal) = (metadata.pacingWait, metadata.retryRefusal)
        timings = metadata.timings
        codings = metadata.decodedContentCodings
        codedLength = metadata.contentLengths?.coded
        if bytesReceived == 0 { bytesReceived = metadata.contentLengths?.decoded ?? 0 }
        if let history = metadata.retryHistory { add(history, redacting: shared) }
    }

    /// Adds the facts of an error with which the exchange has ended.
    private mutating func add(_ error: any Error, redacting shared: SharedRedaction?) {
        guard !(error is CancellationError) else {
            outcome = .cancelled
            return
        }
        outcome = .failed(name: Redaction.name(of: error))
        if let shared {
            // The report has the URL.
            errorText = shared.redaction.description(of: (error as? TransportError)?.withoutURL ?? error)
            if askedURL?.isRelative ?? true, let url = (error as? any ResolvedRequestError)?.resolvedURL {
                askedURL = .text(shared.shown(url))
            }
        }
        // A response that a layer further in did not accept counts too.
        if let error = error as? StatusError {
            statusCode = error.response.status.code
            if methodName == nil { methodName = error.method.rawValue }
            add(error.response.metadata, redacting: shared)
        } else if let error = error as? TransportError {
            (origin, routeName) = (origin ?? error.origin, routeName ?? error.routeName?.cut(toBytes: 128))
            method = method ?? error.method
            duration = duration ?? error.totalElapsed ?? error.elapsed
            retryRefusal = error.retryRefusal
            if callID == nil { attemptCount = error.attempts }
            if let history = error.retryHistory { add(history, redacting: shared) }
        } else if let error = error as? any RedirectionError {
            method = method ?? error.method
            routeName = routeName ?? error.routeName?.cut(toBytes: 128)
            redirections = error.redirections.map { Hop($0, redacting: shared) }
            guard let first = error.redirections.first?.from else { return }
            if let shared, askedURL?.isRelative ?? true { askedURL = .text(shared.shown(first.absoluteString)) }
            if askedOrigin == nil { origin = try? Origin(first) }
        }
    }

    private mutating func add(_ history: RetryHistory, redacting shared: SharedRedaction?) {
        if callID == nil { retries = history.retries }
        if shared != nil, decisions.isEmpty { decisions = history.decisions }
    }

    /// Makes the attempts, once all facts are there.
    fileprivate mutating func end() {
        guard scope == .call else {
            (attemptCount, retries) = (1, 0)
            return
        }
        // A single decision tells no more than that the request was sent.
        guard decisions.count > 1 || decisions.first?.outcome != nil else { return }
        let ending: String? =
            switch outcome {
            case .failed(let name): name
            case .cancelled: "cancelled"
            case .finished, .abandoned: statusCode.map { "\($0)" }
            }
        // Where not all decisions were kept, the last attempt that they tell is not the one that ended the call.
        let isCut =
            decisions.count >= RetryHistory.limit
            && decisions.count { $0.kind == .waits && $0.outcome != nil } < retries
        attempts = Attempt.list(of: decisions, endingWith: isCut ? nil : ending, after: duration)
    }
}

extension CallReport.Hop {
    fileprivate init(_ redirection: Redirection, redacting shared: SharedRedaction?) {
        func text(_ url: URL) -> String {
            shared.map { $0.shown(url.absoluteString) } ?? (try? Origin(url))?.description ?? "?"
        }
        self.init(
            redirection.status.code, redirection.method, from: text(redirection.from), to: text(redirection.to))
    }
}

extension CallReport.Cache {
    init(_ status: CacheStatus, detail: String?) {
        self.init(status.cache)
        (isHit, isStored, timeToLive) = (status.isHit, status.isStored, status.timeToLive)
        (forwardReason, self.detail) = (status.forwardReason?.description, detail)
    }
}

extension CallReport.LayerTime {
    /// The own times of layers, from the times with all further in; requests at the same time may take more than their layer.
    static func list(of measured: [MeasuredLayer]) -> [Self] {
        measured.indices.map { index in
            let layer = measured[index]
            let inner = index + 1 < measured.count ? measured[index + 1].total : .zero
            return Self(layer.name, own: max(.zero, layer.total - inner), total: layer.total, sends: layer.sends)
        }
    }
}
