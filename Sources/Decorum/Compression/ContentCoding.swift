import DecorumCompression
import HTTPTypes

/// A content coding, such as `gzip`, by its name (RFC 9110, section 8.4.1).
///
/// Decorum undoes and applies `gzip`, `deflate`, `br` and `zstd` with the libraries of the system. On Linux it opens
/// `libz.so.1`, `libbrotlidec.so.1`, `libbrotlienc.so.1` and `libzstd.so.1` when the program first needs them, and a coding
/// whose library is not installed is not available. On Apple's systems, `gzip` and `deflate` are available.
public struct ContentCoding: Sendable, Hashable, CustomStringConvertible {
    /// The name in lowercase, as in `Content-Encoding`.
    public let name: String

    /// Creates a coding from its name, which need not be known here.
    ///
    /// - Parameter name: The name in any letter case; `x-gzip` is the same coding as `gzip`, under its old name.
    public init(_ name: some StringProtocol) {
        self.name = name.lowercased()
    }

    /// The name.
    public var description: String { name }

    /// The coding of gzip (RFC 1952).
    public static let gzip = ContentCoding("gzip")
    /// The coding of zlib (RFC 1950).
    ///
    /// Some servers send the data within without the header of zlib, which is accepted.
    public static let deflate = ContentCoding("deflate")
    /// The coding of Brotli (RFC 7932).
    public static let brotli = ContentCoding("br")
    /// The coding of Zstandard (RFC 8878), with windows of up to 8 MiB (RFC 9659).
    public static let zstd = ContentCoding("zstd")

    /// Whether this system can undo the coding.
    public var isDecodable: Bool { format.map { decorum_can_decode($0) != 0 } ?? false }

    /// Whether this system can apply the coding.
    public var isEncodable: Bool { format.map { decorum_can_encode($0) != 0 } ?? false }
}

extension ContentCoding {
    /// The format of the coded bytes; nil for an unknown coding.
    var format: decorum_format? {
        switch name {
        case "gzip", "x-gzip": DECORUM_FORMAT_GZIP
        case "deflate": DECORUM_FORMAT_ZLIB
        case "br": DECORUM_FORMAT_BROTLI
        case "zstd": DECORUM_FORMAT_ZSTD
        default: nil
        }
    }

    /// Whether two names are names of one coding.
    func isSame(as other: ContentCoding) -> Bool {
        name == other.name || format != nil && format == other.format
    }

    /// The codings that the fields of a message name, in the order in which they were applied; `identity` is none.
    package static func applied(to fields: HTTPFields) -> [ContentCoding] {
        guard fields.has(.contentEncoding), let value = fields[.contentEncoding] else { return [] }
        return ListMembers(value).map { ContentCoding($0) }.filter { $0.name != "identity" }
    }
}
