import Synchronization

/// The source of randomness for layers: random bits that many tasks may draw at the same time.
///
/// Every modifier that needs random numbers takes one as `generator:`. ``SystemGenerator`` is the default; a
/// ``SeededGenerator`` gives the same numbers in each run.
public protocol RandomGenerator: Sendable {
    /// Draws 64 random bits.
    ///
    /// - Returns: A number in which each bit is set with a probability of one half.
    func next() -> UInt64
}

extension RandomGenerator {
    /// Draws a uniform number from 0 (included) to 1 (excluded).
    ///
    /// - Returns: A multiple of 2⁻⁵³.
    public func uniform() -> Double {
        Double(next() >> 11) * 0x1p-53
    }
}

/// The random bits of the system, which are unpredictable.
public struct SystemGenerator: RandomGenerator {
    /// Creates a generator.
    public init() {}

    /// Draws 64 random bits.
    public func next() -> UInt64 {
        UInt64.random(in: .min ... .max)
    }
}

/// Random bits that follow from a seed (SplitMix64); not for secrets.
public final class SeededGenerator: RandomGenerator {
    private let state: Atomic<UInt64>

    /// Creates a generator.
    ///
    /// - Parameter seed: The number that determines the whole sequence.
    public init(seed: UInt64) {
        state = Atomic(seed)
    }

    /// Draws the next 64 bits of the sequence.
    public func next() -> UInt64 {
        var bits = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}

extension RandomGenerator {
    /// Draws a random UUID (RFC 9562, section 5.4), as text in lower case.
    func uuidText() -> String {
        let high = next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        // Appending digits is several times as fast as `UUID().uuidString`.
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for index in 0..<32 {
            if index == 8 || index == 12 || index == 16 || index == 20 { text.append(UInt8(ascii: "-")) }
            let half = index < 16 ? high : low
            let digit = UInt8(truncatingIfNeeded: half >> UInt64(60 - index % 16 * 4) & 15)
            text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
        return String(decoding: text, as: UTF8.self)
    }
}
