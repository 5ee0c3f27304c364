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

    /// Tells whether text is in UTF-16 or UTF-32, where ASCII has NULs.
    package static func isWide(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) || bytes.prefix(4).contains(0)
    }
}
