import Decorum
import Foundation
import HTTPTypes

/// Reads HTTP archives, with what Polly.js, Replay and Playwright make of them.
struct HARImporter {
    /// The tools whose text is never transcoded, as they use base64 for all that is not UTF-8.
    private let keepsBytes: Bool
    private let isPolly: Bool
    private let isReplay: Bool

    init(_ format: ImportedCassette.Format) {
        isPolly = format == .polly
        isReplay = format == .replay
        keepsBytes = isPolly || isReplay
    }

    func read(_ root: StoredNode, into draft: inout ImportDraft) throws {
        let archive: HAR
        do {
            archive = try HAR(root.value.json)
        } catch {
            throw ImportFault(place: error.path, reason: error.reason)
        }
        for (index, entry) in archive.entries.enumerated() {
            var interaction = try interaction(entry, at: "$.log.entries[\(index)]", &draft)
            interaction.restore(from: entry)
            draft.interactions.append(interaction)
        }
    }

    private func interaction(_ entry: HAR.Entry, at place: String, _ draft: inout ImportDraft) throws -> Interaction {
        if entry.custom.contains(where: { $0.name == "_webSocketMessages" }) {
            draft.warn(.leftOut, at: place, "The messages of a WebSocket were left out.")
        }
        let request = RecordedRequest(
            method: ImportedMethod.method(entry.request.method), url: entry.request.url,
            fields: fields(entry.request.headers, at: place + ".request.headers", &draft),
            body: requestBody(entry.request, at: place + ".request.postData", &draft))
        let text = entry.response.failure.flatMap { $0.isEmpty ? nil : $0 }
        guard entry.response.status > 0 else {
            let failure = draft.failure(text ?? entry.response.statusText, at: place + ".response")
            return Interaction(request: request, failure: failure, recordedAt: entry.startedAt)
        }
        let fields = fields(entry.response.headers, at: place + ".response.headers", &draft)
        let body =
            hasNoChunks(entry)
            ? RecordedBody() : try responseBody(entry.response.content, fields, at: place + ".response.content", &draft)
        let response = RecordedResponse(
            status: entry.response.status, reason: entry.response.statusText, fields: fields, body: body)
        var failure = text.map { draft.failure($0, at: place + ".response") }
        failure?.stage = .body
        return Interaction(request: request, response: response, failure: failure, recordedAt: entry.startedAt)
    }

    /// Tells whether Polly.js has an empty list of chunks where there was no content, rather than content that is a list.
    private func hasNoChunks(_ entry: HAR.Entry) -> Bool {
        let content = entry.response.content
        guard isPolly, content.encoding == "base64", content.text == "[]" else { return false }
        return entry.request.method == "HEAD" || [204, 304].contains(entry.response.status) || content.size == 0
    }

    private func fields(_ pairs: [HAR.Field], at place: String, _ draft: inout ImportDraft) -> HTTPFields {
        var fields = HTTPFields()
        for pair in pairs { draft.append(pair.name, pair.value, at: place, to: &fields) }
        return fields
    }

    private func requestBody(_ request: HAR.Request, at place: String, _ draft: inout ImportDraft) -> RecordedBody {
        guard let content = request.postData else { return RecordedBody() }
        if let value = content.value {
            return draft.document(StoredNode(StoredValue(value), path: place + ".textJSON"))
        }
        let text = content.text ?? ""
        if text.isEmpty, !content.params.isEmpty {
            draft.warn(.rebuiltBody, at: place, "The body was put together from the parts of a form.")
            return RecordedBody(FormBody.bytes(of: content), exactness: .reserialized)
        }
        if content.encoding?.lowercased() == "base64" {
            return draft.base64(StoredNode(StoredValue(content: .string(text)), path: place + ".text"))
        }
        // Replay does not mark the base64 that it uses where a body is not UTF-8.
        let isCoded = request.headers.contains { $0.name.lowercased() == "content-encoding" }
        if isReplay, isCoded || !isText(content.mimeType), let bytes = StorageEncoding.base64(text),
            String(validating: bytes, as: UTF8.self) == nil
        {
            return RecordedBody(bytes)
        }
        return transcoded(text, type: content.mimeType, at: place + ".text", &draft)
    }

    private func isText(_ type: String) -> Bool {
        let type = type.lowercased()
        return ["text/", "json", "xml", "urlencoded", "javascript", "graphql"].contains { type.contains($0) }
    }

    private func responseBody(
        _ content: HAR.Content, _ fields: HTTPFields, at place: String, _ draft: inout ImportDraft
    ) throws -> RecordedBody {
        if let file = content.file, content.text == nil {
            return try draft.sidecar(file, at: place + "._file")
        }
        guard let text = content.text else {
            guard content.size ?? 0 > 0 else { return RecordedBody() }
            draft.warn(.missingBody, at: place, "The archive has a response without its content.")
            return RecordedBody(exactness: .lossy)
        }
        var body = storedBody(text, content, fields, at: place + ".text", &draft)
        let comment = content.comment?.lowercased() ?? ""
        if comment.contains("truncat") || comment.contains("limit") {
            draft.warn(.missingBody, at: place, "The archive says that the content was cut off.")
            body.exactness = .lossy
        }
        return body
    }

    private func storedBody(
        _ text: String, _ content: HAR.Content, _ fields: HTTPFields, at place: String, _ draft: inout ImportDraft
    ) -> RecordedBody {
        let isBase64 = content.encoding?.lowercased() == "base64"
        let coding = fields.first { $0.name == .contentEncoding }?.value
        if isPolly, isBase64 || coding != nil, let bytes = chunks(text, isBase64: isBase64, coding: coding) {
            return RecordedBody(bytes)
        }
        if isBase64 { return draft.base64(StoredNode(StoredValue(content: .string(text)), path: place)) }
        if isPolly, content.custom.contains(JSONValue.Member("_isBinary", .bool(true))) {
            return binary(text, at: place, &draft)
        }
        let type =
            content.mimeType.lowercased().contains("charset=")
            ? content.mimeType : fields.first { $0.name == .contentType }?.value ?? content.mimeType
        return transcoded(text, type: type, at: place, &draft)
    }

    /// The bytes that older versions of Polly.js mark in a field of their own: hexadecimal, and later base64.
    private func binary(_ text: String, at place: String, _ draft: inout ImportDraft) -> RecordedBody {
        let parts = StorageEncoding.chunks(text) ?? [text]
        let bytes =
            StorageEncoding.joined(parts, StorageEncoding.hexadecimal)
            ?? StorageEncoding.joined(parts, StorageEncoding.base64)
        if let bytes { return RecordedBody(bytes) }
        draft.warn(.storageEncoding, at: place, "The body is called binary and is not; it was read as text.")
        return RecordedBody(Data(text.utf8))
    }

    private func transcoded(
        _ text: String, type: String, at place: String, _ draft: inout ImportDraft
    ) -> RecordedBody {
        guard !keepsBytes else { return RecordedBody(Data(text.utf8)) }
        return draft.encoded(text, Charset(ofMediaType: type), named: "the charset of its media type", at: place)
    }

    /// The bytes of coded content, which Polly.js keeps as a list of chunks: base64, or hexadecimal in its first version.
    private func chunks(_ text: String, isBase64: Bool, coding: String?) -> Data? {
        guard let chunks = StorageEncoding.chunks(text) else { return nil }
        let candidates = [
            StorageEncoding.joined(chunks, StorageEncoding.hexadecimal),
            StorageEncoding.joined(chunks, StorageEncoding.base64),
        ].compactMap(\.self)
        if let coded = candidates.first(where: { ContentCoding.isMagic($0, of: coding ?? "") == true }) { return coded }
        guard let first = candidates.first, let last = candidates.last else { return nil }
        guard let coding, ContentCoding.isMagic(first, of: coding) != nil else { return isBase64 ? last : first }
        // A coding with a magic number that neither has: it is deflate without one, or text that was never coded.
        // Otherwise this is a list in JSON that was decoded before it was stored.
        let isContent =
            ContentCoding.decode(Array(last), coding, limit: ImportedCassette.sizeLimit) != nil
            || String(validating: last, as: UTF8.self) != nil
        return isBase64 && isContent ? last : nil
    }
}
