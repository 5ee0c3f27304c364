import Foundation

/// Content could not be decoded from its content coding, or could not be encoded.
///
/// The error is thrown where the content is read; the head of the response has arrived before.
public struct ContentCodingError: DescribableError, Hashable {
    /// The cause of the failure, as an open set.
    public struct Reason: Sendable, Hashable {
        /// The name of the reason, suitable for a metric.
        public let name: String

        /// Creates a custom reason.
        ///
        /// - Parameter name: The name of the reason.
        public init(_ name: String) {
            self.name = name
        }

        /// The bytes are not in the coding, or were damaged.
        public static let malformed = Reason("malformed")
        /// The coded content ends too early.
        public static let truncated = Reason("truncated")
        /// Other bytes follow the end of the coded content.
        public static let trailingData = Reason("trailingData")
        /// The content is longer than ``ContentDecodingLimits/maximumLength``.
        public static let maximumLength = Reason("maximumLength")
        /// The content is longer, in proportion, than ``ContentDecodingLimits/maximumRatio``.
        public static let maximumRatio = Reason("maximumRatio")
        /// The content has more codings than ``ContentDecodingLimits/maximumCodings``.
        public static let maximumCodings = Reason("maximumCodings")
        /// The coding is unknown, or its library is not installed.
        public static let unavailable = Reason("unavailable")
        /// The content needs more memory at a time than HTTP allows for its coding (RFC 9659).
        public static let largeWindow = Reason("largeWindow")
        /// The library could not get the memory that it needs.
        public static let outOfMemory = Reason("outOfMemory")
    }

    /// The cause of the failure.
    public let reason: Reason
    /// The response with the content, in words; nil where only its body was read.
    var response: String?
    private let event: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: The cause of the failure.
    ///   - description: A sentence that holds no content.
    public init(_ reason: Reason, _ description: String) {
        self.reason = reason
        event = description
    }

    /// A sentence that says what happened and, for a limit, which one to raise; and the response where it is known.
    public var description: String { event + (response.map { " The content belongs to the \($0)." } ?? "") }
}

extension ContentCodingError {
    /// The name of the reason.
    public var shortDescription: String { reason.name }

    static func malformed(_ coding: ContentCoding) -> Self {
        Self(.malformed, "The content is not in the coding \(coding) that its Content-Encoding names, or is damaged.")
    }

    static func truncated(_ coding: ContentCoding) -> Self {
        Self(
            .truncated,
            "The content ends before the end of its coding \(coding): the server or a proxy has cut it. Send the request again "
                + "if its method is idempotent.")
    }

    static func trailingData(_ coding: ContentCoding) -> Self {
        Self(.trailingData, "Other bytes follow the end of the content in the coding \(coding).")
    }

    static func maximumLength(_ limit: Int64) -> Self {
        Self(
            .maximumLength,
            "The decoded content has more than \(limit) bytes; raise ContentDecodingLimits.maximumLength to accept it.")
    }

    static func maximumRatio(_ limit: Int) -> Self {
        Self(
            .maximumRatio,
            "The decoded content is more than \(limit) times as long as it came; "
                + "raise ContentDecodingLimits.maximumRatio to accept it.")
    }

    static func maximumCodings(_ limit: Int, _ count: Int) -> Self {
        Self(
            .maximumCodings,
            "The content has \(count) codings; raise ContentDecodingLimits.maximumCodings from \(limit) to accept it.")
    }

    static func unavailable(_ coding: ContentCoding) -> Self {
        Self(
            .unavailable, "The coding \(coding.name.prefix(32).debugDescription) is unknown or its library is missing.")
    }

    static func largeWindow(_ coding: ContentCoding) -> Self {
        Self(
            .largeWindow,
            "The content in the coding \(coding) needs a window of more than 8 MiB, which HTTP does not allow (RFC 9659); "
                + "the server has to compress it with a smaller one.")
    }

    static func outOfMemory(_ coding: ContentCoding) -> Self {
        Self(.outOfMemory, "There is not enough memory for the coding \(coding).")
    }
}
