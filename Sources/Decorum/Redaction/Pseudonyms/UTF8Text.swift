/// The encoding of text, so far as its bytes tell.
package enum UTF8Text {
    /// Tells whether bytes are UTF-8 without a NUL, which text does not hold.
    static func isValid(_ bytes: [UInt8]) -> Bool {
        !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    }

    /// Tells whether bytes hold what text in any encoding based on ASCII does not.
    static func holdsControls(_ bytes: [UInt8]) -> Bool {
        bytes.contains { $0 < 0x20 && !(0x09...0x0D).contains($0) }
    }

    /// Tells whether text is in UTF-16 or UTF-32: by its mark, or by the NULs that the ASCII has with which it starts.
    package static func isWide(_ bytes: [UInt8]) -> Bool {
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) { return true }
        let start = Array(bytes.prefix(4))
        guard start.contains(0) else { return false }
        let isASCII = start.allSatisfy { $0 == 0 || $0 < 0x7F && $0 >= 0x20 || (0x09...0x0D).contains($0) }
        let patterns = [
            [true, true, true, false], [true, false, true, false], [false, true, true, true],
            [false, true, false, true],
        ]
        return isASCII && patterns.contains(start.map { $0 == 0 })
    }
}
