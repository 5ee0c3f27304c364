import Decorum

/// The name of a member of a cassette as one number, because comparing texts takes most of the time in which a small object
/// is read.
///
/// The members of the format have names of at most eight bytes. A longer name, or one with a zero byte, is none of them.
struct MemberName: Equatable, Sendable, ExpressibleByStringLiteral {
    private static let limit = 8

    private let word: UInt64

    /// Creates the name of a member of the format.
    init(stringLiteral text: StaticString) {
        precondition(text.utf8CodeUnitCount <= Self.limit)
        word = text.withUTF8Buffer { unsafe $0.reduce(0) { $0 << 8 | UInt64($1) } }
    }

    /// Creates the name between two quotation marks; nil if no member of the format can have it.
    init?(_ bytes: [UInt8], in range: Range<Int>) {
        guard range.count <= Self.limit else {
            // The escapes of a name take more bytes than the name.
            guard bytes[range].contains(UInt8(ascii: "\\")) else { return nil }
            self.init(escaped: bytes[range])
            return
        }
        var word: UInt64 = 0
        for index in range {
            let byte = bytes[index]
            guard byte != UInt8(ascii: "\\") else {
                self.init(escaped: bytes[range])
                return
            }
            word = word << 8 | UInt64(byte)
        }
        self.init(word: word)
    }

    private init?(escaped text: ArraySlice<UInt8>) {
        let bytes = JSONText.unescape(text)
        guard bytes.count <= Self.limit, !bytes.contains(0) else { return nil }
        self.init(word: bytes.reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// The name.
    var text: String {
        let bytes = (0..<Self.limit).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
        return String(decoding: bytes.drop { $0 == 0 }, as: UTF8.self)
    }

    private init(word: UInt64) {
        self.word = word
    }
}
