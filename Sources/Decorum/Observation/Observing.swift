import Foundation
import HTTPTypes
import Synchronization

extension Connection {
    /// Reports each call, or each attempt, to an observer: once, when it has ended, or while it goes on.
    ///
    /// An exchange has ended when the body of its response has been read, has failed or has been dropped, or when no
    /// response arrived. Each exchange causes exactly one ``ExchangeEvent``.
    ///
    /// ```swift
    /// let statistics = ExchangeStatistics()
    /// let connection = transport.observing(statistics, as: .attempt)
    ///     .followingRedirects()
    ///     .observing(statistics)
    /// ```
    ///
    /// ``ExchangeStatistics`` gets that event alone. A ``CallObserver`` of your own also gets the events before it: the start,
    /// the decisions of the layers further in, the head, and the progress of streamed bodies.
    ///
    /// Requests and responses pass unchanged, and bodies are observed while their reader reads them. Observe calls as the
    /// outermost layer, and attempts inside of all layers that send a request again. If no layer observes calls, each
    /// attempt is the first attempt of a separate call.
    ///
    /// - Parameters:
    ///   - observer: Gets the events; it must not block.
    ///   - scope: Whether a request that passes this layer is a call or an attempt.
    ///   - clock: The clock that measures durations.
    ///   - generator: The source of the random identifiers of calls.
    /// - Returns: A connection that is observed.
    public func observing(
        _ observer: some CallObserver,
        as scope: ExchangeEvent.Scope = .call,
        clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) -> some Connection {
        ObservingConnection(base: self, observer: observer, scope: scope, clock: clock, generator: generator)
    }

    /// Reports each call, or each attempt, to a closure once, when it has ended.
    ///
    /// ```swift
    /// let connection = transport.observing { event in
    ///     analytics.count(event.routeName, isError: event.isError)
    /// }
    /// ```
    ///
    /// Place it like ``observing(_:as:clock:generator:)``.
    ///
    /// - Parameters:
    ///   - scope: Whether a request that passes this layer is a call or an attempt.
    ///   - clock: The clock that measures durations.
    ///   - generator: The source of the random identifiers of calls.
    ///   - record: Gets the events, from many tasks at a time; it must not block.
    /// - Returns: A connection that is observed.
    public func observing(
        as scope: ExchangeEvent.Scope = .call,
        clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator(),
        _ record: @escaping @Sendable (_ event: ExchangeEvent) -> Void
    ) -> some Connection {
        observing(ClosureObserver(record), as: scope, clock: clock, generator: generator)
    }
}

struct ObservingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    // Not generic: otherwise the type of the reporter would have to be looked up for each request.
    let observer: any CallObserver
    let scope: ExchangeEvent.Scope
    let clock: any DatedClock
    let generator: any RandomGenerator
    private let getsAllEvents: Bool

    init(
        base: Base, observer: any CallObserver, scope: ExchangeEvent.Scope, clock: any DatedClock,
        generator: any RandomGenerator
    ) {
        self.base = base
        self.observer = observer
        self.scope = scope
        self.clock = clock
        // An identifier only has to be unique, and each number of the system is a call of the kernel.
        self.generator = generator is SystemGenerator ? SeededGenerator(seed: generator.next()) : generator
        getsAllEvents = observer.getsAllEvents
    }

    var layer: Layer {
        Layer(
            name: "observing", role: .observation, settings: [Layer.Setting("as", scope.rawValue)],
            facts: Layer.facts(of: clock).union(scope == .attempt ? [.observesAttempts] : []))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        let reporter = begin(&request)
        return try await base.send(request, under: ExchangeWatch(clock: clock, reporter: reporter))
    }

    private func begin(_ request: inout Request) -> ObservingReporter {
        let outer = request.options.callContext
        var call = outer ?? CallContext(id: generator.next(), within: nil)
        let attempt = scope == .attempt ? request.options.beginAttempt(of: call) : nil
        let exchange = ObservedExchange(
            scope: scope, callID: call.id, attempt: attempt, method: request.head.method,
            routeName: request.options.routeName?.cut(toBytes: 128), origin: try? Origin(request.head),
            network: scope == .attempt ? request.options.networkState : nil)
        guard getsAllEvents else {
            request.options.callContext = call
            if let length = request.body.length {
                return ObservingReporter(
                    observer: observer, exchange: exchange, call: call, sent: .known(.init(count: length)))
            }
            let tally = BodyTally()
            request.body = tally.counting(request.body)
            return ObservingReporter(observer: observer, exchange: exchange, call: call, sent: .tallied(tally))
        }
        let followed = FollowedExchange(observer, exchange, sending: request.body)
        if scope == .call { call = CallContext(id: call.id, within: outer) { followed.note($0) } }
        request.options.callContext = call
        let sent = followed.observe(&request.body)
        observer.started(exchange)
        return ObservingReporter(observer: observer, exchange: exchange, call: call, sent: sent, followed: followed)
    }
}

/// Tells an observer the end of an exchange, and the other events of its response if the exchange is followed.
private struct ObservingReporter: ExchangeReporter {
    let observer: any CallObserver
    let exchange: ObservedExchange
    let call: CallContext
    let sent: SentContent
    var followed: FollowedExchange?

    var isLive: Bool { followed != nil }

    func headArrived(_ report: ExchangeReport) { followed?.arrive(report) }

    func progressed(_ report: ExchangeReport) { followed?.progress(report) }

    func report(_ report: ExchangeReport) {
        followed?.end()
        observer.ended(event(report))
    }

    private func event(_ report: ExchangeReport) -> ExchangeEvent {
        var (statusCode, answer, outcome) = (report.head?.code, report.metadata, ExchangeEvent.Outcome.finished)
        switch report.ending {
        case .finished: break
        case .abandoned: outcome = .abandoned
        case .failed(let error):
            // A response that a layer further in did not accept counts too.
            if let refused = (error as? StatusError)?.response {
                (statusCode, answer) = (refused.head.code, refused.metadata)
            }
            outcome = error is CancellationError ? .cancelled : .failed(name: Redaction.name(of: error))
        }
        var exchange = exchange
        exchange.origin = exchange.origin ?? call.origin ?? answer?.askedOrigin
        return ExchangeEvent(
            exchange: exchange, statusCode: statusCode, outcome: outcome, timeToHead: report.timeToHead,
            duration: report.duration, bytesSent: sent.reading.count, bytesReceived: report.received.count,
            attempts: attempts(answer), retries: exchange.scope == .call ? call.retries : 0, source: answer?.source)
    }

    private func attempts(_ answer: ResponseMetadata?) -> Int? {
        guard exchange.scope == .call else { return 1 }
        if call.attempts > 0 { return call.attempts }
        // The caller whose request another call shares counts it.
        return answer.map { $0.source == .cache || $0.isCoalesced ? 0 : $0.attempts }
    }
}

extension ResponseMetadata {
    /// The origin of the first request of a chain of redirections.
    fileprivate var askedOrigin: Origin? {
        (redirects.first?.from ?? url).flatMap { try? Origin($0) }
    }
}

/// An exchange whose observer gets all of its events.
private final class FollowedExchange: Sendable {
    private let observer: any CallObserver
    private let exchange: ObservedExchange
    private let lengthToSend: Int64?
    private let tally = BodyTally()
    private let received = Mutex<(count: Int64, length: Int64?)>((0, nil))
    private let hasEnded = Atomic(false)

    init(_ observer: any CallObserver, _ exchange: ObservedExchange, sending body: Body) {
        self.observer = observer
        self.exchange = exchange
        lengthToSend = body.length
    }

    /// Tells the observer of a decision, unless the exchange has ended and a layer continues in the background.
    func note(_ decision: CallDecision) {
        guard !hasEnded.load(ordering: .acquiring) else { return }
        observer.decided(decision, in: exchange)
    }

    /// Observes a body while it is sent, if it is streamed.
    func observe(_ body: inout Body) -> SentContent {
        guard !body.isEmpty, body.bytes == nil, body.file == nil else { return .known(.init(count: body.length ?? 0)) }
        body = tally.counting(body) { [self] count in
            let received = received.withLock { $0 }
            progress(sent: count, received: received.count, of: received.length)
        }
        return lengthToSend.map { .known(.init(count: $0)) } ?? .tallied(tally)
    }

    func arrive(_ report: ExchangeReport) {
        guard let head = report.head else { return }
        received.withLock { $0.length = report.length }
        observer.headArrived(
            ObservedHead(
                statusCode: head.status.code, timeToHead: report.duration, source: report.metadata?.source,
                length: report.length),
            in: exchange)
    }

    func progress(_ report: ExchangeReport) {
        received.withLock { $0.count = report.received.count }
        progress(sent: tally.reading.count, received: report.received.count, of: report.length)
    }

    private func progress(sent: Int64, received: Int64, of length: Int64?) {
        guard !hasEnded.load(ordering: .acquiring) else { return }
        observer.progressed(
            ExchangeProgress(
                bytesSent: sent, lengthToSend: lengthToSend, bytesReceived: received, lengthToReceive: length),
            in: exchange)
    }

    func end() { hasEnded.store(true, ordering: .releasing) }
}
