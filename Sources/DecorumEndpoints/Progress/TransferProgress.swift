/// How far the content of a request or of a response has come.
///
/// ```swift
/// label.text = progress.fraction.map { "\(Int($0 * 100)) %" } ?? "\(progress.bytes) bytes"
/// ```
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

    /// Creates a progress, as for a preview.
    ///
    /// - Parameters:
    ///   - bytes: The number of bytes so far.
    ///   - total: The number of bytes in all; nil while it is not known.
    ///   - elapsed: The time since the content was opened.
    ///   - rate: The number of bytes in a second; nil before there is a measurement.
    ///   - isFinished: Whether all of the content has been read.
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
