import Decorum

/// The times that answers took in the last 30 to 60 seconds: two histograms, of which the older one is dropped.
///
/// A histogram has 16 steps for each doubling, so that a value is known to 6 %, up to 2 minutes.
struct LatencyPercentiles: Sendable {
    /// The number of times that are needed before they say anything.
    private static let warmUp = 20
    private static let windowLength = Duration.seconds(30)
    private static let longest = Duration.seconds(130)
    private static let empty = [UInt32](repeating: 0, count: 24 * 16)

    private(set) var count = 0
    private var current = empty
    private var previous = empty
    private var end: Duration?
    private var last: (value: Duration, count: Int)?

    mutating func add(_ time: Duration, at now: Duration) {
        move(to: now)
        let (seconds, attoseconds) = min(max(time, .zero), Self.longest).components
        let microseconds = Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
        // The steps of one doubling have one width, so that a step follows from the highest bits.
        let shift = max(0, Int.bitWidth - 5 - microseconds.leadingZeroBitCount)
        current[shift << 4 + microseconds >> shift] += 1
        count += 1
    }

    /// The time that a part of the answers did not exceed, such as 0.95 of them; nil before there are enough of them.
    mutating func value(of part: Double, at now: Duration) -> Duration? {
        move(to: now)
        guard count >= Self.warmUp else { return nil }
        // The search takes longer than all else, and a few further times change little.
        if let last, count - last.count <= count / 32 { return last.value }
        let value = search(min(max(part, 0), 1) * Double(count))
        last = (value, count)
        return value
    }

    private func search(_ wanted: Double) -> Duration {
        var passed = 0.0
        for step in current.indices {
            let count = Double(current[step] + previous[step])
            if count > 0, passed + count >= wanted {
                let shift = max(0, step >> 4 - 1)
                let start = (step - shift << 4) << shift
                return .microseconds(Double(start) + Double(1 << shift) * (wanted - passed) / count)
            }
            passed += count
        }
        return Self.longest
    }

    private mutating func move(to now: Duration) {
        let end = end ?? now + Self.windowLength
        self.end = end
        guard now >= end else { return }
        previous = now < end + Self.windowLength ? current : Self.empty
        current = Self.empty
        count = previous.reduce(0) { $0 + Int($1) }
        self.end = now + Self.windowLength
        last = nil
    }
}
