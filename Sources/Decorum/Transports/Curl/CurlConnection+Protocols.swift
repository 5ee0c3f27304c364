#if os(Linux)
import DecorumCurl

extension CurlConnection {
    /// The versions of HTTP that are offered to a server.
    public struct Protocols: Sendable, Hashable, CustomStringConvertible {
        /// The name of the choice, as in `HTTP/1.1`.
        public let description: String
        private let number: UInt32

        private init(_ description: String, _ number: Int) {
            self.description = description
            self.number = UInt32(number)
        }

        /// HTTP/2 where the server agrees to it within TLS, else HTTP/1.1.
        public static let negotiated = Protocols("negotiated", Int(DECORUM_CURL_HTTP_VERSION_2TLS))
        /// HTTP/1.1 only.
        public static let http1 = Protocols("HTTP/1.1", Int(DECORUM_CURL_HTTP_VERSION_1_1))
        /// HTTP/2 only, also without TLS, for servers that are known to support it.
        ///
        /// Without TLS, libcurl 7.88 opens a new connection for each request, because it cannot reuse one; 8.0 can.
        public static let http2 = Protocols("HTTP/2", Int(DECORUM_CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE))
    }
}

extension CurlConnection.Protocols {
    /// The versions to offer with TLS.
    var secureVersion: Int { Int(number) }
    /// The version without TLS, where nothing is negotiated.
    var clearVersion: Int { self == .http2 ? Int(number) : Int(DECORUM_CURL_HTTP_VERSION_1_1) }
}
#endif
