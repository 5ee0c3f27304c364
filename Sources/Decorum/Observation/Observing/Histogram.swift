/// Counts durations in buckets whose width grows with the value, so that every percentile is within 1 % with little
/// memory.
///
/// Up to 63 µs, each microsecond has a bucket; above, each doubling is divided into 64 buckets. A duration of more than
/// 19 hours counts as 19 hours, so that there are fewer than 2,000 buckets; buckets above the longest duration so far
/// are not allocated.
struct Histogram: Sendable, Hashable {
    private static let maximum: UInt64 = 1 << 36 - 1

    private var buckets: [UInt64] = []
    private(set) var count: UInt64 = 0
    private var shortest = UInt64.max
    private var longest: UInt64 = 0

    mutating func record(_ duration: Duration) {
        let value = Self.microseconds(duration)
        let index = Self.index(of: value)
        if index >= buckets.count {
            buckets.append(contentsOf: repeatElement(0, count: index + 1 - buckets.count))
        }
        buckets[index] += 1
        count += 1
        shortest = min(shortest, value)
        longest = max(longest, value)
    }

    /// The duration that a share of all durations does not exceed, by the nearest rank; nil without durations.
    ///
    /// A share is from 0 to 1; a number outside of this range is replaced by the nearest bound, and NaN by 0.
    func percentile(_ share: Double) -> Duration? {
        guard count > 0 else { return nil }
        let share = share.isNaN ? 0 : min(max(share, 0), 1)
        let rank = max(1, UInt64((share * Double(count)).rounded(.up)))
        var seen: UInt64 = 0
        for (index, bucket) in buckets.enumerated() {
            seen += bucket
            if seen >= rank {
                return .microseconds(min(max(Self.middle(of: index), shortest), longest))
            }
        }
        return .microseconds(longest)
    }

    private static func microseconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = max(duration, .zero).components
        guard seconds < 100_000 else { return maximum }
        return min(UInt64(seconds * 1_000_000 + attoseconds / 1_000_000_000_000), maximum)
    }

    private static func index(of value: UInt64) -> Int {
        guard value >= 64 else { return Int(value) }
        let shift = UInt64.bitWidth - 7 - value.leadingZeroBitCount
        return shift * 64 + Int(value >> UInt64(shift))
    }

    private static func middle(of index: Int) -> UInt64 {
        guard index >= 128 else { return UInt64(index) }
        let shift = UInt64(index / 64 - 1)
        return UInt64(index % 64 + 64) << shift + (1 << shift) / 2
    }
}
