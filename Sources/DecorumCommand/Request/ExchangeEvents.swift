#if CommandLine
import Decorum
import DecorumTransfers
import Synchronization

/// What happens during the exchanges of the command: their number, their progress, their reports, and the heads that were sent.
final class ExchangeEvents: CallObserver {
    private struct Exchange {
        var progress = Progress()
        let start: ContinuousClock.Instant
        var sent: HTTPRequest?
        var report: CallReport?
    }

    private let exchanges = Mutex<[UInt64: Exchange]>([:])
    /// The numbers of exchanges that have ended; who holds it may print, so that exchanges at the same time do not mix.
    let counts = Mutex((ended: 0, failed: 0))
    let clock: any DatedClock
    let redaction: Redaction

    init(clock: any DatedClock, redaction: Redaction) { (self.clock, self.redaction) = (clock, redaction) }

    func begin(_ call: UInt64) {
        let exchange = Exchange(start: clock.now)
        exchanges.withLock { $0[call] = exchange }
    }

    /// Returns the report of a call that has ended, and keeps nothing of it.
    func end(_ call: UInt64) -> CallReport? { exchanges.withLock { $0.removeValue(forKey: call)?.report } }

    var line: String {
        let ((ended, failed), underWay) = (counts.withLock { $0 }, exchanges.withLock { $0.count })
        return "\(ended) done, \(failed) of them failed, \(underWay) under way"
    }

    /// The head that was sent last for a call, as far as it may be shown.
    func sent(of call: UInt64) -> HTTPRequest? { exchanges.withLock { $0[call]?.sent } }

    func progress(of call: CallContext) -> Progress {
        guard let exchange = exchanges.withLock({ $0[call.id] }) else { return Progress() }
        var progress = exchange.progress
        let last = call.history.last
        progress.rate = Double(progress.bytes) / max(exchange.start.duration(to: clock.now) / .seconds(1), 1e-3)
        progress.attempts = call.attempts
        progress.waitsFor = last?.kind == .waits ? last?.words : nil
        return progress
    }

    func headArrived(_ head: ObservedHead, in call: ObservedExchange) {
        exchanges.withLock { $0[call.callID]?.progress.length = head.length }
    }

    func progressed(_ now: ExchangeProgress, in call: ObservedExchange) {
        let isReceived = now.bytesReceived > 0
        exchanges.withLock {
            $0[call.callID]?.progress.bytes = isReceived ? now.bytesReceived : now.bytesSent
            $0[call.callID]?.progress.length = isReceived ? now.lengthToReceive : now.lengthToSend
        }
    }

    func ended(_ report: CallReport) {
        if let call = report.callID { exchanges.withLock { $0[call]?.report = report } }
    }

    /// A layer next to the transport, which keeps the head that is sent.
    var keepingHeads: StandardStack.Addition {
        .inside(of: .wireLog) { [self] base in
            base.intercepting("keepingHeads", facts: []) { [self] request, base in
                if let call = request.options.callContext?.id {
                    let head = redaction.applied(to: request.head, secretFields: request.options.secretFields)
                    exchanges.withLock { $0[call]?.sent = head }
                }
                return try await base.send(request)
            }
        }
    }
}
#endif
