#if os(Linux)
import Foundation

/// A failure as libcurl reports it, without any part of the request.
public struct CurlError: DescribableError, Hashable {
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

    /// The name of the library and the number, as a log shows them behind the error of the transport.
    public var shortDescription: String { "libcurl \(code)" }

    /// The number and the text.
    public var description: String { "libcurl failed with \(code): \(text)." }
}
#endif
