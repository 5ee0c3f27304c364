/// Counts durations in buckets whose width grows with the value, so that every percentile is nearly exact with little
/// memory.
///
/// Up to 63 µs, each microsecond has a bucket; above, each doubling is divided into 64 buckets. With
/// ``Precision/fourPercent``, that is up to 15 µs and into 16 buckets. A duration of more than 19 hours counts as 19
/// hours, so that there are fewer than 2,000 buckets, or 530; buckets above the longest duration so far are not
/// allocated.
struct Histogram: Sendable, Hashable {
    /// How far a percentile may be from the exact one.
    enum Precision: Sendable {
        case onePercent
        case fourPercent
    }

    private static let maximum: UInt64 = 1 << 36 - 1

    /// The logarithm of the number of buckets for each doubling.
    private let bits: Int
    private var buckets: [UInt64] = []
    private(set) var count: UInt64 = 0
    private var shortest = UInt64.max
    private var longest: UInt64 = 0

    init(_ precision: Precision = .onePercent) {
        bits = precision == .onePercent ? 6 : 4
    }

    mutating func record(_ duration: Duration) {
        let value = Self.microseconds(duration)
        let index = index(of: value)
        grow(to: index + 1)
        buckets[index] += 1
        count += 1
        shortest = min(shortest, value)
        longest = max(longest, value)
    }

    /// Adds the durations of another histogram of the same precision.
    mutating func add(_ other: Histogram) {
        grow(to: other.buckets.count)
        for (index, bucket) in other.buckets.enumerated() { buckets[index] += bucket }
        count += other.count
        shortest = min(shortest, other.shortest)
        longest = max(longest, other.longest)
    }

    private mutating func grow(to size: Int) {
        guard size > buckets.count else { return }
        buckets.append(contentsOf: repeatElement(0, count: size - buckets.count))
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
                return .microseconds(min(max(middle(of: index), shortest), longest))
            }
        }
        return .microseconds(longest)
    }

    private static func microseconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = max(duration, .zero).bounded.components
        guard seconds < 100_000 else { return maximum }
        return min(UInt64(seconds * 1_000_000 + attoseconds / 1_000_000_000_000), maximum)
    }

    private func index(of value: UInt64) -> Int {
        guard value >> bits > 0 else { return Int(value) }
        let shift = UInt64.bitWidth - bits - 1 - value.leadingZeroBitCount
        return shift << bits + Int(value >> UInt64(shift))
    }

    private func middle(of index: Int) -> UInt64 {
        guard index >> bits > 1 else { return UInt64(index) }
        let shift = UInt64(index >> bits - 1)
        let perDoubling = 1 << bits
        return UInt64(index % perDoubling + perDoubling) << shift + (1 << shift) / 2
    }
}
