public import Decorum
import Foundation
import HTTPTypes

/// How far the content of a request or of a response has come.
public struct TransferProgress: Sendable, Hashable {
    /// The number of bytes so far, counted as the app sees them: before compression, and after decompression.
    public let bytes: Int64
    /// The number of bytes in all; nil while it is not known.
    ///
    /// It is not known for a stream without a length, and for a response whose content is decompressed on its way. At the end
    /// it always is.
    public let total: Int64?
    /// The time since the content was opened.
    public let elapsed: Duration
    /// The number of bytes in a second, of late; nil before there is a measurement.
    public let rate: Double?
    /// Whether all of the content has been read.
    public let isFinished: Bool

    /// Creates a progress, as for a preview; each parameter is the property of its name.
    public init(bytes: Int64, total: Int64?, elapsed: Duration = .zero, rate: Double? = nil, isFinished: Bool = false) {
        self.bytes = bytes
        self.total = total
        self.elapsed = elapsed
        self.rate = rate
        self.isFinished = isFinished
    }

    /// The part that is done, from 0 to 1; nil while the total is not known.
    ///
    /// Empty content is done once it is finished.
    public var fraction: Double? {
        if isFinished { return 1 }
        guard let total else { return nil }
        return total > 0 ? min(1, Double(bytes) / Double(total)) : 0
    }

    /// The time until the end at the current rate; nil while the total or the rate is not known.
    public var timeLeft: Duration? {
        if isFinished { return .zero }
        guard let total, let rate, rate > 0 else { return nil }
        let seconds = max(0, Double(total) - Double(bytes)) / rate
        // A rate of nearly nothing gives a time that no duration holds.
        return seconds < 1e9 ? .seconds(seconds) : nil
    }
}

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

/// Gets the progress of a transfer, on the actor of the closure.
public typealias ProgressReport = @isolated(any) @Sendable (TransferProgress) async -> Void

extension Body {
    /// Reports the reading of the body to a closure, in steps that a person can see.
    ///
    /// There is one report before the first byte, at most one for each interval, and one at the end. The bytes of a request
    /// count when the transport takes them, which is a little before they are sent. Another attempt reads the body again, so
    /// that its progress begins at 0 again; a transfer that fails has no report of its end.
    ///
    /// The transfer waits for the closure, so that reports arrive in order and no report is late. So the closure has to
    /// return soon.
    ///
    /// - Parameters:
    ///   - interval: The shortest time between two reports.
    ///   - clock: The clock that measures the time.
    ///   - report: Gets the progress; it may belong to the main actor.
    /// - Returns: A body with the same content, length, replay rule and media type.
    public func reportingProgress(
        every interval: Duration = .milliseconds(100), clock: any DatedClock = SystemClock(),
        to report: @escaping ProgressReport
    ) -> Body {
        let body = self
        return Body(length: length, replay: replay) { offset in
            let reader = try await body.open(at: offset)
            let meter = ProgressMeter(total: body.length, from: offset, interval: interval, at: clock.now)
            await report(meter.initial)
            return ReportingBodyReader(reader: reader, meter: meter, clock: clock, report: report)
        }.typed(as: mediaType)
    }
}

private struct ReportingBodyReader: BodyReader {
    /// Content in memory comes as one chunk, in which nobody would see a step.
    private static let stepSize = 64 << 10

    var reader: any BodyReader
    var meter: ProgressMeter
    let clock: any DatedClock
    let report: ProgressReport
    private var rest = Data()
    private var hasEnded = false

    init(reader: any BodyReader, meter: ProgressMeter, clock: any DatedClock, report: @escaping ProgressReport) {
        self.reader = reader
        self.meter = meter
        self.clock = clock
        self.report = report
    }

    mutating func next() async throws -> Data? {
        if rest.isEmpty { rest = try await reader.next() ?? Data() }
        guard !rest.isEmpty else {
            if !hasEnded { await report(meter.finish(at: clock.now)) }
            hasEnded = true
            return nil
        }
        let step = rest.prefix(Self.stepSize)
        rest = rest.dropFirst(step.count)
        if let progress = meter.add(step.count, at: clock.now) { await report(progress) }
        return step
    }

    var trailers: HTTPFields? { reader.trailers }
}
