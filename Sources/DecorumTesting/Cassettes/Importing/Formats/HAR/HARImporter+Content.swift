import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// Reads the content of requests and responses.
extension HARImporter {
    func requestBody(
        _ request: HAR.Request, _ fields: HTTPFields, at node: StoredNode, _ draft: inout ImportDraft
    ) throws -> RecordedBody {
        let length = keepsBytes ? nil : fields.plainLength
        guard let content = request.postData else {
            return draft.checked(RecordedBody(), length: length, at: node)
        }
        if content.value != nil {
            return draft.document(node.at(".textJSON"))
        }
        let text = content.text ?? ""
        if text.isEmpty, let file = content.file {
            let body = try draft.sidecar(file, at: node.at("._file"))
            if body.exactness != .lossy || content.params.isEmpty { return body }
        }
        if text.isEmpty, !content.params.isEmpty {
            draft.warn(.rebuiltBody, at: node, "The body was put together from the parts of a form.")
            return RecordedBody(FormBody.bytes(of: content), exactness: .reserialized)
        }
        if content.encoding?.lowercased() == "base64" {
            return draft.base64(node.at(".text"))
        }
        // Replay does not mark the base64 that it uses for a body that is not UTF-8.
        let isCoded = request.headers.contains { $0.name.lowercased() == "content-encoding" }
        if isReplay, isCoded || !TextType.includes(content.mimeType), let bytes = StorageEncoding.base64(text),
            String(validating: bytes, as: UTF8.self) == nil
        {
            return RecordedBody(bytes)
        }
        let body = transcoded(text, type: content.mimeType, length: length, at: node.at(".text"), &draft)
        return draft.checked(body, length: length, at: node)
    }

    func responseBody(
        _ entry: HAR.Entry, _ fields: HTTPFields, at node: StoredNode, _ draft: inout ImportDraft
    ) throws -> RecordedBody {
        if hasNoChunks(entry) { return RecordedBody() }
        let content = entry.response.content
        let mayHaveContent = RecordedResponse.mayHaveContent(entry.response.status, to: entry.request.method)
        let comment = content.comment?.lowercased() ?? ""
        let isCut = comment.contains("truncat") || comment.contains("limit")
        let isWhole = mayHaveContent && !isCut && entry.response.failure == nil
        let length = keepsBytes || !isWhole ? nil : fields.plainLength
        if let file = content.file, content.text == nil {
            let body = try draft.sidecar(file, at: node.at("._file"))
            return untranscoded(body, type: mediaType(of: content, fields), length: length, at: node, &draft)
        }
        guard let text = content.text else {
            guard mayHaveContent, max(content.size ?? 0, length ?? 0) > 0 else { return RecordedBody() }
            draft.warn(.missingBody, at: node, "The archive has a response without its content.")
            return RecordedBody(exactness: .lossy)
        }
        var body = try storedBody(text, content, fields, length: length, at: node.at(".text"), &draft)
        guard isCut else { return draft.checked(body, length: length, at: node) }
        draft.warn(.missingBody, at: node, "The archive says that the content was cut off.")
        body.exactness = .lossy
        return body
    }

    /// The bytes of a file that may hold the text of an archive, as Playwright's do, or the original bytes.
    private func untranscoded(
        _ body: RecordedBody, type: String, length: Int?, at node: StoredNode, _ draft: inout ImportDraft
    ) -> RecordedBody {
        guard !keepsBytes, body.exactness == .exact, body.bytes.count != length, !UTF8Text.isWide(Array(body.bytes)),
            let text = String(validating: body.bytes, as: UTF8.self)
        else { return body }
        return transcoded(text, type: type, length: length, at: node.at("._file"), &draft)
    }

    private func mediaType(of content: HAR.Content, _ fields: HTTPFields) -> String {
        content.mimeType.lowercased().contains("charset=")
            ? content.mimeType : fields.first { $0.name == .contentType }?.value ?? content.mimeType
    }

    private func storedBody(
        _ text: String, _ content: HAR.Content, _ fields: HTTPFields, length: Int?, at node: StoredNode,
        _ draft: inout ImportDraft
    ) throws -> RecordedBody {
        let isBase64 = content.encoding?.lowercased() == "base64"
        let coding = fields.first { $0.name == .contentEncoding }?.value
        if isPolly, isBase64 || coding != nil,
            let bytes = try chunks(text, isBase64: isBase64, coding: coding, within: &draft.budget)
        {
            return RecordedBody(bytes)
        }
        if isBase64 { return draft.base64(node) }
        if isPolly, content.custom.contains(JSONValue.Member("_isBinary", .bool(true))) {
            return try binary(text, at: node, &draft)
        }
        return transcoded(text, type: mediaType(of: content, fields), length: length, at: node, &draft)
    }

    private func transcoded(
        _ text: String, type: String, length: Int?, at node: StoredNode, _ draft: inout ImportDraft
    ) -> RecordedBody {
        guard !node.value.hasLoneSurrogate else { return RecordedBody(Data(text.utf8), exactness: .lossy) }
        guard !keepsBytes else { return RecordedBody(Data(text.utf8)) }
        if let bytes = ArchivedText(text: text, type: type, length: length).bytes { return RecordedBody(bytes) }
        return draft.encoded(text, Charset(ofMediaType: type), named: "the charset of its media type", at: node)
    }
}

extension HTTPFields {
    /// The number of bytes of content that has no content coding.
    fileprivate var plainLength: Int? {
        guard !contains(.contentEncoding) else { return nil }
        return first { $0.name == .contentLength }.flatMap { Int($0.value) }
    }
}

extension ImportDraft {
    /// Content whose length is known, and which may have lost bytes when it became text or before.
    fileprivate mutating func checked(_ body: RecordedBody, length: Int?, at node: StoredNode) -> RecordedBody {
        guard let length, body.bytes.count != length, body.exactness == .exact else { return body }
        var body = body
        if body.bytes.count < length {
            warn(.missingBody, at: node, "The archive has \(body.bytes.count) bytes of content that had \(length).")
            body.exactness = .lossy
        } else if body.bytes.range(of: Data("\u{FFFD}".utf8)) != nil {
            warn(.damagedBody, at: node, "Bytes of the content that are not text were replaced in the archive.")
            body.exactness = .lossy
        }
        return body
    }
}
