public import Decorum
public import Foundation

/// The fields and files of a form with the media type `multipart/form-data` (RFC 7578).
///
/// ```swift
/// var form: Multipart = ["title": "Summer", "public": true]
/// try form.append("photo", file: photo)
/// let upload = Endpoint<Photo>.post("photos", content: .multipart(form))
/// ```
///
/// Files and streams are read while they are sent, so that the memory it takes does not depend on their length. The length of
/// the whole is known where the length of each part is.
public struct Multipart: Sendable {
    /// One field or file of a form.
    public struct Part: Sendable {
        /// The name of the field.
        public var name: String
        /// The name of the file, which a server must not use as a path; nil for a field that is no file.
        public var fileName: String?
        /// The media type; nil for text, which needs none.
        public var mediaType: String?
        /// The content.
        public var body: Body

        /// Creates a part.
        ///
        /// - Parameters:
        ///   - name: The name of the field.
        ///   - body: The content, which is sent as it is.
        ///   - fileName: The name of the file; nil for a field that is no file.
        ///   - mediaType: The media type; nil for that of the body, and for a file without one, `application/octet-stream`.
        public init(_ name: String, _ body: Body, fileName: String? = nil, mediaType: String? = nil) {
            self.name = name
            self.body = body
            self.fileName = fileName
            self.mediaType = mediaType ?? body.mediaType ?? (fileName == nil ? nil : "application/octet-stream")
        }
    }

    /// The parts, in the order in which they are sent.
    public var parts: [Part] = []

    /// Creates a form without parts.
    public init() {}

    /// Adds a field.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - value: The value, in which each line break becomes CRLF, as browsers send it; nothing is added where it is nil.
    public mutating func append(_ name: String, _ value: (any ParameterValue)?) {
        guard let value else { return }
        let text = value.parameterText.withNetworkLineBreaks
        parts.append(Part(name, Body(Data(text.utf8))))
    }

    /// Adds a file, which is read while it is sent.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - file: The URL of a regular file.
    ///   - fileName: The name that the server gets; nil for that of the file.
    ///   - mediaType: The media type; nil for that of the file's name.
    /// - Throws: An error of Foundation's when there is no such file.
    public mutating func append(
        _ name: String, file: URL, named fileName: String? = nil, as mediaType: String? = nil
    ) throws {
        parts.append(
            Part(
                name, try Body(contentsOf: file), fileName: fileName ?? file.lastPathComponent, mediaType: mediaType))
    }

    /// Adds content from memory or from a stream as a file.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - body: The content; give a stream its length where that is known.
    ///   - fileName: The name that the server gets.
    ///   - mediaType: The media type; nil for that of the body.
    public mutating func append(_ name: String, _ body: Body, named fileName: String, as mediaType: String? = nil) {
        parts.append(Part(name, body, fileName: fileName, mediaType: mediaType))
    }
}

extension Multipart: ExpressibleByDictionaryLiteral {
    /// Creates a form of fields that are no files.
    ///
    /// - Parameter elements: The names and values; a pair whose value is nil is left out.
    public init(dictionaryLiteral elements: (String, (any ParameterValue)?)...) {
        for (name, value) in elements { append(name, value) }
    }
}

extension RequestContent {
    /// A form with fields and files, with the media type `multipart/form-data`.
    ///
    /// - Parameters:
    ///   - form: The fields and files.
    ///   - generator: The source of the boundary between the parts.
    /// - Returns: The content.
    public static func multipart(
        _ form: Multipart, generator: any RandomGenerator = SystemGenerator()
    ) -> RequestContent {
        RequestContent { try Body(multipart: form, generator: generator) }
    }
}

extension String {
    /// The text with CRLF in the place of each line break.
    fileprivate var withNetworkLineBreaks: String {
        guard utf8.contains(where: { $0 == 0x0A || $0 == 0x0D }) else { return self }
        var bytes: [UInt8] = []
        MultipartHead.append(text: self, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
