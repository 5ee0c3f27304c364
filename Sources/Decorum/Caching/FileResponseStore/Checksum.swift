/// A checksum of bytes that is the same in all processes; it is not cryptographic, and no secret depends on it.
///
/// Each step multiplies eight bytes with eight others to 128 bits and folds these, as in the wyhash family. An attacker
/// can find two texts with one checksum, so important values are compared in full.
struct Checksum: Sendable {
    private(set) var value: UInt64

    init(seed: UInt64) {
        value = seed ^ Self.keys.0
    }

    /// The checksum of bytes.
    static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        var checksum = Checksum(seed: seed)
        unsafe checksum.add(bytes)
        return checksum.value
    }

    /// Adds bytes as one part, which another split of the same bytes does not equal.
    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        // Within this function, no read goes beyond the count that is checked before it.
        let count = bytes.count
        var lanes = (value, value ^ Self.keys.1, value ^ Self.keys.2, value ^ Self.keys.3)
        var offset = 0
        while offset + 64 <= count {
            unsafe Self.mix(&lanes.0, bytes, offset, Self.keys.0)
            unsafe Self.mix(&lanes.1, bytes, offset + 16, Self.keys.1)
            unsafe Self.mix(&lanes.2, bytes, offset + 32, Self.keys.2)
            unsafe Self.mix(&lanes.3, bytes, offset + 48, Self.keys.3)
            offset += 64
        }
        var result = Self.fold(lanes.0 ^ Self.keys.3, lanes.1 ^ Self.keys.2)
        result = result &+ Self.fold(lanes.2 ^ Self.keys.1, lanes.3 ^ Self.keys.0 ^ result)
        while offset + 16 <= count {
            unsafe Self.mix(&result, bytes, offset, Self.keys.1)
            offset += 16
        }
        var tail: (UInt64, UInt64) = (0, 0)
        var place: UInt64 = 0
        while offset < count {
            let byte = unsafe UInt64(bytes[offset])
            if place < 64 { tail.0 |= byte << place } else { tail.1 |= byte << (place - 64) }
            place += 8
            offset += 1
        }
        result = result &+ Self.fold(tail.0 ^ Self.keys.2, tail.1 ^ result)
        value = Self.fold(result ^ Self.keys.0, UInt64(truncatingIfNeeded: count) ^ Self.keys.3) &+ result
    }

    /// Adds text in UTF-8 as one part.
    mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { bytes in unsafe add(UnsafeRawBufferPointer(bytes)) }
    }

    /// Adds a number.
    mutating func add(_ number: UInt64) {
        value = value &+ Self.fold(number ^ Self.keys.1, value ^ Self.keys.2)
    }

    // Odd numbers with half of their bits set, in a random order.
    private static let keys: (UInt64, UInt64, UInt64, UInt64) = (
        0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0xD6E8_FEB8_6659_FD93
    )

    @inline(__always)
    private static func mix(_ lane: inout UInt64, _ bytes: UnsafeRawBufferPointer, _ offset: Int, _ key: UInt64) {
        let first = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        let second = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self))
        // The product is added to the state, since a factor that happens to be 0 would erase all earlier bytes.
        lane = lane &+ fold(first ^ key, second ^ lane)
    }

    @inline(__always) private static func fold(_ first: UInt64, _ second: UInt64) -> UInt64 {
        let product = first.multipliedFullWidth(by: second)
        return product.high ^ product.low
    }
}
