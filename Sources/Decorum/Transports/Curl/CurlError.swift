#if os(Linux)
/// A failure as libcurl tells it, without anything of the request.
public struct CurlError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The number of the failure, a `CURLcode`.
    public let code: Int
    /// What libcurl says of the number.
    public let text: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The number of the failure, a `CURLcode`.
    ///   - text: What libcurl says of the number.
    public init(code: Int, text: String) {
        self.code = code
        self.text = text
    }

    /// The number and the text.
    public var description: String { "libcurl failed with \(code): \(text)." }
}
#endif
