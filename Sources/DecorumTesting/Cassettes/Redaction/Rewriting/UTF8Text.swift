import Decorum

/// Checks of the encoding of text by its bytes.
enum UTF8Text: Sendable {
    /// Returns whether bytes are UTF-8 without a NUL, which text does not hold.
    static func isValid(_ bytes: [UInt8]) -> Bool {
        !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    }

    /// Returns whether bytes hold control characters that are not in text of any ASCII-based encoding.
    static func holdsControls(_ bytes: [UInt8]) -> Bool {
        bytes.contains { $0 < 0x20 && !(0x09...0x0D).contains($0) }
    }

    /// Returns whether text is in UTF-16 or UTF-32: by its byte order mark, or by NULs among the ASCII at its start.
    ///
    /// - Parameter bytes: The text.
    /// - Returns: Whether it is in one of the two.
    static func isWide(_ bytes: [UInt8]) -> Bool {
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
    /// Returns whether content can be searched byte by byte, as ASCII with any other bytes in between.
    ///
    /// Content with a media type of text often has an older encoding, and a single byte that is not UTF-8 must not hide
    /// all secrets.
    func isReadable(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .json, .form, .markup, .text: !UTF8Text.isWide(bytes)
        case .binary, .unknown, .multipart: UTF8Text.isValid(bytes) || !UTF8Text.holdsControls(bytes)
        }
    }
}
