import Foundation

extension Body {
    /// Reads the body to its end and drops it, so that the connection can serve another request.
    ///
    /// It reads for as long as the body comes; ``discard(upTo:within:until:on:)`` takes a second at most.
    ///
    /// - Parameter limit: The largest number of bytes to read.
    /// - Returns: Whether the end was reached; if not, the rest of the transfer is abandoned.
    /// - Throws: `CancellationError`; after any other failure to read, the result is false.
    @discardableResult public func drain(upTo limit: Int) async throws -> Bool {
        guard length ?? 0 <= limit else { return false }
        do {
            var reader = try await open()
            var count: Int64 = 0
            while let chunk = try await reader.next() {
                count += Int64(chunk.count)
                guard count <= limit else { return false }
            }
            return true
        } catch let error as CancellationError {
            throw error
        } catch {
            return false
        }
    }
}

extension Body {
    /// Whether the current task reads a body only so that its connection can serve another request.
    ///
    /// If such a read is cancelled, the request itself is not cancelled: a layer has given up the rest of an answer that it does
    /// not need, and a recorder may read on.
    public static var isDiscarding: Bool { discards }
    @TaskLocal private static var discards = false

    /// The time for reading a response that is not needed, such as a redirection or one that is retried: a second.
    public static let discardTime = Duration.seconds(1)

    /// Reads the rest of a response that is not needed, so that its connection can serve another request.
    ///
    /// A body that is longer than `limit`, or takes longer than `time` or than the deadline, is dropped instead: a new
    /// connection costs less than waiting for it. The layer declares the time as its ``Layer/Time/reading``.
    ///
    /// - Parameters:
    ///   - limit: The largest number of bytes to read.
    ///   - time: The longest time for reading them.
    ///   - deadline: The deadline of the request; nil for none.
    ///   - clock: The clock of the times.
    /// - Throws: `CancellationError`.
    public func discard(
        upTo limit: Int = 16 << 10, within time: Duration = discardTime,
        until deadline: ContinuousClock.Instant? = nil, on clock: any DatedClock = SystemClock()
    ) async throws {
        guard bytes == nil, length ?? 1 > 0 else { return }
        guard length ?? 0 <= limit else {
            // Its transfer ends with the reader, also where the caller still holds the response.
            if replay == .once { _ = try? await open() }
            return
        }
        let end = clock.now + time
        let instant = Swift.min(end, deadline ?? end)
        let unwanted = HeldBody(self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await Self.$discards.withValue(true) { _ = try await unwanted.take()?.drain(upTo: limit) }
            }
            group.addTask { try await clock.sleep(until: instant, tolerance: nil) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
