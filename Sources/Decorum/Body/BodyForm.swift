public import Foundation

extension Body {
    /// Creates a body from the fields of a form, with the media type `application/x-www-form-urlencoded`.
    ///
    /// ```swift
    /// let form = Body(form: ["grant_type": "client_credentials", "scope": "read write"])
    /// // grant_type=client_credentials&scope=read+write
    /// ```
    ///
    /// The fields keep their order, and a name may occur several times. Names and values are encoded as browsers encode
    /// them (URL Standard, section 5.2): a blank as `+`, and other bytes of UTF-8 as `%` and two digits, except for
    /// ASCII letters, ASCII digits and `*-._`.
    ///
    /// - Parameter fields: The names and values.
    public init(form fields: KeyValuePairs<String, String>) {
        self.init(form: fields.map { ($0.key, $0.value) })
    }

    /// Creates a body from the computed fields of a form, by the rules of ``init(form:)-(KeyValuePairs<String,String>)``.
    public init(form fields: [(name: String, value: String)]) {
        let pairs = fields.map { PercentCoding.encodeForForm($0.name) + "=" + PercentCoding.encodeForForm($0.value) }
        self.init(
            .bytes(Data(pairs.joined(separator: "&").utf8)), mediaType: "application/x-www-form-urlencoded")
    }
}

extension PercentCoding {
    fileprivate static func encodeForForm(_ text: String) -> String {
        let bytes = text.utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: " "): [UInt8(ascii: "+")]
            case UInt8(ascii: "*"): [byte]
            case UInt8(ascii: "~"): Array("%7E".utf8)
            default: encode(CollectionOfOne(byte))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Body {
    /// The content, alone or beside a media type.
    ///
    /// The type is behind a reference, so that a body without one is not larger to copy.
    enum Holding: Sendable {
        case plain(Storage)
        indirect case typed(Storage, mediaType: String?)
    }

    var storage: Storage {
        switch holding {
        case .plain(let storage), .typed(let storage, _): storage
        }
    }

    /// Creates a body from text in UTF-8, with the media type `text/plain; charset=utf-8`.
    public init(_ text: String) {
        self.init(.bytes(Data(text.utf8)), mediaType: "text/plain; charset=utf-8")
    }

    /// Creates a body from a value, as JSON, with the media type `application/json`.
    ///
    /// - Parameters:
    ///   - value: The value to encode.
    ///   - encoder: The encoder.
    /// - Throws: The encoder's error.
    public init(json value: some Encodable, using encoder: JSONEncoder = JSONEncoder()) throws {
        self.init(.bytes(try encoder.encode(value)), mediaType: "application/json")
    }

    /// The media type of the content (RFC 9110, section 8.3.1); nil when not known.
    ///
    /// JSON, text and forms have the type of their initializer, and a file has the type of its name's extension.
    /// ``typed(as:)`` sets any other. A request takes the type over as its `Content-Type`: see ``Request/body``.
    public var mediaType: String? {
        switch holding {
        case .typed(_, let mediaType): mediaType
        case .plain(.file(let file)): FileMediaType.types[file.url.pathExtension.lowercased()]
        case .plain: nil
        }
    }

    /// States the media type of the content.
    ///
    /// ```swift
    /// let image = Body(bytes).typed(as: "image/png")
    /// ```
    ///
    /// The type has its parameters; nil stands for a type that is not known.
    public func typed(as mediaType: String?) -> Body {
        Body(storage, mediaType: mediaType)
    }

    /// Takes over the media type of the body that this body was made from.
    func typed(like other: Body) -> Body {
        other.mediaType.map { typed(as: $0) } ?? self
    }
}

extension Body: ExpressibleByStringLiteral {
    /// Creates a body from text in UTF-8.
    public init(stringLiteral value: String) {
        self.init(value)
    }
}

/// The media types of common extensions of file names, as they are registered with IANA.
///
/// Text has no `charset` here: the encoding of a file is not known.
private enum FileMediaType {
    static let types = [
        "avif": "image/avif", "bin": "application/octet-stream", "bmp": "image/bmp", "css": "text/css",
        "csv": "text/csv", "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic", "htm": "text/html",
        "html": "text/html", "ics": "text/calendar", "jpeg": "image/jpeg", "jpg": "image/jpeg",
        "js": "text/javascript", "json": "application/json", "m4a": "audio/mp4", "md": "text/markdown",
        "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4", "ndjson": "application/x-ndjson",
        "ogg": "audio/ogg", "pdf": "application/pdf", "png": "image/png", "svg": "image/svg+xml",
        "tiff": "image/tiff", "txt": "text/plain", "wasm": "application/wasm", "wav": "audio/wav",
        "webm": "video/webm", "webp": "image/webp", "xml": "application/xml", "yaml": "application/yaml",
        "yml": "application/yaml", "zip": "application/zip",
    ]
}
