public import Decorum
public import Foundation

/// An HTTP archive: exchanges in the format 1.2 that browsers and proxies write and open.
///
/// Reading forgives what real tools do to the format; ``document()`` writes what the format asks for.
///
/// Nothing is redacted here: an archive holds the secrets of its exchanges in several places at once.
public struct HAR: Sendable, Hashable {
    /// The version of the format.
    public var version: String
    /// What wrote the archive.
    public var creator: Creator
    /// The browser that made the exchanges.
    public var browser: Creator?
    /// The pages that the exchanges belong to.
    public var pages: [Page]
    /// The exchanges, in the order in which they began.
    public var entries: [Entry]
    /// A remark.
    public var comment: String?
    /// The members that the format does not name, in their order; by convention their names start with an underscore.
    public var custom: [JSONValue.Member] = []

    /// Creates an archive.
    ///
    /// - Parameters:
    ///   - entries: The exchanges.
    ///   - pages: The pages that they belong to.
    ///   - creator: What wrote the archive.
    public init(
        entries: [Entry] = [], pages: [Page] = [],
        creator: Creator = Creator(name: "Decorum", version: PackageVersion.current)
    ) {
        version = "1.2"
        self.creator = creator
        self.pages = pages
        self.entries = entries
    }

    /// Reads an archive.
    ///
    /// - Parameter document: The archive as JSON, with or without a byte order mark.
    /// - Throws: ``HARFormatError`` where it is not JSON, or an exchange lacks its request or its URL.
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
        /// A remark.
        public var comment: String?

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

    /// A page whose loading caused exchanges.
    public struct Page: Sendable, Hashable {
        /// The name by which exchanges refer to it.
        public var id: String
        /// Its title.
        public var title: String
        /// When its loading began.
        public var startedAt: Date?
        /// The milliseconds until its content had been loaded.
        public var onContentLoad: Double?
        /// The milliseconds until all of it had been loaded.
        public var onLoad: Double?
        /// The members that the format does not name, in their order; by convention their names start with an underscore.
        public var custom: [JSONValue.Member] = []

        /// Creates a page.
        ///
        /// - Parameters:
        ///   - id: The name by which exchanges refer to it.
        ///   - title: Its title.
        ///   - startedAt: When its loading began.
        public init(id: String, title: String = "", startedAt: Date? = nil) {
            self.id = id
            self.title = title
            self.startedAt = startedAt
        }
    }

    /// A name and a value: a field, or a part of a query.
    public struct Field: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String

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
    public struct Cookie: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String
        /// The path to which it is sent.
        public var path: String?
        /// The domain to which it is sent.
        public var domain: String?
        /// The end of its life, as the archive writes it.
        public var expires: String?
        /// Whether scripts cannot read it.
        public var isHTTPOnly: Bool?
        /// Whether it is sent over secure connections only.
        public var isSecure: Bool?

        /// Creates a cookie.
        ///
        /// - Parameters:
        ///   - name: The name.
        ///   - value: The value.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }
}
