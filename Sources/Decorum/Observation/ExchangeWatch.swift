import Foundation
import HTTPTypes
import Synchronization

/// Follows one exchange from its request to the end of its response's body, and tells once how it went.
final class ExchangeWatch: Sendable {
    struct Report: Sendable {
        enum Ending: Sendable {
            case finished
            case failed(any Error)
            case abandoned
        }

        var head: HTTPResponse?
        var metadata: ResponseMetadata?
        var ending: Ending
        /// The time until the head of the response had arrived; nil where none did.
        var timeToHead: Duration?
        /// The time until the end of the body, or until the failure.
        var duration: Duration
        var received = BodyTally.Reading()
    }

    private let clock: any DatedClock
    private let start: ContinuousClock.Instant
    private let previewLimit: Int
    private let report: Mutex<(@Sendable (Report) -> Void)?>

    /// Starts to watch.
    ///
    /// The closure is called exactly once, where the body ends or the request fails.
    init(clock: any DatedClock, previewLimit: Int = 0, report: @escaping @Sendable (Report) -> Void) {
        self.clock = clock
        self.previewLimit = previewLimit
        start = clock.now
        self.report = Mutex(report)
    }

    func fail(with error: any Error) {
        end(Report(ending: .failed(error), duration: elapsed))
    }

    /// Watches the body of a response, without wrapping one that is in memory, in a file or empty.
    func watch(_ response: inout Response) {
        let timeToHead = elapsed
        var report = Report(
            head: response.head, metadata: response.metadata, ending: .finished, timeToHead: timeToHead,
            duration: timeToHead)

        if let bytes = response.body.bytes {
            report.received = BodyTally.Reading(count: Int64(bytes.count), preview: bytes.prefix(previewLimit))
            end(report)
        } else if response.body.file != nil || response.body.isEmpty {
            report.received.count = response.body.length ?? 0
            end(report)
        } else {
            watchStream(of: &response, report: report)
        }
    }

    private func watchStream(of response: inout Response, report: Report) {
        let tally = BodyTally(previewLimit: previewLimit)
        response.body = response.body.observed { [self] event in
            var report = report
            switch event {
            case .chunk(let chunk):
                tally.add(chunk)
                return
            case .finished: break
            case .failed(let error): report.ending = .failed(error)
            case .abandoned: report.ending = .abandoned
            }
            report.received = tally.reading
            report.duration = elapsed
            end(report)
        }
    }

    private var elapsed: Duration { start.duration(to: clock.now) }

    private func end(_ outcome: Report) {
        let report = report.withLock { stored in
            defer { stored = nil }
            return stored
        }
        report?(outcome)
    }
}

extension Connection {
    /// Sends a request under a watch.
    func send(_ request: consuming Request, under watch: ExchangeWatch) async throws -> Response {
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
