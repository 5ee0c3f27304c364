public import Decorum
import Foundation
import HTTPTypes

extension Response {
    /// Reads the whole body as text in its charset: that of a byte order mark, or else the one that `Content-Type` names, or
    /// else UTF-8.
    ///
    /// ```swift
    /// let text = try await response.text(upTo: 1 << 20)
    /// ```
    ///
    /// - Parameters:
    ///   - limit: The largest number of bytes to accept.
    ///   - repairing: Whether bytes that are not valid become U+FFFD, as in browsers; if not, they are an error.
    /// - Returns: The text, without the byte order mark.
    /// - Throws: As `Body.collect(upTo:)` of the core, or ``TextDecodingError``, also for content that still has a content
    ///   coding.
    @concurrent public func text(upTo limit: Int, repairing: Bool = true) async throws -> String {
        let content = try await data(upTo: limit)
        let codings = ContentCoding.applied(to: head.headerFields)
        guard codings.isEmpty || content.isEmpty else { throw TextDecodingError(codings, of: self) }
        let label = head.headerFields[.contentType].flatMap { ParameterizedValue($0)["charset"] }
        let mark = Charset.marked(content)
        guard let charset = mark?.charset ?? label.map({ Charset(label: $0) }) ?? .utf8 else {
            throw TextDecodingError(unknownCharsetOf: self)
        }
        let bytes = content.dropFirst(mark?.markLength ?? 0)
        guard let text = charset.decode(bytes) else { throw TextDecodingError(charset, nil, of: self) }
        guard !repairing, text.unicodeScalars.contains("\u{FFFD}") else { return text }
        // A server may send the replacement character itself, which is valid.
        guard let offset = charset.offsetOfFault(in: bytes) else { return text }
        throw TextDecodingError(charset, offset + (mark?.markLength ?? 0), of: self)
    }
}

/// The content of a response is not text in its charset, its charset is not known, or it still has a content coding.
public struct TextDecodingError: DescribableError {
    /// The charset; nil where the label of `Content-Type` is not known, or where the content was not decoded.
    public let charset: Charset?
    /// The number of bytes before the first that is not valid; nil where that is not known.
    public let offset: Int?
    /// A sentence that names the response, with its URL but without the query; never a part of the content.
    public let description: String

    init(_ codings: [ContentCoding], of response: Response) {
        charset = nil
        offset = nil
        let names = Response.shown(codings.map(\.name).joined(separator: ", "))
        description =
            "The \(response.summary) has the content coding \(names), so it is no text; apply `decompressing()`."
    }

    init(unknownCharsetOf response: Response) {
        charset = nil
        offset = nil
        description =
            "The charset of the \(response.summary) is not known; read `body.data(upTo:)`, and decode it yourself."
    }

    init(_ charset: Charset, _ offset: Int?, of response: Response) {
        self.charset = charset
        self.offset = offset
        let place = offset.map { " from byte \($0 + 1) on" } ?? ""
        description = "The \(response.summary) has content that is not \(charset)\(place)."
    }
}

extension Charset {
    /// The number of bytes before the first that is not valid; nil where all are valid.
    fileprivate func offsetOfFault(in content: Data) -> Int? {
        switch name {
        case "utf-8":
            var (decoder, iterator, offset) = (UTF8.ForwardParser(), content.makeIterator(), 0)
            while true {
                switch decoder.parseScalar(from: &iterator) {
                case .valid(let scalar): offset += scalar.count
                case .error: return offset
                case .emptyInput: return nil
                }
            }
        case "utf-16le", "utf-16be":
            return offsetOfFault16(in: Array(content), isBigEndian: name == "utf-16be")
        default: return nil
        }
    }

    private func offsetOfFault16(in bytes: [UInt8], isBigEndian: Bool) -> Int? {
        let units = stride(from: 0, to: bytes.count - 1, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        var (decoder, iterator, offset) = (UTF16.ForwardParser(), units.makeIterator(), 0)
        while true {
            switch decoder.parseScalar(from: &iterator) {
            case .valid(let scalar): offset += 2 * scalar.count
            case .error: return offset
            case .emptyInput: return bytes.count.isMultiple(of: 2) ? nil : bytes.count - 1
            }
        }
    }
}
