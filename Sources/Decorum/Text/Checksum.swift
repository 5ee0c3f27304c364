/// A checksum of bytes that is the same in all processes; it is not cryptographic, and no secret depends on it.
///
/// Each step multiplies eight bytes with eight others to 128 bits and folds these, as in the wyhash family. An attacker
/// can find two texts with one checksum, so important values are compared in full.
package struct Checksum: Sendable {
    package private(set) var value: UInt64

    package init(seed: UInt64) { value = seed ^ Self.keys.0 }

    /// The checksum of bytes.
    package static func of(_ bytes: ArraySlice<UInt8>, seed: UInt64) -> UInt64 {
        var checksum = Checksum(seed: seed)
        checksum.add(bytes)
        return checksum.value
    }

    /// Adds bytes as one part, which another split of the same bytes does not equal.
    package mutating func add(_ bytes: ArraySlice<UInt8>) {
        unsafe bytes.withUnsafeBytes { unsafe add($0) }
    }

    /// Adds text in UTF-8 as one part.
    package mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { bytes in unsafe add(UnsafeRawBufferPointer(bytes)) }
    }

    /// Adds a number.
    mutating func add(_ number: UInt64) {
        value = value &+ Self.fold(number ^ Self.keys.1, value ^ Self.keys.2)
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) {
        // Within this function, no read goes beyond the count that is checked before it.
        var lanes = (value, value ^ Self.keys.1)
        var offset = 0
        while offset + 32 <= bytes.count {
            unsafe Self.mix(&lanes.0, bytes, offset, Self.keys.0)
            unsafe Self.mix(&lanes.1, bytes, offset + 16, Self.keys.2)
            offset += 32
        }
        value = Self.fold(lanes.0 ^ Self.keys.3, lanes.1 ^ Self.keys.2) &+ lanes.0
        while offset < bytes.count {
            var part: UInt64 = 0
            for place in 0..<min(8, bytes.count - offset) {
                part |= unsafe UInt64(bytes[offset + place]) << (8 * place)
            }
            add(part)
            offset += 8
        }
        add(UInt64(bytes.count))
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
