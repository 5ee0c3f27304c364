#if os(Linux)
/// A failure as libcurl reports it, without any part of the request.
public struct CurlError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The number of the failure, a `CURLcode`.
    public let code: Int
    /// The text of libcurl for the number.
    public let text: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The number of the failure, a `CURLcode`.
    ///   - text: The text of libcurl for the number.
    public init(code: Int, text: String) {
        self.code = code
        self.text = text
    }

    /// The number and the text.
    public var description: String { "libcurl failed with \(code): \(text)." }
}
#endif
