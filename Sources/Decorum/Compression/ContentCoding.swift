import DecorumCompression
import Foundation
import HTTPTypes

/// A content coding, such as `gzip`, by its name (RFC 9110, section 8.4.1).
///
/// Decorum undoes and applies `gzip`, `deflate`, `br` and `zstd` with the libraries of the system. On Linux it opens
/// `libz.so.1`, `libbrotlidec.so.1`, `libbrotlienc.so.1` and `libzstd.so.1` when the program first needs them, and a coding
/// whose library is not installed is not available. On Apple's systems, `gzip` and `deflate` are available. An app can add
/// a coding of its own (``init(_:encoder:decoder:)``). Two codings with one name are equal.
public struct ContentCoding: Sendable, Hashable, CustomStringConvertible {
    /// The name in lowercase, as in `Content-Encoding`.
    public let name: String
    /// The coders of the app; nil for the libraries of the system.
    let own: OwnCoders?

    /// Creates a coding from its name in any letter case, which need not be known here.
    public init(_ name: some StringProtocol) {
        self.init(name, own: nil)
    }

    init(_ name: some StringProtocol, own: OwnCoders?) {
        self.name = name.lowercased()
        self.own = own
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
    public var isDecodable: Bool {
        own == nil ? format.map { decorum_can_decode($0) != 0 } ?? false : hasUsableName
    }

    /// Whether this system can apply the coding.
    public var isEncodable: Bool {
        guard let own else { return format.map { decorum_can_encode($0) != 0 } ?? false }
        return own.makeEncoder != nil && hasUsableName
    }

    /// Whether two codings have one name.
    public static func == (one: ContentCoding, other: ContentCoding) -> Bool { one.name == other.name }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
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

    /// The codings that the fields of a message name, in the order in which they were applied, without `identity`.
    package static func applied(to fields: HTTPFields) -> [ContentCoding] {
        guard fields.has(.contentEncoding), let value = fields[.contentEncoding] else { return [] }
        return ListMembers(value).map { ContentCoding($0) }.filter { $0.name != "identity" }
    }
}

/// Content could not be decoded from its content coding, or could not be encoded.
///
/// The error is thrown where the content is read; the head of the response has arrived before.
public struct ContentCodingError: DescribableError, Hashable {
    /// The cause of the failure; a limit has the name that it has in ``ContentDecodingLimits``.
    package enum Reason: String, Sendable {
        /// The bytes are not in the coding, or were damaged.
        case malformed
        /// The coded content ends too early.
        case truncated
        /// Other bytes follow the end of the coded content.
        case trailingData
        case maximumLength, maximumRatio, maximumCodings
        /// The coding is unknown, or its library is not installed.
        case unavailable
        /// The content needs more memory at a time than HTTP allows for its coding (RFC 9659).
        case largeWindow
        /// The library could not get the memory that it needs.
        case outOfMemory
        /// The encoder of a coding of the app's own has failed.
        case unencodable
    }

    package let reason: Reason
    /// The response with the content, in words; nil if only its body was read.
    var response: String?
    private let event: String

    /// Creates the error of a coding.
    init(_ reason: Reason, _ coding: ContentCoding) {
        self.reason = reason
        event =
            switch reason {
            case .truncated:
                "The content ends before the end of its coding \(coding): the server or a proxy has cut it. Send the request "
                    + "again if its method is idempotent."
            case .trailingData: "Other bytes follow the end of the content in the coding \(coding)."
            case .unavailable:
                "The coding \(coding.name.prefix(32).debugDescription) is unknown or its library is missing."
            case .largeWindow:
                "The content in the coding \(coding) needs a window of more than 8 MiB, which HTTP does not allow "
                    + "(RFC 9659); the server has to compress it with a smaller one."
            case .unencodable: "The encoder of the coding \(coding) has failed."
            case .outOfMemory: "There is not enough memory for the coding \(coding)."
            default: "The content is not in the coding \(coding) that its Content-Encoding names, or is damaged."
            }
    }

    /// Creates the error of a limit.
    init(_ reason: Reason, _ event: String) {
        self.reason = reason
        self.event = "\(event) ContentDecodingLimits.\(reason.rawValue) to accept it."
    }

    /// The name of the reason, such as `truncated` or `maximumLength`, suitable for a metric.
    public var shortDescription: String { reason.rawValue }

    /// A sentence that says what happened and, for a limit, which one to raise; and the response if it is known.
    public var description: String { event + (response.map { " The content belongs to the \($0)." } ?? "") }
}
