import Decorum
import Foundation
import HTTPTypes

/// Reads HTTP archives, with what Polly.js, Replay and Playwright make of them.
struct HARImporter {
    /// Whether text is never transcoded, as the tool uses base64 for all that is not UTF-8.
    private let keepsBytes: Bool
    private let isPolly: Bool
    private let isReplay: Bool
    /// Whether one value of `Set-Cookie` stands for all of them.
    private let joinsCookies: Bool

    private init(_ format: ImportedCassette.Format, _ archive: HAR) {
        isPolly = format == .polly
        isReplay = format == .replay
        joinsCookies = archive.creator.name.hasPrefix("WebKit")
        keepsBytes = isPolly || isReplay || archive.creator.name == HAR().creator.name
    }

    static func read(_ root: StoredNode, as format: ImportedCassette.Format, into draft: inout ImportDraft) throws {
        let archive: HAR
        do {
            archive = try HAR(root.value.json)
        } catch {
            throw ImportFault(place: error.path, reason: error.reason)
        }
        let importer = Self(format, archive)
        for (index, entry) in archive.entries.enumerated() {
            var interaction = try importer.interaction(entry, at: "$.log.entries[\(index)]", &draft)
            interaction.restore(from: entry)
            draft.interactions.append(interaction)
        }
    }

    private func interaction(_ entry: HAR.Entry, at place: String, _ draft: inout ImportDraft) throws -> Interaction {
        if entry.custom.contains(where: { $0.name == "_webSocketMessages" }) {
            draft.warn(.leftOut, at: place, "The messages of a WebSocket were left out.")
        }
        let requestFields = fields(entry.request.headers, at: place + ".request.headers", &draft)
        let request = RecordedRequest(
            method: ImportedMethod.method(entry.request.method), url: entry.request.url, fields: requestFields,
            body: try requestBody(entry.request, requestFields, at: place + ".request.postData", &draft))
        let text = entry.response.failure.flatMap { $0.isEmpty ? nil : $0 }
        guard entry.response.status > 0 else {
            let failure = draft.failure(text ?? entry.response.statusText, at: place + ".response")
            return Interaction(request: request, failure: failure, recordedAt: entry.startedAt)
        }
        let fields = fields(entry.response.headers, at: place + ".response.headers", &draft)
        let body =
            hasNoChunks(entry)
            ? RecordedBody() : try responseBody(entry, fields, at: place + ".response.content", &draft)
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
        return content.size == 0 || !RecordedResponse.mayHaveContent(entry.response.status, to: entry.request.method)
    }

    private func fields(_ pairs: [HAR.Field], at place: String, _ draft: inout ImportDraft) -> HTTPFields {
        var fields = HTTPFields()
        for pair in pairs {
            // A field has no line break: some tools join with it what came in several.
            let lines = pair.value.split(whereSeparator: \.isNewline)
            for line in lines.isEmpty ? [""] : lines { draft.append(pair.name, String(line), at: place, to: &fields) }
        }
        return joinsCookies ? draft.splittingCookies(fields, at: place) : fields
    }

    private func requestBody(
        _ request: HAR.Request, _ fields: HTTPFields, at place: String, _ draft: inout ImportDraft
    ) throws -> RecordedBody {
        let length = keepsBytes ? nil : fields.plainLength
        guard let content = request.postData else {
            return draft.checked(RecordedBody(), length: length, at: place)
        }
        if let value = content.value {
            return draft.document(StoredNode(StoredValue(value), path: place + ".textJSON"))
        }
        let text = content.text ?? ""
        if text.isEmpty, let file = content.file {
            let body = try draft.sidecar(file, at: place + "._file")
            if body.exactness != .lossy || content.params.isEmpty { return body }
        }
        if text.isEmpty, !content.params.isEmpty {
            draft.warn(.rebuiltBody, at: place, "The body was put together from the parts of a form.")
            return RecordedBody(FormBody.bytes(of: content), exactness: .reserialized)
        }
        if content.encoding?.lowercased() == "base64" {
            return draft.base64(StoredNode(StoredValue(content: .string(text)), path: place + ".text"))
        }
        // Replay does not mark the base64 that it uses where a body is not UTF-8.
        let isCoded = request.headers.contains { $0.name.lowercased() == "content-encoding" }
        if isReplay, isCoded || !TextType.includes(content.mimeType), let bytes = StorageEncoding.base64(text),
            String(validating: bytes, as: UTF8.self) == nil
        {
            return RecordedBody(bytes)
        }
        let body = transcoded(text, type: content.mimeType, length: length, at: place + ".text", &draft)
        return draft.checked(body, length: length, at: place)
    }

    private func responseBody(
        _ entry: HAR.Entry, _ fields: HTTPFields, at place: String, _ draft: inout ImportDraft
    ) throws -> RecordedBody {
        let content = entry.response.content
        let mayHaveContent = RecordedResponse.mayHaveContent(entry.response.status, to: entry.request.method)
        let comment = content.comment?.lowercased() ?? ""
        let isCut = comment.contains("truncat") || comment.contains("limit")
        let isWhole = mayHaveContent && !isCut && entry.response.failure == nil
        let length = keepsBytes || !isWhole ? nil : fields.plainLength
        if let file = content.file, content.text == nil {
            let body = try draft.sidecar(file, at: place + "._file")
            return untranscoded(body, type: mediaType(of: content, fields), length: length, at: place, &draft)
        }
        guard let text = content.text else {
            guard mayHaveContent, max(content.size ?? 0, length ?? 0) > 0 else { return RecordedBody() }
            draft.warn(.missingBody, at: place, "The archive has a response without its content.")
            return RecordedBody(exactness: .lossy)
        }
        var body = storedBody(text, content, fields, length: length, at: place + ".text", &draft)
        guard isCut else { return draft.checked(body, length: length, at: place) }
        draft.warn(.missingBody, at: place, "The archive says that the content was cut off.")
        body.exactness = .lossy
        return body
    }

    /// The bytes of a file that may hold the text of an archive, as Playwright's do, or bytes as they came.
    private func untranscoded(
        _ body: RecordedBody, type: String, length: Int?, at place: String, _ draft: inout ImportDraft
    ) -> RecordedBody {
        guard !keepsBytes, body.exactness == .exact, body.bytes.count != length, !UTF8Text.isWide(Array(body.bytes)),
            let text = String(validating: body.bytes, as: UTF8.self)
        else { return body }
        return transcoded(text, type: type, length: length, at: place + "._file", &draft)
    }

    private func mediaType(of content: HAR.Content, _ fields: HTTPFields) -> String {
        content.mimeType.lowercased().contains("charset=")
            ? content.mimeType : fields.first { $0.name == .contentType }?.value ?? content.mimeType
    }

    private func storedBody(
        _ text: String, _ content: HAR.Content, _ fields: HTTPFields, length: Int?, at place: String,
        _ draft: inout ImportDraft
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
        return transcoded(text, type: mediaType(of: content, fields), length: length, at: place, &draft)
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
        _ text: String, type: String, length: Int?, at place: String, _ draft: inout ImportDraft
    ) -> RecordedBody {
        guard !keepsBytes else { return RecordedBody(Data(text.utf8)) }
        if let bytes = ArchivedText(text: text, type: type, length: length).bytes { return RecordedBody(bytes) }
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
            || (!last.isEmpty && String(validating: last, as: UTF8.self) != nil)
        return isBase64 && isContent ? last : nil
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
    /// Content of which the length is known, and that may have lost bytes in becoming text or before.
    fileprivate mutating func checked(_ body: RecordedBody, length: Int?, at place: String) -> RecordedBody {
        guard let length, body.bytes.count != length, body.exactness == .exact else { return body }
        var body = body
        if body.bytes.count < length {
            warn(.missingBody, at: place, "The archive has \(body.bytes.count) bytes of content that had \(length).")
            body.exactness = .lossy
        } else if body.bytes.range(of: Data("\u{FFFD}".utf8)) != nil {
            warn(.damagedBody, at: place, "Bytes of the content that are no text were replaced in the archive.")
            body.exactness = .lossy
        }
        return body
    }
}
