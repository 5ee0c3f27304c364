extension HAR {
    /// The response of an exchange.
    public struct Response: Sendable, Hashable {
        /// The status code; 0 or less where the exchange failed.
        public var status: Int
        /// The reason phrase.
        public var statusText: String
        /// The version of HTTP.
        public var httpVersion: String
        /// The cookies that were set.
        public var cookies: [Cookie]
        /// The header fields in their order, repeats included.
        public var headers: [Field]
        /// The content.
        public var content: Content
        /// The value of `Location`; empty where there is none.
        public var redirectURL: String
        /// The number of bytes of the head; -1 where nobody knows.
        public var headersSize: Int
        /// The number of bytes of the content as it was transferred; -1 where nobody knows.
        public var bodySize: Int
        /// How the exchange failed, which the format has no place for; browsers write it as `_error`.
        public var failure: String?
        /// The members that the format does not name, in their order; by convention their names start with an underscore.
        public var custom: [JSONValue.Member] = []

        /// Creates a response.
        ///
        /// - Parameters:
        ///   - status: The status code.
        ///   - headers: The header fields.
        ///   - content: The content.
        public init(status: Int, headers: [Field] = [], content: Content = Content()) {
            self.status = status
            self.headers = headers
            self.content = content
            statusText = ""
            httpVersion = "HTTP/1.1"
            cookies = []
            redirectURL = ""
            headersSize = -1
            bodySize = -1
        }
    }

    /// The content of a response, without its content coding.
    public struct Content: Sendable, Hashable {
        /// The number of bytes; nil where the archive does not say.
        public var size: Int?
        /// The bytes that a content coding saved.
        public var compression: Int?
        /// The media type.
        public var mimeType: String
        /// The content, transcoded to UTF-8 where ``encoding`` is nil; nil where the archive does not have it.
        public var text: String?
        /// How the text stands for bytes, such as `base64`.
        public var encoding: String?
        /// The name of a file beside the archive that holds the content, which some tools write as `_file`.
        public var file: String?
        /// A remark, such as that the content was cut off.
        public var comment: String?
        /// The members that the format does not name, in their order; by convention their names start with an underscore.
        public var custom: [JSONValue.Member] = []

        /// Creates the content of a response.
        ///
        /// - Parameters:
        ///   - mimeType: The media type.
        ///   - text: The content.
        ///   - encoding: How the text stands for bytes.
        public init(mimeType: String = "", text: String? = nil, encoding: String? = nil) {
            self.mimeType = mimeType
            self.text = text
            self.encoding = encoding
        }
    }
}
