public import Decorum
public import Foundation
import HTTPTypes

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
    struct Part: Sendable {
        let name: String
        let fileName: String?
        let mediaType: String?
        let body: Body
    }

    private(set) var parts: [Part] = []

    /// Creates a form without parts.
    public init() {}

    /// Adds a field.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - value: The value, in which each line break becomes CRLF, as browsers send it; nothing is added if it is nil.
    public mutating func append(_ name: String, _ value: (any ParameterValue)?) {
        guard let value else { return }
        let text = value.parameterText.withNetworkLineBreaks
        append(name, Body(Data(text.utf8)), named: nil)
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
        append(name, try Body(contentsOf: file), named: fileName ?? file.lastPathComponent, as: mediaType)
    }

    /// Adds content from memory or from a stream, as a file if it has a file's name.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - body: The content, which is sent as it is; give a stream its length if that is known.
    ///   - fileName: The name that the server gets; nil for a field that is no file.
    ///   - mediaType: The media type; nil for that of the body, and for a file without one, `application/octet-stream`.
    public mutating func append(_ name: String, _ body: Body, named fileName: String?, as mediaType: String? = nil) {
        let type = mediaType ?? body.mediaType ?? (fileName == nil ? nil : "application/octet-stream")
        parts.append(Part(name: name, fileName: fileName, mediaType: type, body: body))
    }
}

extension Multipart: ExpressibleByDictionaryLiteral {
    /// Creates a form of fields that are no files; a pair whose value is nil is left out.
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
        RequestContent { Body(multipart: form, generator: generator) }
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

extension Body {
    /// Creates a body from the fields and files of a form, with the media type `multipart/form-data` and its boundary.
    ///
    /// It can be read as often as each of its parts can. The length is known where that of each part is; a server that wants
    /// `Content-Length` needs it.
    ///
    /// - Parameters:
    ///   - form: The fields and files.
    ///   - generator: The source of the boundary between the parts.
    public init(multipart form: Multipart, generator: any RandomGenerator = SystemGenerator()) {
        let boundary = MultipartBoundary.random(generator)
        var pieces: [Body] = []
        for (index, part) in form.parts.enumerated() {
            let head = MultipartHead.bytes(part, boundary: boundary)
            pieces.append(Body(index == 0 ? head : Data("\r\n".utf8) + head))
            pieces.append(part.body)
        }
        pieces.append(Body(Data("\(form.parts.isEmpty ? "" : "\r\n")--\(boundary)--\r\n".utf8)))
        self = Body(joining: pieces).typed(as: "multipart/form-data; boundary=\(boundary)")
    }

    /// Content of at most this many bytes is copied into one piece of memory, which every layer can compare and sign.
    private static let copyLimit: Int64 = 256 << 10

    private init(joining pieces: [Body]) {
        let length = pieces.reduce(Int64?(0)) { sum, piece in sum.flatMap { sum in piece.length.map { sum + $0 } } }
        if let length, length <= Self.copyLimit, pieces.allSatisfy({ $0.bytes != nil }) {
            self.init(pieces.reduce(into: Data(capacity: Int(length))) { $0 += $1.bytes ?? Data() })
            return
        }
        let replay = pieces.map(\.replay).min() ?? .fromAnyOffset
        self.init(length: length, replay: length == nil ? Swift.min(replay, .fromStart) : replay) { offset in
            try await JoinedBodyReader(pieces, from: offset)
        }
    }
}

/// Reads bodies one behind the other, and opens each when the one before it has ended.
private struct JoinedBodyReader: BodyReader {
    private var pieces: ArraySlice<Body>
    private var reader: (any BodyReader)?

    init(_ pieces: [Body], from offset: Int64) async throws {
        var rest = pieces[...]
        var offset = offset
        while let length = rest.first?.length, offset > 0, offset >= length {
            offset -= length
            rest.removeFirst()
        }
        reader = try await rest.popFirst()?.open(at: offset)
        self.pieces = rest
    }

    mutating func next() async throws -> Data? {
        while reader != nil {
            if let chunk = try await reader?.next() { return chunk }
            reader = try await pieces.popFirst()?.open()
        }
        return nil
    }

    // The fields behind the content of one part are no fields of the whole.
    var trailers: HTTPFields? { nil }
}

/// The text that separates the parts, whose 160 random bits are not in them by chance, nor can content be made with them.
private enum MultipartBoundary {
    static func random(_ generator: any RandomGenerator) -> String {
        let digits = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        var text = Array("decorum-".utf8)
        let end = text.count + 32
        while text.count < end {
            var bits = generator.next()
            for _ in 0..<min(12, end - text.count) {
                text.append(digits[Int(bits & 31)])
                bits >>= 5
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// The bytes in front of the content of one part: the delimiter and the fields of the part.
enum MultipartHead {
    static func bytes(_ part: Multipart.Part, boundary: String) -> Data {
        var bytes = Array("--\(boundary)\r\nContent-Disposition: form-data; name=\"".utf8)
        var name: [UInt8] = []
        append(text: part.name, to: &name)
        append(quoted: name, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
        if let fileName = part.fileName {
            bytes += "; filename=\"".utf8
            append(quoted: fileName.utf8, to: &bytes)
            bytes.append(UInt8(ascii: "\""))
        }
        if let mediaType = part.mediaType {
            bytes += "\r\nContent-Type: ".utf8
            // A line break would begin another field.
            bytes += mediaType.utf8.filter { $0 >= 0x20 && $0 != 0x7F }
        }
        bytes += "\r\n\r\n".utf8
        return Data(bytes)
    }

    /// Appends a text with CRLF in the place of each CR, LF and CRLF (HTML, section 4.10.21.8).
    static func append(text: String, to bytes: inout [UInt8]) {
        var previous: UInt8 = 0
        for byte in text.utf8 {
            switch byte {
            case 0x0D: bytes += [0x0D, 0x0A]
            case 0x0A where previous == 0x0D: break
            case 0x0A: bytes += [0x0D, 0x0A]
            default: bytes.append(byte)
            }
            previous = byte
        }
    }

    /// Appends a name with escapes for line breaks and quotes, as browsers send it; a backslash escapes nothing there.
    private static func append(quoted name: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        for byte in name {
            switch byte {
            case 0x0A: bytes += "%0A".utf8
            case 0x0D: bytes += "%0D".utf8
            case UInt8(ascii: "\""): bytes += "%22".utf8
            default: bytes.append(byte)
            }
        }
    }
}
