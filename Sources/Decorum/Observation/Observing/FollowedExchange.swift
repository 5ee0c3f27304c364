import HTTPTypes
import Synchronization

/// An exchange whose observer gets all of its events.
final class FollowedExchange: Sendable {
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

    fileprivate func end(with event: ExchangeEvent) {
        hasEnded.store(true, ordering: .releasing)
        observer.ended(event)
    }
}

/// Tells the observer of a followed exchange the events of its response.
struct FollowingReporter: ExchangeReporter {
    let exchange: FollowedExchange
    let subject: ExchangeSubject

    static var isLive: Bool { true }

    func headArrived(_ report: ExchangeReport) { exchange.arrive(report) }

    func progressed(_ report: ExchangeReport) { exchange.progress(report) }

    func report(_ report: ExchangeReport) { exchange.end(with: subject.event(report)) }
}

extension ObservingConnection {
    /// Sends a request whose observer gets all events.
    func follow(_ request: consuming Request) async throws -> Response {
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
        let reporter = FollowingReporter(exchange: exchange, subject: subject)
        return try await base.send(request, under: ExchangeWatch(clock: clock, reporter: reporter))
    }
}
