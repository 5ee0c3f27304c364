extension HAR {
    /// The request of an exchange.
    public struct Request: Sendable, Hashable {
        /// The method.
        public var method: String
        /// The URL, without its fragment.
        public var url: String
        /// The version of HTTP.
        public var httpVersion: String
        /// The cookies that were sent.
        public var cookies: [Cookie]
        /// The header fields in their order, repeats included.
        public var headers: [Field]
        /// The names and values of the query.
        public var queryString: [Field]
        /// The content.
        public var postData: PostData?
        /// The number of bytes of the head; -1 where nobody knows.
        public var headersSize: Int
        /// The number of bytes of the content; -1 where nobody knows.
        public var bodySize: Int
        /// The members that the format does not name, in their order; by convention their names start with an underscore.
        public var custom: [JSONValue.Member] = []

        /// Creates a request.
        ///
        /// - Parameters:
        ///   - method: The method.
        ///   - url: The URL.
        ///   - headers: The header fields.
        ///   - postData: The content.
        public init(method: String, url: String, headers: [Field] = [], postData: PostData? = nil) {
            self.method = method
            self.url = url
            self.headers = headers
            self.postData = postData
            httpVersion = "HTTP/1.1"
            cookies = []
            queryString = []
            headersSize = -1
            bodySize = -1
        }
    }

    /// The content of a request.
    public struct PostData: Sendable, Hashable {
        /// The media type.
        public var mimeType: String
        /// The content as text; nil where only ``params`` tell it.
        public var text: String?
        /// The parts of a form.
        public var params: [Parameter]
        /// How the text stands for bytes, such as `base64`, which only newer drafts of the format and tools write.
        public var encoding: String?
        /// The name of a file beside the archive that holds the content, which some tools write as `_file`.
        public var file: String?
        /// The value of a content of which some tools keep no text, as `textJSON`.
        public var value: JSONValue?
        /// The members that the format does not name, in their order; by convention their names start with an underscore.
        public var custom: [JSONValue.Member] = []

        /// Creates the content of a request.
        ///
        /// - Parameters:
        ///   - mimeType: The media type.
        ///   - text: The content as text.
        ///   - params: The parts of a form.
        ///   - encoding: How the text stands for bytes.
        public init(mimeType: String, text: String? = nil, params: [Parameter] = [], encoding: String? = nil) {
            self.mimeType = mimeType
            self.text = text
            self.params = params
            self.encoding = encoding
        }
    }

    /// A part of a form.
    public struct Parameter: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value, or the content of a file.
        public var value: String?
        /// The name of a file.
        public var fileName: String?
        /// The media type of a file.
        public var contentType: String?
        /// How the value stands for bytes, such as `base64`.
        public var encoding: String?

        /// Creates a part of a form.
        ///
        /// - Parameters:
        ///   - name: The name.
        ///   - value: The value.
        public init(_ name: String, _ value: String?) {
            self.name = name
            self.value = value
        }
    }
}
