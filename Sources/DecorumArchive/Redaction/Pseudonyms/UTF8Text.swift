import Decorum

/// The encoding of text, so far as its bytes tell.
public enum UTF8Text: Sendable {
    /// Tells whether bytes are UTF-8 without a NUL, which text does not hold.
    static func isValid(_ bytes: [UInt8]) -> Bool {
        !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    }

    /// Tells whether bytes hold what text in any encoding based on ASCII does not.
    static func holdsControls(_ bytes: [UInt8]) -> Bool {
        bytes.contains { $0 < 0x20 && !(0x09...0x0D).contains($0) }
    }

    /// Tells whether text is in UTF-16 or UTF-32: by its byte order mark, or by NULs among the ASCII at its start.
    ///
    /// - Parameter bytes: The text.
    /// - Returns: Whether it is in one of the two.
    public static func isWide(_ bytes: [UInt8]) -> Bool {
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

extension ContentKind {
    /// Tells whether content can be read byte by byte, as ASCII with whatever else in between.
    ///
    /// What a media type calls text often is in an older encoding, and one byte of that must not hide all secrets.
    func isReadable(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .json, .form, .markup, .text: !UTF8Text.isWide(bytes)
        case .binary, .unknown, .multipart: UTF8Text.isValid(bytes) || !UTF8Text.holdsControls(bytes)
        }
    }
}
