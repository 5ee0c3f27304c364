package import Foundation
import Synchronization

/// A report on one exchange that was answered, from its request to the end of its response's body.
package struct ExchangeReport: Sendable {
    package enum Ending: Sendable {
        case finished
        case failed(any Error)
        case abandoned
    }

    package var ending: Ending
    /// The time until the head of the response had arrived.
    package var timeToHead: Duration
    /// The time until the end of the body.
    package var duration: Duration
    package var received = BodyTally.Reading()
    /// The length of the response's body; nil if it is not known.
    package var length: Int64?
}

/// Gets exactly one report on an exchange, when the body ends or the request fails.
package protocol ExchangeReporter: Sendable {
    /// Whether the reporter gets the other events too.
    var isLive: Bool { get }
    /// The context that the response gets; nil to leave it as it is.
    var answered: CallContext? { get }

    /// The head has arrived; the report's duration is the time until then.
    func headArrived(_ report: ExchangeReport, of response: Response)

    /// A chunk of the response's body is about to be given to the reader.
    func progressed(_ report: ExchangeReport)

    /// The body of the response has ended; the response may be without it.
    func report(_ report: ExchangeReport, of response: Response)

    /// No response has arrived.
    func report(_ error: any Error, after duration: Duration)
}

extension ExchangeReporter {
    package var isLive: Bool { false }
    package var answered: CallContext? { nil }
    package func headArrived(_ report: ExchangeReport, of response: Response) {}
    package func progressed(_ report: ExchangeReport) {}
}

/// Observes one exchange and reports its result.
///
/// A class, since a copy of its parts takes longer than most of what is done with them.
package final class ExchangeWatch<Reporter: ExchangeReporter>: Sendable {
    fileprivate let reporter: Reporter
    fileprivate let previewLimit: Int
    private let clock: any DatedClock
    private let start: ContinuousClock.Instant

    package init(clock: any DatedClock, previewLimit: Int = 0, reporter: consuming Reporter) {
        (self.reporter, self.previewLimit, self.clock, start) = (reporter, previewLimit, clock, clock.now)
    }

    fileprivate var elapsed: Duration { start.duration(to: clock.now) }

    /// Reports an error in place of a response, and returns it.
    fileprivate func failed(with error: any Error) -> any Error {
        reporter.report(error, after: elapsed)
        return error
    }

    /// Observes the body of a response; a body that is in memory, in a file or empty is not wrapped.
    fileprivate func watch(_ response: inout Response) {
        if let call = reporter.answered { response.metadata.call = call }
        let timeToHead = elapsed
        var report = ExchangeReport(ending: .finished, timeToHead: timeToHead, duration: timeToHead)
        if reporter.isLive {
            report.length = response.body.length
            reporter.headArrived(report, of: response)
        }

        if let bytes = response.body.bytes {
            report.received.count = Int64(bytes.count)
            if previewLimit > 0 { report.received.preview = bytes.prefix(previewLimit) }
            reporter.report(report, of: response)
        } else if response.body.file != nil || response.body.isEmpty {
            report.received.count = response.body.length ?? 0
            reporter.report(report, of: response)
        } else {
            let answer = Response(head: response.head, metadata: response.metadata)
            response.body = response.body.observed(by: BodyWatch(self, answer, report))
        }
    }
}

/// Observes a body that is streamed to its reader.
private final class BodyWatch<Reporter: ExchangeReporter>: BodyObserver {
    private let watch: ExchangeWatch<Reporter>
    private let answer: Response
    /// The report so far; nil after the end.
    private let report: Mutex<ExchangeReport?>

    init(_ watch: ExchangeWatch<Reporter>, _ answer: Response, _ report: ExchangeReport) {
        self.watch = watch
        self.answer = answer
        self.report = Mutex(report)
    }

    func note(_ event: BodyEvent) {
        switch event {
        case .chunk(let chunk):
            report.withLock { $0?.received.add(chunk, previewLimit: watch.previewLimit) }
            if watch.reporter.isLive, let report = report.withLock({ $0 }) { watch.reporter.progressed(report) }
        case .finished: end(.finished)
        case .failed(let error): end(.failed(error))
        case .abandoned: end(.abandoned)
        }
    }

    private func end(_ ending: ExchangeReport.Ending) {
        // A body that can be read again may end again.
        guard var report = report.withLock({ $0.take() }) else { return }
        report.ending = ending
        report.duration = watch.elapsed
        watch.reporter.report(report, of: answer)
    }
}

extension Connection {
    /// Sends a request and reports its result.
    @inline(__always) package func send(
        _ request: consuming Request, under watch: ExchangeWatch<some ExchangeReporter>
    ) async throws -> Response {
        var response: Response
        do { response = try await send(request) } catch { throw watch.failed(with: error) }
        watch.watch(&response)
        return response
    }
}

/// The number of bytes of a body that have been read, and the first few of them.
package final class BodyTally: Sendable {
    package struct Reading: Sendable {
        package var count: Int64 = 0
        package var preview = Data()

        mutating func add(_ chunk: Data, previewLimit: Int) {
            count += Int64(chunk.count)
            let room = previewLimit - preview.count
            if room > 0 { preview.append(chunk.prefix(room)) }
        }
    }

    private let limit: Int
    private let state = Mutex(Reading())

    package init(previewLimit: Int = 0) {
        limit = max(0, previewLimit)
    }

    /// The bytes that were read since the body was last opened.
    package var reading: Reading { state.withLock { $0 } }

    /// Counts a body while it is sent, and reports the bytes so far after each chunk; the count restarts when the body is
    /// opened again.
    package func counting(_ body: Body, _ report: (@Sendable (_ count: Int64) -> Void)? = nil) -> Body {
        let counted = body.observed { event in
            guard case .chunk(let chunk) = event else { return }
            self.state.withLock { $0.add(chunk, previewLimit: self.limit) }
            report?(self.reading.count)
        }
        return Body(trustedLength: body.length, replay: body.replay) { offset in
            self.state.withLock { $0 = Reading(count: offset) }
            return try await counted.open(at: offset)
        }
    }
}

/// The content of a request: known before it is sent, or tallied while it is sent.
enum SentContent: Sendable {
    case known(BodyTally.Reading)
    case tallied(BodyTally)

    /// The content of a body, which is counted while it is sent if its length is not known.
    init(of body: inout Body) {
        if let length = body.length {
            self = .known(.init(count: length))
            return
        }
        let tally = BodyTally()
        body = tally.counting(body)
        self = .tallied(tally)
    }

    var count: Int64 {
        switch self {
        case .known(let reading): reading.count
        case .tallied(let tally): tally.reading.count
        }
    }

    var reading: BodyTally.Reading {
        switch self {
        case .known(let reading): reading
        case .tallied(let tally): tally.reading
        }
    }
}
