#if os(Linux)
/// Removes the chunked coding from content (RFC 9112, section 7.1).
///
/// libcurl reads the coding too, and detects content that ends before its last chunk.
struct CurlChunkedDecoder {
    private static let extensionLimit = 16 << 10
    private static let trailerLimit = 64 << 10
    private static let digitLimit = 16

    private enum Part {
        case size
        case sizeExtension
        /// The LF behind the CR of a size, which has no extension.
        case sizeEnd
        case content
        /// The CR or LF behind the content of a chunk.
        case contentEnd
        case contentLineFeed
        case trailers
        case complete
    }

    private var part = Part.size
    /// The size of the chunk, or the part of it that has not arrived yet.
    private var size = 0
    private var digits = 0
    /// The length of the extension or of the trailers.
    private var length = 0
    private var line: [UInt8] = []
    /// The trailer fields that have arrived.
    private(set) var trailers = CurlResponseHead()

    /// Whether the last chunk and the trailers have arrived.
    var isComplete: Bool { part == .complete }

    /// Gives each part of the content to a closure; returns false where the coding is malformed.
    ///
    /// Bytes behind the end are ignored, because libcurl does not reuse their connection.
    mutating func decode(_ bytes: UnsafeRawBufferPointer, to body: (UnsafeRawBufferPointer) -> Void) -> Bool {
        var index = 0
        while index < bytes.count, part != .complete {
            if part == .content {
                let count = min(size, bytes.count - index)
                unsafe body(UnsafeRawBufferPointer(rebasing: bytes[index..<index + count]))
                index += count
                size -= count
                if size == 0 { part = .contentEnd }
                continue
            }
            guard unsafe take(bytes[index]) else { return false }
            index += 1
        }
        return true
    }

    /// Takes a byte that is not content; returns false where it cannot stand there.
    private mutating func take(_ byte: UInt8) -> Bool {
        switch part {
        case .size: return takeSize(byte)
        case .sizeExtension:
            length += 1
            if byte == UInt8(ascii: "\n") { beginChunk() }
            return length <= Self.extensionLimit
        case .sizeEnd:
            beginChunk()
            return byte == UInt8(ascii: "\n")
        case .contentEnd where byte == UInt8(ascii: "\r"): part = .contentLineFeed
        case .contentEnd, .contentLineFeed:
            (part, digits) = (.size, 0)
            return byte == UInt8(ascii: "\n")
        case .trailers: return takeTrailer(byte)
        case .content, .complete: break
        }
        return true
    }

    private mutating func takeSize(_ byte: UInt8) -> Bool {
        if let digit = Self.digit(byte) {
            guard digits < Self.digitLimit, size <= Int.max >> 4 else { return false }
            digits += 1
            size = size << 4 | digit
            return true
        }
        guard digits > 0 else { return false }
        switch byte {
        case UInt8(ascii: "\r"): part = .sizeEnd
        case UInt8(ascii: "\n"): beginChunk()
        case UInt8(ascii: ";"), UInt8(ascii: " "), UInt8(ascii: "\t"): (part, length) = (.sizeExtension, 0)
        default: return false
        }
        return true
    }

    private static func digit(_ byte: UInt8) -> Int? {
        switch byte {
        case 0x30...0x39: Int(byte) - 0x30
        case 0x41...0x46, 0x61...0x66: Int(byte | 0x20) - 0x57
        default: nil
        }
    }

    private mutating func beginChunk() {
        (part, length) = (size == 0 ? .trailers : .content, 0)
    }

    private mutating func takeTrailer(_ byte: UInt8) -> Bool {
        length += 1
        guard length <= Self.trailerLimit else { return false }
        line.append(byte)
        guard byte == UInt8(ascii: "\n") else { return true }
        if line.allSatisfy({ $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) {
            part = .complete
        } else {
            unsafe line.withUnsafeBytes { unsafe trailers.append($0) }
        }
        line.removeAll(keepingCapacity: true)
        return true
    }
}
#endif
