import Foundation
import HTTPTypes

extension Body {
    /// Waits for the first chunk, and no longer than a time.
    ///
    /// - Parameters:
    ///   - time: The time to wait.
    ///   - deadline: The instant at which the wait ends in any case; nil for none.
    ///   - clock: The clock for both.
    /// - Returns: The first chunk, nil where there is none or where it has not arrived; and a body with all bytes, which
    ///   throws where the first chunk did. It ends the transfer when it is dropped.
    /// - Throws: `CancellationError`; any other failure to read is left to the reader of the new body.
    func readingAhead(
        within time: Duration, until deadline: ContinuousClock.Instant? = nil, on clock: any DatedClock
    ) async throws -> (chunk: Data?, body: Body) {
        let length = length
        let lease = ReadAheadLease(self)
        let end = clock.now + time
        let chunk = try await lease.firstChunk(until: Swift.min(end, deadline ?? end), on: clock)
        return (chunk, Body(trustedLength: length, replay: .once) { _ in ReadAheadReader(lease: lease) })
    }
}

/// The right to a body whose first chunk is read before somebody asks for it; the reading ends with the last holder.
private final class ReadAheadLease: Sendable {
    private let body: ReadAheadBody
    private let arrivals: AsyncStream<Never>
    private let reading: Task<Void, Never>

    init(_ body: Body) {
        let opened = ReadAheadBody(body)
        let (arrivals, signal) = AsyncStream.makeStream(of: Never.self)
        self.body = opened
        self.arrivals = arrivals
        // A task is released a little after its work ends. If it held the body, the transfer would stay open until then.
        reading = Task { [weak opened] in
            await opened?.readFirst()
            signal.finish()
        }
    }

    deinit { reading.cancel() }

    func firstChunk(until instant: ContinuousClock.Instant, on clock: any DatedClock) async throws -> Data? {
        try await withThrowingTaskGroup(of: Void.self) { [arrivals] group in
            group.addTask { for await _ in arrivals {} }
            group.addTask { try await clock.sleep(until: instant, tolerance: nil) }
            defer { group.cancelAll() }
            try await group.next()
        }
        try Task.checkCancellation()
        return try await body.arrived()
    }

    func next() async throws -> (chunk: Data?, trailers: HTTPFields?) {
        await withTaskCancellationHandler {
            await reading.value
        } onCancel: {
            reading.cancel()
        }
        return try await body.next()
    }
}

/// A body that is open, whose first chunk waits for the reader.
private actor ReadAheadBody {
    private var body: Body?
    private var reader: (any BodyReader)?
    private var first: Result<Data?, any Error>?

    init(_ body: Body) {
        self.body = body
    }

    func readFirst() async {
        do {
            reader = try await body.take()?.open()
            first = .success(try await readNext())
        } catch {
            first = .failure(error)
        }
    }

    /// Returns the first chunk, and leaves it to the reader; nil where it has not arrived or cannot be read.
    func arrived() throws -> Data? {
        if case .failure(let error as CancellationError) = first { throw error }
        return try? first?.get()
    }

    func next() async throws -> (chunk: Data?, trailers: HTTPFields?) {
        // A body that has failed does not seem to end at the next reading.
        if case .failure(let error) = first { throw error }
        let chunk = if let first = first.take() { try first.get() } else { try await readNext() }
        return (chunk, chunk == nil ? reader?.trailers : nil)
    }

    private func readNext() async throws -> Data? {
        var reader = reader.take()
        defer { self.reader = reader }
        return try await reader?.next()
    }
}

private struct ReadAheadReader: BodyReader {
    let lease: ReadAheadLease
    private(set) var trailers: HTTPFields?

    mutating func next() async throws -> Data? {
        let (chunk, trailers) = try await lease.next()
        if chunk == nil { self.trailers = trailers }
        return chunk
    }
}
