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
        ///
        /// A request whose content is a stream, neither bytes nor a file, is sent over HTTP/1.1, on a connection of its own
        /// or one that such requests have left. Over HTTP/2, libcurl does not report that a response has ended before all
        /// content of its request is sent: a caller that waits for that end to go on with the content would wait until the
        /// idle timeout. libcurl also drops the trailer fields of a request over HTTP/2. For a server that refuses
        /// HTTP/1.1, use ``http2``.
        public static let negotiated = Protocols("negotiated", Int(DECORUM_CURL_HTTP_VERSION_2TLS))
        /// HTTP/1.1 only.
        public static let http1 = Protocols("HTTP/1.1", Int(DECORUM_CURL_HTTP_VERSION_1_1))
        /// HTTP/2 only, also without TLS, for servers that are known to support it.
        ///
        /// Streams are sent over HTTP/2 too. So a response without `Content-Length` that is complete before its request
        /// ends only when all content of the request is sent, when the server resets the stream, or with the idle timeout;
        /// and the trailer fields of a request are not sent.
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

    /// Whether a request is sent over HTTP/1.1 even to a server that agrees to HTTP/2.
    ///
    /// Over HTTP/2, libcurl does not report the end of a response before all of the request's content is sent. Content that
    /// is at hand is sent as fast as the server takes it, but a stream may wait for that very response.
    func avoidHTTP2(for body: Body, isSecure: Bool) -> Bool {
        self == .negotiated && isSecure && !body.isAtHand && !body.isEmpty
    }
}
#endif
