public import Decorum
public import Foundation

/// An HTTP archive: exchanges in the format HAR 1.2, which browsers and proxies write and open.
///
/// Reading accepts deviations of real tools from the format; ``document()`` writes the strict format.
///
/// An archive is not redacted: it holds the secrets of its exchanges in several places at once. Its description, and that of
/// each part, shows no secret. Members that the format does not name are kept, in their order.
public struct HAR: Sendable, Hashable, SecretHolder {
    /// The version of the format.
    public var version: String
    /// The program that wrote the archive.
    public var creator: Creator
    /// The exchanges, in the order in which they began.
    public var entries: [Entry]
    package var comment: String?
    /// The browser and the pages of the exchanges, as they are written.
    var browser, pages: JSONValue?
    package var custom: [JSONValue.Member] = []

    /// The number of exchanges.
    public var description: String { "archive of \(entries.count) entries" }

    /// Creates an archive.
    ///
    /// - Parameters:
    ///   - entries: The exchanges.
    ///   - creator: The program that wrote the archive.
    public init(
        entries: [Entry] = [], creator: Creator = Creator(name: "Decorum", version: PackageVersion.current)
    ) {
        version = "1.2"
        self.creator = creator
        self.entries = entries
    }

    /// Reads an archive.
    ///
    /// - Parameter document: The archive as JSON, with or without a byte order mark.
    /// - Throws: ``HARFormatError`` when it is not JSON, or when an exchange has no request or no URL.
    public init(_ document: Data) throws {
        let bytes = Array(document)
        do {
            try self.init(JSONValue(parsing: bytes))
        } catch let error as JSONSyntaxError {
            throw HARFormatError(reason: error.reason, path: nil, line: error.line(in: bytes))
        }
    }

    /// Writes the archive as JSON.
    ///
    /// - Returns: The document, indented and with a line break at its end.
    public func document() -> Data {
        Data(json.document(indentation: 2) + [UInt8(ascii: "\n")])
    }
}

extension HAR {
    /// A program and its version.
    public struct Creator: Sendable, Hashable {
        /// The name of the program.
        public var name: String
        /// Its version.
        public var version: String
        package var comment: String?

        /// Creates the name of a program.
        ///
        /// - Parameters:
        ///   - name: The name.
        ///   - version: The version.
        public init(name: String, version: String) {
            self.name = name
            self.version = version
        }
    }

    /// A name and a value: a field, or a part of a query.
    public struct Field: Sendable, Hashable, SecretHolder {
        /// The name.
        public var name: String
        /// The value.
        public var value: String

        /// The name.
        public var description: String { "field \(name)" }

        /// Creates a name and a value.
        ///
        /// - Parameters:
        ///   - name: The name.
        ///   - value: The value.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// A cookie that was sent or set.
    public struct Cookie: Sendable, Hashable, SecretHolder {
        /// The name.
        public var name: String
        /// The value.
        public var value: String
        /// The path to which it is sent.
        public var path: String?
        /// The domain to which it is sent.
        public var domain: String?
        /// The expiry date, as the archive writes it.
        public var expires: String?
        /// Whether scripts cannot read it.
        public var isHTTPOnly: Bool?
        /// Whether it is sent over secure connections only.
        public var isSecure: Bool?

        /// The name.
        public var description: String { "cookie \(name)" }

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }
}

extension HAR {
    /// One exchange.
    public struct Entry: Sendable, Hashable, SecretHolder {
        /// The time at which it began; nil when the archive does not have it.
        public var startedAt: Date?
        /// The milliseconds that it took; -1 when not known.
        public var time: Double
        /// The request.
        public var request: Request
        /// The response; its status is 0 or less when the exchange failed.
        public var response: Response
        /// The milliseconds that each part took.
        public var timings: Timings
        package var pageref: String?
        /// The address of the server.
        public var serverIPAddress: String?
        package var connection: String?
        package var comment: String?
        /// The facts about caches, as they are written.
        package var cache: JSONValue = .object([])
        package var custom: [JSONValue.Member] = []

        /// The request and the response, as they describe themselves.
        public var description: String { "\(request), \(response)" }

        /// Creates an exchange.
        ///
        /// - Parameters:
        ///   - request: The request.
        ///   - response: The response.
        ///   - startedAt: When it began.
        ///   - timings: The milliseconds that each part took.
        public init(request: Request, response: Response, startedAt: Date? = nil, timings: Timings = Timings()) {
            self.request = request
            self.response = response
            self.startedAt = startedAt
            self.timings = timings
            time = timings.total
        }
    }

    /// The milliseconds that the parts of an exchange took, or -1 for a part that does not apply.
    public struct Timings: Sendable, Hashable {
        /// Waiting for a connection.
        public var blocked: Double
        /// Finding the host's address.
        public var dns: Double
        /// Connecting, with the time for TLS.
        public var connect: Double
        /// Sending the request.
        public var send: Double
        /// Waiting for the response.
        public var wait: Double
        /// Reading the response.
        public var receive: Double
        /// Agreeing on TLS, which is a part of connecting.
        public var ssl: Double

        /// Creates the times of an exchange.
        ///
        /// - Parameters:
        ///   - blocked: Waiting for a connection.
        ///   - dns: Finding the host's address.
        ///   - connect: Connecting, with the time for TLS.
        ///   - send: Sending the request.
        ///   - wait: Waiting for the response.
        ///   - receive: Reading the response.
        ///   - ssl: Agreeing on TLS.
        public init(
            blocked: Double = -1, dns: Double = -1, connect: Double = -1, send: Double = 0, wait: Double = 0,
            receive: Double = 0, ssl: Double = -1
        ) {
            self.blocked = blocked
            self.dns = dns
            self.connect = connect
            self.send = send
            self.wait = wait
            self.receive = receive
            self.ssl = ssl
        }

        /// The sum of the parts that apply; TLS is within connecting.
        public var total: Double {
            [blocked, dns, connect, send, wait, receive].filter { $0 > 0 }.reduce(0, +)
        }
    }
}

extension HAR {
    /// The request of an exchange.
    public struct Request: Sendable, Hashable, SecretHolder {
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
        package var headersSize: Int
        /// The number of bytes of the content; -1 when not known.
        public var bodySize: Int
        package var custom: [JSONValue.Member] = []

        /// The method and the URL, without its fragment and the secrets that `Redaction.standard` knows.
        public var description: String { "\(method) \(Redaction.described(url))" }

        package init(method: String, url: String, headers: [Field] = [], postData: PostData? = nil) {
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
    public struct PostData: Sendable, Hashable, SecretHolder {
        /// The media type.
        public var mimeType: String
        /// The content as text; nil when only ``params`` has it.
        public var text: String?
        /// The parts of a form.
        public var params: [Parameter]
        /// The encoding of bytes in the text, such as `base64`, which only newer drafts of the format and tools write.
        public var encoding: String?
        /// The name of a file next to the archive that holds the content, which some tools write as `_file`.
        package var file: String?
        /// The content as a JSON value, which some tools write as `textJSON` instead of text.
        package var value: JSONValue?
        package var custom: [JSONValue.Member] = []

        /// The media type and the length of the text.
        public var description: String { "\(mimeType), \(text?.utf8.count ?? 0) bytes" }

        package init(mimeType: String, text: String? = nil, params: [Parameter] = [], encoding: String? = nil) {
            self.mimeType = mimeType
            self.text = text
            self.params = params
            self.encoding = encoding
        }
    }

    /// A part of a form.
    public struct Parameter: Sendable, Hashable, SecretHolder {
        /// The name.
        public var name: String
        /// The value, or the content of a file.
        public var value: String?
        /// The name of a file.
        public var fileName: String?
        /// The media type of a file.
        public var contentType: String?
        package var encoding: String?

        /// The name.
        public var description: String { "parameter \(name)" }

        package init(_ name: String, _ value: String?) {
            self.name = name
            self.value = value
        }
    }
}

extension HAR {
    /// The response of an exchange.
    public struct Response: Sendable, Hashable, SecretHolder {
        /// The status code; 0 or less when the exchange failed.
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
        /// The value of `Location`; empty when absent.
        public var redirectURL: String
        package var headersSize: Int
        /// The number of bytes of the content as it was transferred; -1 when not known.
        public var bodySize: Int
        /// The failure of the exchange, which browsers write as `_error`, since the format has no member for it.
        public var failure: String?
        package var custom: [JSONValue.Member] = []

        /// The code of the status, and the content.
        public var description: String { "\(status), \(content)" }

        package init(status: Int, headers: [Field] = [], content: Content = Content()) {
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
    public struct Content: Sendable, Hashable, SecretHolder {
        /// The number of bytes; nil when the archive does not have it.
        public var size: Int?
        package var compression: Int?
        /// The media type.
        public var mimeType: String
        /// The content, transcoded to UTF-8 if ``encoding`` is nil; nil when the archive does not have it.
        public var text: String?
        /// The encoding of bytes in the text, such as `base64`.
        public var encoding: String?
        /// The name of a file next to the archive that holds the content, which some tools write as `_file`.
        package var file: String?
        package var comment: String?
        package var custom: [JSONValue.Member] = []

        /// The media type and the length.
        public var description: String { "\(mimeType), \(size ?? text?.utf8.count ?? 0) bytes" }

        package init(mimeType: String = "", text: String? = nil, encoding: String? = nil) {
            self.mimeType = mimeType
            self.text = text
            self.encoding = encoding
        }
    }
}
