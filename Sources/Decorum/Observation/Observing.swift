import Foundation
import HTTPTypes
import Synchronization

extension Connection {
    /// Reports each call, or each attempt, to an observer: once, when it has ended, or while it goes on.
    ///
    /// An exchange has ended when the body of its response has been read, has failed or has been dropped, or when no
    /// response arrived. Each exchange causes exactly one event; a cancelled exchange is marked as such and does not
    /// count as an error.
    ///
    /// ```swift
    /// let statistics = ExchangeStatistics()
    /// let connection = transport.observing(statistics, as: .attempt)
    ///     .followingRedirects()
    ///     .observing(statistics)
    /// ```
    ///
    /// An ``ExchangeObserver`` gets that event alone. Another ``CallObserver`` also gets the events before it: the start, the
    /// decisions of the layers further in, the head, and the progress of streamed bodies.
    ///
    /// ```swift
    /// let waits = Waits { print($0) }
    /// let connection = transport.retrying().observing(waits)
    /// ```
    ///
    /// Requests and responses pass unchanged. Bodies are observed while their reader reads them; a body in memory is
    /// not touched. Observe calls as the outermost layer, and attempts inside of all layers that send a request again.
    /// Between the two layers, the options of the request carry the identifier of the call and the count of its
    /// attempts, so that attempts are numbered over retries and redirections. If no layer observes calls, each attempt
    /// is the first attempt of a separate call.
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
        if getsAllEvents { return try await follow(request) }
        let call = request.options.callContext ?? CallContext(id: generator.next(), within: nil)
        request.options.callContext = call
        let attempt = scope == .attempt ? request.options.beginAttempt(of: call) : nil
        let sent = countingSent(&request)
        let reporter = ObservingReporter(
            subject: subject(of: request, in: call, attempt: attempt, sent: sent), observer: observer)
        return try await base.send(request, under: ExchangeWatch(clock: clock, reporter: reporter))
    }

    @inline(__always) func subject(
        of request: borrowing Request, in call: CallContext, attempt: Int?, sent: SentBytes
    ) -> ExchangeSubject {
        ExchangeSubject(
            scope: scope, call: call, attempt: attempt, method: request.head.method,
            routeName: request.options.routeName, origin: try? Origin(request.head), sent: sent)
    }

    private func countingSent(_ request: inout Request) -> SentBytes {
        if let length = request.body.length { return .known(length) }
        let tally = BodyTally()
        request.body = tally.counting(request.body)
        return .counted(tally)
    }
}

/// The number of bytes of content: known before they are sent, or counted while they are sent.
enum SentBytes: Sendable {
    case known(Int64)
    case counted(BodyTally)

    var count: Int64 {
        switch self {
        case .known(let count): count
        case .counted(let tally): tally.reading.count
        }
    }
}

/// The parts of an event that are known before the request is sent.
struct ExchangeSubject: Sendable {
    let scope: ExchangeEvent.Scope
    let call: CallContext
    let attempt: Int?
    let method: HTTPRequest.Method
    let routeName: String?
    let origin: Origin?
    let sent: SentBytes

    func event(_ report: ExchangeReport) -> ExchangeEvent {
        var event = ExchangeEvent(
            scope: scope, callID: call.id, attempt: attempt, method: method, routeName: routeName,
            origin: origin ?? call.origin ?? report.answer?.askedOrigin,
            outcome: ExchangeEvent.Outcome(report.ending),
            timeToHead: report.timeToHead, duration: report.duration, bytesSent: sent.count,
            bytesReceived: report.received.count, attempts: attempts(in: report),
            retries: scope == .call ? call.retries : 0, source: report.answer?.source)
        event.statusCode = report.statusCode
        return event
    }

    private func attempts(in report: ExchangeReport) -> Int? {
        guard scope == .call else { return 1 }
        if call.attempts > 0 { return call.attempts }
        guard let metadata = report.answer else { return nil }
        // The caller whose request another call shares counts it.
        return metadata.source == .cache || metadata.isCoalesced ? 0 : metadata.attempts
    }
}

extension ResponseMetadata {
    /// The origin of the first request of a chain of redirections.
    fileprivate var askedOrigin: Origin? {
        (redirects.first?.from ?? url).flatMap { try? Origin($0) }
    }
}

extension ExchangeReport {
    /// The code of the response, also of one that a layer further in did not accept.
    fileprivate var statusCode: Int? {
        guard case .failed(let error as StatusError) = ending else { return head?.code }
        return error.response.head.code
    }

    /// The metadata of the response, also of one that a layer further in did not accept.
    fileprivate var answer: ResponseMetadata? {
        guard case .failed(let error as StatusError) = ending else { return metadata }
        return error.response.metadata
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

    func start() {
        observer.started(exchange)
    }

    /// Tells the observer of a decision, unless the exchange has ended and a layer continues in the background.
    func note(_ decision: CallDecision) {
        guard !hasEnded.load(ordering: .acquiring) else { return }
        observer.decided(decision, in: exchange)
    }

    /// Observes a body while it is sent, if it is streamed.
    func observe(_ body: inout Body) -> SentBytes {
        guard !body.isEmpty, body.bytes == nil, body.file == nil else { return .known(body.length ?? 0) }
        body = tally.counting(body) { [self] count in
            let received = received.withLock { $0 }
            progress(sent: count, received: received.count, of: received.length)
        }
        return lengthToSend.map { .known($0) } ?? .counted(tally)
    }

    fileprivate func arrive(_ report: ExchangeReport) {
        guard let head = report.head else { return }
        received.withLock { $0.length = report.length }
        observer.headArrived(
            ObservedHead(
                statusCode: head.status.code, timeToHead: report.duration, source: report.metadata?.source,
                length: report.length),
            in: exchange)
    }

    fileprivate func progress(_ report: ExchangeReport) {
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

    fileprivate func end() { hasEnded.store(true, ordering: .releasing) }
}

/// Tells an observer the end of an exchange, and the other events of its response if the exchange is followed.
private struct ObservingReporter: ExchangeReporter {
    let subject: ExchangeSubject
    let observer: any CallObserver
    var exchange: FollowedExchange?

    var isLive: Bool { exchange != nil }

    func headArrived(_ report: ExchangeReport) { exchange?.arrive(report) }

    func progressed(_ report: ExchangeReport) { exchange?.progress(report) }

    func report(_ report: ExchangeReport) {
        exchange?.end()
        observer.ended(subject.event(report))
    }
}

extension ObservingConnection {
    /// Sends a request whose observer gets all events.
    fileprivate func follow(_ request: consuming Request) async throws -> Response {
        let outer = request.options.callContext
        let id = outer?.id ?? generator.next()
        var call = outer ?? CallContext(id: id, within: nil)
        let attempt = scope == .attempt ? request.options.beginAttempt(of: call) : nil
        let exchange = FollowedExchange(
            observer,
            ObservedExchange(
                scope: scope, callID: id, attempt: attempt, method: request.head.method,
                routeName: request.options.routeName?.cut(toBytes: 128), origin: try? Origin(request.head)),
            sending: request.body)
        if scope == .call { call = CallContext(id: id, within: outer) { exchange.note($0) } }
        request.options.callContext = call
        let sent = exchange.observe(&request.body)
        let subject = subject(of: request, in: call, attempt: attempt, sent: sent)
        exchange.start()
        let reporter = ObservingReporter(subject: subject, observer: observer, exchange: exchange)
        return try await base.send(request, under: ExchangeWatch(clock: clock, reporter: reporter))
    }
}
