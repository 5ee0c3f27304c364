import Foundation
import HTTPTypes
import Synchronization

/// A report on one exchange, from its request to the end of its response's body.
struct ExchangeReport: Sendable {
    enum Ending: Sendable {
        case finished
        case failed(any Error)
        case abandoned
    }

    var head: HTTPResponse?
    var metadata: ResponseMetadata?
    var ending: Ending
    /// The time until the head of the response had arrived; nil without a head.
    var timeToHead: Duration?
    /// The time until the end of the body, or until the failure.
    var duration: Duration
    var received = BodyTally.Reading()
    /// The length of the response's body; nil if it is not known.
    var length: Int64?
}

/// Gets exactly one report on an exchange, when the body ends or the request fails.
protocol ExchangeReporter: Sendable {
    /// Whether the reporter gets the other events too.
    var isLive: Bool { get }

    /// The head has arrived; the report's duration is the time until then.
    func headArrived(_ report: ExchangeReport)

    /// A chunk of the response's body is about to be given to the reader.
    func progressed(_ report: ExchangeReport)

    func report(_ report: ExchangeReport)
}

extension ExchangeReporter {
    var isLive: Bool { false }
    func headArrived(_ report: ExchangeReport) {}
    func progressed(_ report: ExchangeReport) {}
}

/// Observes one exchange and reports its result.
struct ExchangeWatch<Reporter: ExchangeReporter>: Sendable {
    fileprivate let reporter: Reporter
    fileprivate let previewLimit: Int
    private let clock: any DatedClock
    private let start: ContinuousClock.Instant

    init(clock: any DatedClock, previewLimit: Int = 0, reporter: Reporter) {
        self.reporter = reporter
        self.previewLimit = previewLimit
        self.clock = clock
        start = clock.now
    }

    fileprivate var elapsed: Duration { start.duration(to: clock.now) }

    fileprivate func fail(with error: any Error) {
        reporter.report(ExchangeReport(ending: .failed(error), duration: elapsed))
    }

    /// Observes the body of a response; a body that is in memory, in a file or empty is not wrapped.
    fileprivate func watch(_ response: inout Response) {
        let timeToHead = elapsed
        var report = ExchangeReport(
            head: response.head, metadata: response.metadata, ending: .finished, timeToHead: timeToHead,
            duration: timeToHead)
        if reporter.isLive {
            report.length = response.body.length
            reporter.headArrived(report)
        }

        if let bytes = response.body.bytes {
            report.received.count = Int64(bytes.count)
            if previewLimit > 0 { report.received.preview = bytes.prefix(previewLimit) }
            reporter.report(report)
        } else if response.body.file != nil || response.body.isEmpty {
            report.received.count = response.body.length ?? 0
            reporter.report(report)
        } else {
            response.body = response.body.observed(by: BodyWatch(watch: self, report: report))
        }
    }
}

/// Observes a body that is streamed to its reader.
private final class BodyWatch<Reporter: ExchangeReporter>: BodyObserver {
    private let watch: ExchangeWatch<Reporter>
    /// The report so far; nil after the end.
    private let report: Mutex<ExchangeReport?>

    init(watch: ExchangeWatch<Reporter>, report: ExchangeReport) {
        self.watch = watch
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
        watch.reporter.report(report)
    }
}

extension Connection {
    /// Sends a request and reports its result.
    @inline(__always) func send(
        _ request: consuming Request, under watch: ExchangeWatch<some ExchangeReporter>
    ) async throws -> Response {
        var response: Response
        do {
            response = try await send(request)
        } catch {
            watch.fail(with: error)
            throw error
        }
        watch.watch(&response)
        return response
    }
}

/// The number of bytes of a body that have been read, and the first few of them.
final class BodyTally: Sendable {
    struct Reading: Sendable {
        var count: Int64 = 0
        var preview = Data()

        mutating func add(_ chunk: Data, previewLimit: Int) {
            count += Int64(chunk.count)
            let room = previewLimit - preview.count
            if room > 0 { preview.append(chunk.prefix(room)) }
        }
    }

    private let limit: Int
    private let state = Mutex(Reading())

    init(previewLimit: Int = 0) {
        limit = max(0, previewLimit)
    }

    /// The bytes that were read since the body was last opened.
    var reading: Reading { state.withLock { $0 } }

    /// Counts a body while it is sent, and reports the bytes so far after each chunk; the count restarts when the body is
    /// opened again.
    func counting(_ body: Body, _ report: (@Sendable (_ count: Int64) -> Void)? = nil) -> Body {
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

    var reading: BodyTally.Reading {
        switch self {
        case .known(let reading): reading
        case .tallied(let tally): tally.reading
        }
    }
}
