import Decorum
import HTTPTypes

/// The waits of a replay, which end at the limits of the request as the waits of a transport do.
///
/// It is a class, since an instant has no fixed size, and each asynchronous function that holds one allocates memory for it.
final class PlayedWait: Sendable {
    private let clock: any DatedClock
    /// Nil where the request has no limits; a recorded pause may then be as long as it was.
    private let limits: TransferLimits?
    private let head: HTTPRequest
    private let options: RequestOptions

    /// Creates the waits for the answer to a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - clock: The clock of the cassette, of which the limits are instants.
    /// - Throws: `InvalidRequestError` when the idle timeout is negative.
    init(for request: borrowing Request, on clock: any DatedClock) throws {
        self.clock = clock
        let options = request.options
        let isLimited = options.deadline != nil || options.bodyDeadline != nil || options.idleTimeout != nil
        limits = isLimited ? try TransferLimits(options, idleTimeout: TransferLimits.longestIdleTimeout) : nil
        head = request.head
        self.options = options
    }

    /// Waits for a pause in which nothing arrives.
    ///
    /// - Throws: `TransportError` where a limit is reached first, and `CancellationError`.
    func wait(for pause: Duration, at stage: TransportError.Stage) async throws {
        let now = clock.now
        guard let limit = limits?.next(after: now, at: stage), limit.instant <= now + pause else {
            return try await clock.sleep(for: pause)
        }
        try await end(at: limit, stage)
    }

    /// Waits for an answer that never arrives.
    ///
    /// - Throws: `TransportError` where a limit is reached, and `CancellationError`.
    func waitForever(at stage: TransportError.Stage) async throws {
        if let limits { try await end(at: limits.next(after: clock.now, at: stage), stage) }
        // The stream never yields an element, and cancellation ends it.
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        for await _ in stream {}
        continuation.finish()
        throw CancellationError()
    }

    private func end(at limit: TimeLimit, _ stage: TransportError.Stage) async throws {
        if limit.instant > clock.now { try await clock.sleep(until: limit.instant, tolerance: nil) }
        try Task.checkCancellation()
        guard let error = limits?.error(at: limit, stage) else { return }
        throw TransportError.locate(error, in: Request(head: head, options: options), after: nil)
    }
}
