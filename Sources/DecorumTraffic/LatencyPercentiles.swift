import Decorum

/// The times that answers took in the last 30 to 60 seconds, as two windows of which the older one is dropped;
/// times count from any one instant.
struct LatencyPercentiles: Sendable {
    /// The number of times that are needed before they say anything.
    static let warmUp = 20
    static let windowLength = Duration.seconds(30)

    private var current = LatencySketch()
    private var previous = LatencySketch()
    private var end: Duration?
    private var last: (part: Double, value: Duration, count: Int)?

    var count: Int { current.count + previous.count }

    mutating func add(_ time: Duration, at now: Duration) {
        move(to: now)
        current.add(time)
    }

    /// The time that a part of the answers did not exceed, such as 0.95 of them; nil before there are enough of them.
    mutating func value(of part: Double, at now: Duration) -> Duration? {
        move(to: now)
        guard count >= Self.warmUp else { return nil }
        // The search takes longer than all else, and a few further times change little.
        if let last, last.part == part, count - last.count <= count / 32 { return last.value }
        let value = LatencySketch.value(of: part, in: current, previous)
        last = (part, value, count)
        return value
    }

    private mutating func move(to now: Duration) {
        guard let end, now >= end else {
            if end == nil { end = now + Self.windowLength }
            return
        }
        previous = now < end + Self.windowLength ? current : LatencySketch()
        current = LatencySketch()
        self.end = now + Self.windowLength
        last = nil
    }
}

/// A histogram of times with 16 steps for each doubling, so that a value is known to 6 %, from 1 µs to 2 minutes.
private struct LatencySketch: Sendable {
    private static let limit = 1 << 27
    private static let stepCount = 24 * 16

    private(set) var count = 0
    private var counts: [UInt32] = []

    mutating func add(_ time: Duration) {
        if counts.isEmpty { counts = [UInt32](repeating: 0, count: Self.stepCount) }
        let (seconds, attoseconds) = min(max(time, .zero), .seconds(130)).components
        let microseconds = Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
        counts[Self.step(of: min(microseconds, Self.limit - 1))] += 1
        count += 1
    }

    /// The time that a part of all times does not exceed.
    static func value(of part: Double, in one: LatencySketch, _ other: LatencySketch) -> Duration {
        let wanted = min(max(part, 0), 1) * Double(one.count + other.count)
        var passed = 0.0
        for step in 0..<stepCount {
            let count = Double(one.count(of: step) + other.count(of: step))
            if count > 0, passed + count >= wanted {
                let (start, width) = range(of: step)
                return .microseconds(Double(start) + Double(width) * (wanted - passed) / count)
            }
            passed += count
        }
        return .microseconds(limit)
    }

    private func count(of step: Int) -> UInt32 { counts.isEmpty ? 0 : counts[step] }

    // The steps of one doubling have one width, so that a step follows from the highest bits.
    private static func step(of microseconds: Int) -> Int {
        guard microseconds >= 16 else { return microseconds }
        let shift = Int.bitWidth - 5 - microseconds.leadingZeroBitCount
        return (shift + 1) << 4 | (microseconds >> shift & 15)
    }

    private static func range(of step: Int) -> (start: Int, width: Int) {
        guard step >= 16 else { return (step, 1) }
        let shift = step >> 4 - 1
        return ((16 | step & 15) << shift, 1 << shift)
    }
}
