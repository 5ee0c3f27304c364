public import Decorum
public import HTTPTypes

extension Connection {
    /// Sends a request to another place, or answers it, if the server cannot.
    ///
    /// By default, that is after an error which says that no server was reached (`ReachabilityError`), such as a
    /// refused connection, a timeout or an open circuit, and after a status from 500 to 599. The fallbacks are tried in order,
    /// and the caller gets the first outcome that needs no fallback, or the last one:
    ///
    /// ```swift
    /// let connection = try SystemConnection()
    ///     .retrying()
    ///     .fallingBack(to: .origin(Origin("https://eu.example.com")), .response(Response(status: .ok, body: "[]")))
    ///     .limitingTime()
    /// ```
    ///
    /// A request falls back only if it may be sent twice: its method is idempotent, or the error says that no server has
    /// carried it out; and its body can be read again. An `Idempotency-Key` does not count, since another server does not know
    /// it. Cancellation never falls back.
    ///
    /// A fallback carries no credential of the first server. Another origin or connection gets neither `Host` nor `Origin`, and
    /// no secret field and no secret item of the query: those that `standard` recognizes, such as
    /// `Authorization` and `Cookie`, and those that a layer or the options of the request declare. Its path and its content are
    /// sent as they are. The credentials for the other server belong into a layer further in, such as
    /// `authenticating(with:for:)`, which is bound to its origin.
    ///
    /// The time for a fallback is what is left of `deadline`. Once that has passed, the caller gets the outcome of the first
    /// server, so limit the time of an attempt too. `fallback` and the history of the call tell which one has answered.
    ///
    /// Place it outside of the retries and of the cache, so that all attempts come first and nothing that it answers is
    /// stored; and inside of `resolving(against:)`, since a relative request has no origin that could be replaced.
    ///
    /// - Parameters:
    ///   - fallbacks: The other places, in order.
    ///   - isNeeded: Whether an outcome needs a fallback; it is asked after each fallback too.
    ///   - clock: The clock of the deadline.
    /// - Returns: A connection that falls back.
    public func fallingBack(
        to fallbacks: Fallback...,
        when isNeeded: @escaping @Sendable (_ outcome: Fallback.Outcome) -> Bool = Fallback.isNeeded(after:),
        clock: any DatedClock = SystemClock()
    ) -> some Connection {
        FallingBackConnection(base: self, fallbacks: fallbacks, isNeeded: isNeeded, clock: clock)
    }
}

/// A place that answers a request in place of its server.
public enum Fallback: Sendable, CustomStringConvertible {
    /// Another server, which gets the same path over the connection that falls back, unless the request is for it already.
    case origin(Origin)
    /// Another connection, which gets the request with its URL, such as one that goes another way to the server.
    case connection(any Connection)
    /// A response that no server gave; its body must be readable as often as requests fall back to it.
    case response(Response)

    /// The head of a response, or the error without one.
    public typealias Outcome = Result<HTTPResponse, any Error>

    /// Whether an outcome says that no server was reached, or that the server has failed, with a status from 500 to 599.
    public static func isNeeded(after outcome: Outcome) -> Bool {
        switch outcome {
        case .success(let response): response.status.kind == .serverError
        case .failure(let error as StatusError): error.status.kind == .serverError
        case .failure(let error): (error as? any ReachabilityError)?.meansServerNotReached == true
        }
    }

    /// The origin, or the kind of the fallback.
    public var description: String {
        switch self {
        case .origin(let origin): "\(origin)"
        case .connection: "another connection"
        case .response: "a response"
        }
    }
}

extension ResponseMetadata {
    /// The fallback that gave the response and the outcome that it replaces, as in `a response, after 503`; nil for a response
    /// of the first server.
    public var fallback: String? {
        get { self[FallbackKey.self] }
        set { self[FallbackKey.self] = newValue }
    }
}

private enum FallbackKey: ResponseMetadataKey { static let defaultValue: String? = nil }

extension ResponseMetadata.Source {
    /// A response that `fallingBack(to:when:clock:)` has in place of a server's.
    public static let fallback = ResponseMetadata.Source("fallback")
}

extension CallDecision.Kind {
    /// The layer sends the request to another place, or answers it, after a failure.
    public static let fallsBack = CallDecision.Kind("falls back")
}

struct FallingBackConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let fallbacks: [Fallback]
    let isNeeded: @Sendable (Fallback.Outcome) -> Bool
    let clock: any DatedClock

    var layer: Layer {
        var facts = Layer.facts(of: clock)
        var (sends, branches) = (1, [Layer.Branch]())
        for fallback in fallbacks {
            facts.insert(.fallsBack)
            switch fallback {
            case .origin:
                facts.insert(.changesSignedParts)
                sends += 1
            case .connection(let connection):
                facts.formUnion([.answers, .changesSignedParts])
                branches.append(Layer.Branch("fallback to \(fallback)", connection.layers))
            case .response: facts.formUnion([.answers, .inventsAnswers, .changesResponse])
            }
        }
        return Layer(
            name: "fallingBack", role: Layer.Role("fallback"), settings: [.init("to", fallbacks)], facts: facts,
            sending: .init(1...sends, branches: branches),
            time: .init(reading: .atMost(Body.discardTime * fallbacks.count)))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        let outcome: Result<Response, any Error>
        do {
            let response = try await base.send(copy request)
            guard isNeeded(.success(response.head)) else { return response }
            outcome = .success(consume response)
        } catch {
            outcome = .failure(error)
        }
        return try await fallBack(request, after: consume outcome)
    }

    /// Sends a request to one fallback after the other, for as long as the outcome needs it.
    ///
    /// A response that is not returned is consumed here: its transfer must end before the next one begins.
    private func fallBack(
        _ request: Request, after first: consuming Result<Response, any Error>
    ) async throws -> Response {
        var outcome = consume first
        var (attempts, name) = (0, String?.none)
        for fallback in fallbacks {
            let head = outcome.map(\.head)
            guard request.mayFallBack(after: head), isNeeded(head) else { break }
            guard let next = request.next(to: fallback, dropping: base.secretFields) else { continue }
            let words = "\(fallback) after \(head.words)"
            guard request.options.timeLeft(at: clock.now) != .zero else {
                note(.givesUp, "does not fall back to \(words): the deadline has passed", of: request)
                break
            }
            name = "\(fallback), after \(head.words)"
            note(.fallsBack, "falls back to \(words)", of: request)
            switch consume outcome {
            case .success(let response):
                attempts += response.metadata.attempts
                try await response.body.discard(until: request.options.deadline, on: clock)
            case .failure(let error): attempts += (error as? TransportError)?.attempts ?? 1
            }
            try Task.checkCancellation()
            do {
                outcome = .success(try await send(next, to: fallback))
            } catch {
                outcome = .failure(error)
            }
        }
        guard let name else { return try outcome.get() }
        do {
            var response = try outcome.get()
            response.metadata.attempts += attempts
            response.metadata.fallback = name
            return response
        } catch var error as TransportError {
            error.attempts += attempts
            throw error
        }
    }

    private func send(_ request: Request, to fallback: Fallback) async throws -> Response {
        switch fallback {
        case .origin: return try await base.send(request)
        case .connection(let connection): return try await connection.send(request)
        case .response(var response):
            response.metadata.source = response.metadata.source ?? .fallback
            response.metadata.completeURL(from: request)
            response.metadata.routeName = response.metadata.routeName ?? request.options.routeName
            // The answers of the servers are counted alone.
            response.metadata.attempts -= 1
            return response
        }
    }

    private func note(_ kind: CallDecision.Kind, _ words: @autoclosure () -> String, of request: borrowing Request) {
        request.options.callContext?.note(CallDecision(kind, by: "fallingBack", words()))
    }
}

extension Request {
    /// Whether the request may be sent to another place after an outcome.
    func mayFallBack(after outcome: Fallback.Outcome) -> Bool {
        guard body.replay > .once || body.isEmpty else { return false }
        let error: (any Error)? = if case .failure(let error) = outcome { error } else { nil }
        guard !RetryPolicy.idempotentMethods.contains(head.method) else { return !(error is CancellationError) }
        return (error as? any TemporaryError)?.meansNotProcessed == true
    }

    /// The request for a fallback, without what is meant for the first server alone; nil if it cannot be sent there.
    func next(to fallback: Fallback, dropping secretFields: Set<HTTPField.Name>) -> Request? {
        var next = self
        next.options = options.travelling(.call)
        if case .response = fallback { return next }
        next.head.headerFields.drop(secretFields.union(options.secretFields))
        if let path = head.path, let mark = path.firstIndex(of: "?") {
            let redaction = Redaction.standard.covering(queryItems: options.secretQueryItems)
            let items = path[mark...].dropFirst().split(separator: "&", omittingEmptySubsequences: false)
            let kept = items.filter { redaction.applied(toURL: "?\($0)") == "?\($0)" }
            if kept.count < items.count {
                next.head.path = path[..<mark] + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&"))
            }
        }
        guard case .origin(let origin) = fallback else { return next }
        guard let source = try? Origin(head), source != origin else { return nil }
        next.head.headerFields.restrictReferer(from: source, to: origin)
        (next.head.scheme, next.head.authority) = (origin.scheme, origin.authority)
        return next
    }
}

extension Fallback.Outcome {
    /// The outcome in a word, without secrets.
    fileprivate var words: String {
        switch self {
        case .success(let response): "\(response.status.code)"
        case .failure(let error as TransportError): error.shortDescription
        case .failure(let error): "\(type(of: error))"
        }
    }
}
