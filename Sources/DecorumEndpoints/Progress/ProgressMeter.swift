import Foundation

/// The decision when to report a transfer, and the measurement of its rate.
struct ProgressMeter {
    /// The time over which the rate is averaged, so that it follows the network without jumping.
    private static let memory = 3.0

    let total: Int64?
    let interval: Duration
    private let start: ContinuousClock.Instant
    private var bytes: Int64
    private var reportedBytes: Int64
    private var reportedTime: ContinuousClock.Instant
    private var rate: Double?

    init(total: Int64?, from offset: Int64, interval: Duration, at start: ContinuousClock.Instant) {
        self.total = total
        self.interval = interval
        self.start = start
        bytes = offset
        reportedBytes = offset
        reportedTime = start
    }

    /// The progress before the first byte.
    var initial: TransferProgress { TransferProgress(bytes: bytes, total: total) }

    /// Adds bytes.
    ///
    /// - Returns: The progress to report; nil until the interval has passed since the last report.
    mutating func add(_ count: Int, at now: ContinuousClock.Instant) -> TransferProgress? {
        bytes += Int64(count)
        guard reportedTime.duration(to: now) >= interval else { return nil }
        measure(at: now)
        return TransferProgress(bytes: bytes, total: total, elapsed: start.duration(to: now), rate: rate)
    }

    /// The progress at the end.
    mutating func finish(at now: ContinuousClock.Instant) -> TransferProgress {
        measure(at: now)
        return TransferProgress(
            bytes: bytes, total: bytes, elapsed: start.duration(to: now), rate: rate, isFinished: true)
    }

    private mutating func measure(at now: ContinuousClock.Instant) {
        let seconds = reportedTime.duration(to: now) / .seconds(1)
        guard seconds > 0 else { return }
        let current = Double(bytes - reportedBytes) / seconds
        let weight = 1 - exp(-seconds / Self.memory)
        rate = rate.map { $0 + weight * (current - $0) } ?? current
        reportedBytes = bytes
        reportedTime = now
    }
}
