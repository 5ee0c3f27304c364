import Foundation
import HTTPTypes
import Synchronization

extension Connection {
    /// Reports each call, or each attempt, to an observer: once, when it has ended, or while it goes on.
    ///
    /// An exchange has ended when the body of its response has been read, has failed or has been dropped, or when no
    /// response arrived. Each exchange causes exactly one ``CallReport``.
    ///
    /// ```swift
    /// let statistics = ExchangeStatistics()
    /// let connection = transport.observing(statistics, as: .attempt)
    ///     .followingRedirects()
    ///     .observing(statistics)
    /// ```
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
        as scope: CallReport.Scope = .call,
        clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) -> some Connection {
        ObservingConnection(
            base: self, place: ObservedPlace(observer, as: scope, clock: clock, generator: generator))
    }

    /// Reports each call, or each attempt, to a closure once, when it has ended.
    ///
    /// ```swift
    /// let connection = transport.observing { report in
    ///     analytics.count(report.routeName, isError: report.isError)
    /// }
    /// ```
    ///
    /// Place it like ``observing(_:as:clock:generator:)``.
    ///
    /// - Parameters:
    ///   - scope: Whether a request that passes this layer is a call or an attempt.
    ///   - clock: The clock that measures durations.
    ///   - generator: The source of the random identifiers of calls.
    ///   - record: Gets the reports, from many tasks at a time; it must not block.
    /// - Returns: A connection that is observed.
    public func observing(
        as scope: CallReport.Scope = .call,
        clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator(),
        _ record: @escaping @Sendable (_ report: CallReport) -> Void
    ) -> some Connection {
        observing(ClosureObserver(record), as: scope, clock: clock, generator: generator)
    }
}

struct ObservingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    fileprivate let place: ObservedPlace

    var layer: Layer {
        Layer(
            name: "observing", role: .observation, settings: [Layer.Setting("as", place.scope.rawValue)],
            facts: Layer.facts(of: place.clock).union(place.scope == .attempt ? [.observesAttempts] : []))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        let watch = place.begin(&request)
        return try await base.send(request, under: watch)
    }
}

/// The observer at one place of a stack.
///
/// A class, since a copy of its parts takes longer than most of what is done with them. It is not generic: otherwise the type of
/// the reporter would have to be looked up for each request.
private final class ObservedPlace: Sendable {
    let observer: any CallObserver
    let scope: CallReport.Scope
    let clock: any DatedClock
    private let generator: any RandomGenerator
    private let getsAllEvents: Bool

    init(
        _ observer: any CallObserver, as scope: CallReport.Scope, clock: any DatedClock, generator: any RandomGenerator
    ) {
        self.observer = observer
        self.scope = scope
        self.clock = clock
        // An identifier only has to be unique, and each number of the system is a call of the kernel.
        self.generator = generator is SystemGenerator ? SeededGenerator(seed: generator.next()) : generator
        getsAllEvents = observer.getsAllEvents
    }

    func begin(_ request: inout Request) -> ExchangeWatch<ObservingReporter> {
        let outer = request.options.callContext
        var call = outer ?? CallContext(id: generator.next())
        let attempt = scope == .attempt ? request.options.beginAttempt(of: call) : nil
        let exchange = ObservedExchange(scope, callID: call.id, attempt: attempt, sending: request)
        var followed: FollowedExchange?
        if getsAllEvents {
            let new = FollowedExchange(observer, exchange, sending: request, at: clock.date)
            followed = new
            if scope == .call {
                call = CallContext(id: call.id, keepingHistory: 100, within: outer, timedBy: clock) { new.note($0) }
            }
        }
        request.options.callContext = call
        let sent = followed?.observe(&request.body) ?? SentContent(of: &request.body)
        observer.started(exchange)
        return ExchangeWatch(
            clock: clock,
            reporter: ObservingReporter(place: self, exchange: exchange, call: call, sent: sent, followed: followed))
    }
}

/// Tells an observer the end of an exchange, and the other events of its response if the exchange is followed.
private struct ObservingReporter: ExchangeReporter {
    let place: ObservedPlace
    let exchange: ObservedExchange
    let call: CallContext
    let sent: SentContent
    let followed: FollowedExchange?

    var isLive: Bool { followed != nil }
    var answered: CallContext? { call }

    func headArrived(_ report: ExchangeReport, of response: Response) { followed?.arrive(report, response) }

    func progressed(_ report: ExchangeReport) { followed?.progress(report) }

    func report(_ report: ExchangeReport, of response: Response) {
        end(response) { $0.add(report, of: response, to: followed?.head, in: call, redacting: $1) }
    }

    func report(_ error: any Error, after duration: Duration) {
        end((error as? StatusError)?.response) {
            $0.add(error, after: duration, to: followed?.head, in: call, redacting: $1)
        }
    }

    private func end(_ response: @autoclosure () -> Response?, adding: (inout CallReport, SharedRedaction?) -> Void) {
        followed?.end()
        var report = CallReport(exchange, sending: sent.count, at: followed?.startedAt)
        adding(&report, followed?.redaction(of: response()))
        place.observer.ended(report)
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
    private let secretQueryItems: Set<String>
    let head: HTTPRequest
    let startedAt: Date

    init(
        _ observer: any CallObserver, _ exchange: ObservedExchange, sending request: borrowing Request, at date: Date
    ) {
        (startedAt, self.observer, self.exchange, lengthToSend) = (date, observer, exchange, request.body.length)
        (secretQueryItems, head) = (request.options.secretQueryItems, request.head.withoutFields)
    }

    func redaction(of response: Response?) -> SharedRedaction {
        .standard.covering(queryItems: secretQueryItems.union(response?.metadata.secretQueryItems ?? []))
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

    func arrive(_ report: ExchangeReport, _ response: borrowing Response) {
        received.withLock { $0.length = report.length }
        observer.headArrived(
            ObservedHead(
                statusCode: response.code, timeToHead: report.timeToHead, source: response.metadata.source,
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
