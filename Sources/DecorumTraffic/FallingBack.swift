public import Decorum
public import HTTPTypes

extension Connection {
    /// Sends a request to another place, or answers it, if the server cannot.
    ///
    /// By default, that is after an error which says that no server was reached (`ReachabilityError`), such as a
    /// refused connection, a timeout or an open circuit, and after a status from 500 to 599. The fallbacks are tried in order:
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
    /// The time for a fallback is what is left of `deadline`. Once that has passed, the caller gets the
    /// outcome of the first server, so limit the time of an attempt too. If a fallback fails, the caller gets its outcome.
    /// `fallback` and the history of the call name it.
    ///
    /// Place it outside of the retries and of the cache, so that all attempts come first and nothing that it answers is
    /// stored; and inside of `resolving(against:)`, since a relative request has no origin that could be replaced.
    ///
    /// - Parameters:
    ///   - fallbacks: The other places, in order.
    ///   - isNeeded: Whether an outcome needs a fallback; it is asked after each fallback too.
    ///   - clock: The clock of the deadline.
    /// - Returns: A connection that gives the first outcome that needs no fallback, or the last one.
    public func fallingBack(
        to fallbacks: Fallback...,
        when isNeeded: @escaping @Sendable (_ outcome: Fallback.Outcome) -> Bool = Fallback.isNeeded(after:),
        clock: any DatedClock = SystemClock()
    ) -> some Connection {
        FallingBackConnection(base: self, fallbacks: fallbacks, isNeeded: isNeeded, clock: clock)
    }
}

/// A place that answers a request in place of its server.
public struct Fallback: Sendable, CustomStringConvertible {
    /// The head of a response, or the error without one.
    public typealias Outcome = Result<HTTPResponse, any Error>

    enum Place: Sendable {
        case origin(Origin, through: AnyConnection?)
        case connection(AnyConnection)
        case response(@Sendable (Outcome) async throws -> Response)
    }

    let place: Place

    /// Another server, which gets the same path.
    ///
    /// A request that is for this server already does not fall back to it.
    ///
    /// - Parameters:
    ///   - origin: The server.
    ///   - connection: The connection to it; nil for the one that falls back.
    /// - Returns: The fallback.
    public static func origin(_ origin: Origin, through connection: (any Connection)? = nil) -> Fallback {
        Fallback(place: .origin(origin, through: connection.map { AnyConnection($0) }))
    }

    /// Another connection, which gets the request with its URL, such as one that goes another way to the server.
    ///
    /// - Parameter connection: The connection.
    /// - Returns: The fallback.
    public static func connection(_ connection: any Connection) -> Fallback {
        Fallback(place: .connection(AnyConnection(connection)))
    }

    /// A response that no server gave; its body must be readable as often as requests fall back to it.
    ///
    /// - Parameter response: The response.
    /// - Returns: The fallback.
    public static func response(_ response: Response) -> Fallback {
        .response { _ in response }
    }

    /// A response that no server gave, computed from the outcome.
    ///
    /// - Parameter response: Computes the response, or throws in its stead.
    /// - Returns: The fallback.
    public static func response(
        _ response: @escaping @Sendable (_ outcome: Outcome) async throws -> Response
    ) -> Fallback {
        Fallback(place: .response(response))
    }

    /// Whether an outcome says that no server was reached, or that the server has failed, with a status from 500 to 599.
    ///
    /// - Parameter outcome: The head of a response, or the error without one.
    /// - Returns: Whether a fallback is needed.
    public static func isNeeded(after outcome: Outcome) -> Bool {
        switch outcome {
        case .success(let response): response.status.kind == .serverError
        case .failure(let error as StatusError): error.status.kind == .serverError
        case .failure(let error): (error as? any ReachabilityError)?.meansServerNotReached == true
        }
    }

    /// The origin, or the kind of the fallback.
    public var description: String {
        switch place {
        case .origin(let origin, _): "\(origin)"
        case .connection: "another connection"
        case .response: "a response"
        }
    }

    /// The connection that is no part of the stack that falls back.
    fileprivate var branch: Layer.Branch? {
        switch place {
        case .origin(_, let connection?), .connection(let connection):
            Layer.Branch("fallback to \(self)", connection.layers)
        case .origin, .response: nil
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

struct FallingBackConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let fallbacks: [Fallback]
    let isNeeded: @Sendable (Fallback.Outcome) -> Bool
    let clock: any DatedClock
    private let secretFields: Set<HTTPField.Name>

    init(
        base: Base, fallbacks: [Fallback], isNeeded: @escaping @Sendable (Fallback.Outcome) -> Bool,
        clock: any DatedClock
    ) {
        (self.base, self.fallbacks, self.isNeeded, self.clock) = (base, fallbacks, isNeeded, clock)
        secretFields = base.secretFields
    }

    var layer: Layer {
        var facts: Set<Layer.Fact> = fallbacks.isEmpty ? [] : [.fallsBack]
        var sends = 1
        for fallback in fallbacks {
            switch fallback.place {
            case .origin(_, through: nil):
                facts.insert(.changesSignedParts)
                sends += 1
            case .origin, .connection: facts.formUnion([.answers, .changesSignedParts])
            case .response: facts.formUnion([.answers, .inventsAnswers, .changesResponse])
            }
        }
        return Layer(
            name: "fallingBack", role: Layer.Role("fallback"), settings: [.init("to", fallbacks)],
            facts: facts.union(Layer.facts(of: clock)),
            sending: .init(1...sends, branches: fallbacks.compactMap(\.branch)),
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
            guard let next = request.next(to: fallback, dropping: secretFields) else { continue }
            let words = head.words
            guard request.options.timeLeft(at: clock.now) != .zero else {
                note(.givesUp, "does not fall back to \(fallback) after \(words): the deadline has passed", of: request)
                break
            }
            name = "\(fallback), after \(words)"
            note(.fallsBack, "falls back to \(fallback) after \(words)", of: request)
            attempts += outcome.attempts
            if case .success(let response) = consume outcome {
                try await response.body.discard(until: request.options.deadline, on: clock)
            }
            try Task.checkCancellation()
            do {
                outcome = .success(try await answer(of: fallback, to: next, after: head))
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

    private func answer(
        of fallback: Fallback, to request: Request, after outcome: Fallback.Outcome
    ) async throws -> Response {
        switch fallback.place {
        case .origin(_, let connection?), .connection(let connection): return try await connection.send(request)
        case .origin: return try await base.send(request)
        case .response(let make):
            var response = try await make(outcome)
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
        if RetryPolicy.idempotentMethods.contains(head.method) { return !outcome.isCancellation }
        guard case .failure(let error) = outcome else { return false }
        return (error as? any TemporaryError)?.meansNotProcessed == true
    }

    /// The request for a fallback, without what is meant for the first server alone; nil if it cannot be sent there.
    func next(to fallback: Fallback, dropping secretFields: Set<HTTPField.Name>) -> Request? {
        var next = self
        next.options = options.travelling(.call)
        switch fallback.place {
        case .response: return next
        case .connection: next.dropSecrets(secretFields)
        case .origin(let origin, _):
            guard let source = try? Origin(head), source != origin else { return nil }
            next.dropSecrets(secretFields)
            next.head.headerFields.restrictReferer(from: source, to: origin)
            (next.head.scheme, next.head.authority) = (origin.scheme, origin.authority)
        }
        return next
    }

    private mutating func dropSecrets(_ secretFields: Set<HTTPField.Name>) {
        head.headerFields.drop(secretFields.union(options.secretFields))
        guard let path = head.path, let mark = path.firstIndex(of: "?") else { return }
        let redaction = Redaction.standard.covering(queryItems: options.secretQueryItems)
        let items = path[mark...].dropFirst().split(separator: "&", omittingEmptySubsequences: false)
        let kept = items.filter { redaction.applied(toURL: "?\($0)") == "?\($0)" }
        guard kept.count < items.count else { return }
        head.path = path[..<mark] + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&"))
    }
}

extension Fallback.Outcome {
    fileprivate var isCancellation: Bool {
        if case .failure(let error) = self { error is CancellationError } else { false }
    }

    /// The outcome in a word, without secrets.
    fileprivate var words: String {
        switch self {
        case .success(let response): "\(response.status.code)"
        case .failure(let error as TransportError): error.shortDescription
        case .failure(let error): "\(type(of: error))"
        }
    }
}

extension Result<Response, any Error> {
    /// The number of answers that it took.
    fileprivate var attempts: Int {
        switch self {
        case .success(let response): response.metadata.attempts
        case .failure(let error): (error as? TransportError)?.attempts ?? 1
        }
    }
}

extension CallDecision.Kind {
    /// The layer sends the request to another place, or answers it, after a failure.
    public static let fallsBack = CallDecision.Kind("falls back")
}
