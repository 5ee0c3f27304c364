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
