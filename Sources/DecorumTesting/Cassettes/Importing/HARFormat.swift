import Decorum
public import DecorumArchive
import Foundation
import HTTPTypes

/// HTTP archives of browsers and proxies, and the variants of Polly.js, Replay and Playwright.
struct HARFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool { try document.root["log"] != nil }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> String {
        let root = try document.root
        let archive: HAR
        do {
            archive = try HAR(root.json)
        } catch {
            throw root.at(String((error.path ?? "$").dropFirst())).fault(error.reason)
        }
        var importer = HARImporter(archive, into: draft)
        for (index, entry) in archive.entries.enumerated() {
            try importer.append(entry, at: root.at(".log.entries[\(index)]"))
        }
        draft = importer.draft
        return importer.isPolly ? "Polly.js" : importer.isReplay ? "Replay" : "HAR"
    }
}

private struct HARImporter {
    var draft: ImportDraft
    let isPolly: Bool
    let isReplay: Bool
    /// Whether text is never transcoded, because the tool uses base64 for all bytes that are not UTF-8.
    private let keepsBytes: Bool
    /// Whether one value of `Set-Cookie` holds all of them, joined.
    private let joinsCookies: Bool

    init(_ archive: HAR, into draft: ImportDraft) {
        self.draft = draft
        let creator = archive.creator.name.lowercased()
        let isOurs = archive.creator.name == HAR().creator.name
        isPolly = creator.hasPrefix("polly")
        isReplay = creator == "replay" || creator.hasPrefix("replay/")
        joinsCookies = creator.hasPrefix("webkit")
        keepsBytes = isPolly || isReplay || isOurs
        // HAR demands content without its coding. Polly.js keeps coded content as a list of chunks, and the archives of
        // this package have the content that went through the connection.
        self.draft.hasDecodedContent = !isPolly && !isOurs
    }

    mutating func append(_ entry: HAR.Entry, at node: StoredNode) throws {
        if node.member("_webSocketMessages") != nil {
            draft.warn(.leftOut, at: node, "The messages of a WebSocket were left out.")
        }
        let fields = try fields(entry.request.headers, at: node.at(".request.headers"))
        let body = try requestBody(entry.request, fields, at: node.at(".request.postData"))
        var interaction = Interaction(
            request: RecordedRequest(
                method: ImportDraft.method(node.at(".request.method")), url: entry.request.url, fields: fields,
                body: body),
            recordedAt: entry.startedAt)
        let text = entry.response.failure.flatMap { $0.isEmpty ? nil : $0 }
        let response = node.at(".response")
        if entry.response.status > 0 {
            let fields = try self.fields(entry.response.headers, at: response.at(".headers"))
            interaction.response = RecordedResponse(
                status: entry.response.status, reason: entry.response.statusText, fields: fields,
                body: try responseBody(entry, fields, at: response.at(".content")))
            interaction.failure = text.map { draft.failure($0, at: response) }
            interaction.failure?.stage = .body
        } else {
            interaction.failure = draft.failure(text ?? entry.response.statusText, at: response)
        }
        if let more = node["_cassette"] { try restore(&interaction, from: more) }
        draft.append(interaction, at: node)
    }

    private mutating func fields(_ pairs: [HAR.Field], at node: StoredNode) throws -> HTTPFields {
        var fields = HTTPFields()
        for pair in pairs {
            // A field cannot hold a line break: some tools join several fields with it.
            let lines = pair.value.split(whereSeparator: \.isNewline)
            for line in lines.isEmpty ? [""] : lines {
                try draft.append(pair.name, String(line), at: node, to: &fields)
            }
        }
        return joinsCookies ? try draft.splittingCookies(fields, at: node) : fields
    }

    private mutating func requestBody(
        _ request: HAR.Request, _ fields: HTTPFields, at node: StoredNode
    ) throws -> RecordedBody {
        let length = keepsBytes ? nil : fields.plainLength
        guard let content = request.postData else { return checked(RecordedBody(), length: length, at: node) }
        if content.value != nil { return draft.document(node.at(".textJSON")) }
        let text = content.text ?? ""
        if text.isEmpty, let file = content.file {
            let body = try draft.sidecar(file, at: node.at("._file"))
            if body.exactness != .lossy || content.params.isEmpty { return body }
        }
        if text.isEmpty, !content.params.isEmpty {
            draft.warn(.rebuiltBody, at: node, "The body was put together from the parts of a form.")
            return RecordedBody(content.formBytes, exactness: .reserialized)
        }
        if content.encoding?.lowercased() == "base64" { return draft.base64(node.at(".text")) }
        // Replay does not mark the base64 that it uses for a body that is not UTF-8.
        let isCoded = request.headers.contains { $0.name.lowercased() == "content-encoding" }
        if isReplay, isCoded || !StorageEncoding.isText(content.mimeType), let bytes = StorageEncoding.base64(text),
            String(validating: bytes, as: UTF8.self) == nil
        {
            return RecordedBody(bytes)
        }
        let body = transcoded(text, type: content.mimeType, length: length, at: node.at(".text"))
        return checked(body, length: length, at: node)
    }

    private mutating func responseBody(
        _ entry: HAR.Entry, _ fields: HTTPFields, at node: StoredNode
    ) throws -> RecordedBody {
        let content = entry.response.content
        let mayHaveContent = RecordedResponse.mayHaveContent(entry.response.status, to: entry.request.method)
        // Polly.js stores absent content as an empty list of chunks.
        let isEmptyList = isPolly && content.encoding == "base64" && content.text == "[]"
        if isEmptyList, content.size == 0 || !mayHaveContent { return RecordedBody() }
        let comment = content.comment?.lowercased() ?? ""
        let isCut = comment.contains("truncat") || comment.contains("limit")
        let isWhole = mayHaveContent && !isCut && entry.response.failure == nil
        let length = keepsBytes || !isWhole ? nil : fields.plainLength
        let type =
            content.mimeType.lowercased().contains("charset=")
            ? content.mimeType : fields.first { $0.name == .contentType }?.value ?? content.mimeType
        if let file = content.file, content.text == nil {
            let body = try draft.sidecar(file, at: node.at("._file"))
            return untranscoded(body, type: type, length: length, at: node.at("._file"))
        }
        guard let text = content.text else {
            guard mayHaveContent, max(content.size ?? 0, length ?? 0) > 0 else { return RecordedBody() }
            draft.warn(.missingBody, at: node, "The archive has a response without its content.")
            return RecordedBody(exactness: .lossy)
        }
        var body =
            try storedBody(text, content, fields, at: node.at(".text"))
            ?? transcoded(text, type: type, length: length, at: node.at(".text"))
        guard isCut else { return checked(body, length: length, at: node) }
        draft.warn(.missingBody, at: node, "The archive says that the content was cut off.")
        body.exactness = .lossy
        return body
    }

    /// Content whose length is known, and which may have lost bytes when it became text or before.
    private mutating func checked(_ body: RecordedBody, length: Int?, at node: StoredNode) -> RecordedBody {
        guard let length, body.bytes.count != length, body.exactness == .exact else { return body }
        var body = body
        if body.bytes.count < length {
            draft.warn(
                .missingBody, at: node, "The archive has \(body.bytes.count) bytes of content that had \(length).")
            body.exactness = .lossy
        } else if body.bytes.range(of: Data("\u{FFFD}".utf8)) != nil {
            draft.warn(.damagedBody, at: node, "Bytes of the content that are not text were replaced in the archive.")
            body.exactness = .lossy
        }
        return body
    }

    /// The bytes of a file that may hold the text of an archive, as Playwright's do, or the original bytes.
    private mutating func untranscoded(
        _ body: RecordedBody, type: String, length: Int?, at node: StoredNode
    ) -> RecordedBody {
        // Text with a NUL is in UTF-16 or UTF-32.
        guard !keepsBytes, body.exactness == .exact, body.bytes.count != length, !body.bytes.prefix(4).contains(0),
            let text = String(validating: body.bytes, as: UTF8.self)
        else { return body }
        return transcoded(text, type: type, length: length, at: node)
    }

    /// The bytes of a text that is base64, hexadecimal or a list of chunks; nil if it is the text of the content.
    private mutating func storedBody(
        _ text: String, _ content: HAR.Content, _ fields: HTTPFields, at node: StoredNode
    ) throws -> RecordedBody? {
        let isBase64 = content.encoding?.lowercased() == "base64"
        let coding = fields.first { $0.name == .contentEncoding }?.value
        if isPolly, isBase64 || coding != nil,
            let bytes = try Self.chunks(text, isBase64: isBase64, coding: coding, within: &draft.budget)
        {
            return RecordedBody(bytes)
        }
        if isBase64 { return draft.base64(node) }
        guard isPolly, content.custom.contains(JSONValue.Member("_isBinary", .bool(true))) else { return nil }
        // Older versions of Polly.js write hexadecimal, and later ones base64.
        let parts = try StorageEncoding.chunks(text, within: &draft.budget) ?? [text]
        let bytes =
            StorageEncoding.joined(parts, StorageEncoding.hexadecimal)
            ?? StorageEncoding.joined(parts, StorageEncoding.base64)
        return draft.decoded(text, { _ in bytes }, "binary", at: node)
    }

    /// The bytes of coded content, which Polly.js keeps as a list of chunks: base64, or hexadecimal in its first version.
    private static func chunks(
        _ text: String, isBase64: Bool, coding: String?, within budget: inout ImportBudget
    ) throws -> Data? {
        guard let chunks = try StorageEncoding.chunks(text, within: &budget) else { return nil }
        let candidates = [
            StorageEncoding.joined(chunks, StorageEncoding.hexadecimal),
            StorageEncoding.joined(chunks, StorageEncoding.base64),
        ].compactMap(\.self)
        if let coded = candidates.first(where: { StoredCoding.isMagic($0, of: coding ?? "") == true }) { return coded }
        guard let first = candidates.first, let last = candidates.last else { return nil }
        guard let coding, StoredCoding.isMagic(first, of: coding) != nil else { return isBase64 ? last : first }
        // Neither candidate has the magic number of the coding: it is deflate without one, or text that was never
        // coded. Otherwise this is a list in JSON that was decoded before it was stored.
        let isContent =
            try StoredCoding.decode(last, coding, within: &budget) != nil
            || (!last.isEmpty && String(validating: last, as: UTF8.self) != nil)
        return isBase64 && isContent ? last : nil
    }

    private mutating func transcoded(
        _ text: String, type: String, length: Int?, at node: StoredNode
    ) -> RecordedBody {
        if node.hasLoneSurrogate { return draft.bytes(node) }
        guard !keepsBytes else { return RecordedBody(Data(text.utf8)) }
        let charset = Charset(ofMediaType: type)
        if let bytes = Self.bytes(of: text, charset, type: type, length: length) { return RecordedBody(bytes) }
        return draft.encoded(text, charset, named: "the charset of its media type", at: node)
    }

    /// The bytes of text that a tool had decoded; nil if the declared charset is unknown here or lacks a character.
    ///
    /// If no charset is declared, or the bytes are not text, tools guess, and many drop the byte order mark. The original
    /// number of bytes shows how the tool decoded them.
    private static func bytes(of text: String, _ charset: Charset, type: String, length: Int?) -> Data? {
        let declared = charset.bytes(of: text)
        // JSON is in UTF-8 without a mark (RFC 8259, section 8.1).
        let isJSON = type.mediaTypeEssence.hasSuffix("json")
        guard let length, !text.isEmpty, declared?.count != length else { return declared }
        if let declared, !isJSON, let mark = charset.byteOrderMark, mark.count + declared.count == length {
            return mark + declared
        }
        // A tool had no need to guess: a length that differs then counts something else, such as characters.
        guard !isJSON, !type.lowercased().contains("charset=") else { return declared }
        let guess = (type.lowercased().contains("html") ? pageCharset(text) : nil) ?? .other(.windowsCP1252)
        return guess.bytes(of: text).flatMap { $0.count == length ? $0 : nil } ?? declared
    }

    /// The charset that a page declares within the bytes in which browsers look for it.
    private static func pageCharset(_ text: String) -> Charset? {
        let start = text.unicodeScalars.prefix(1024).split(separator: "<").map { String($0).lowercased() }
        for element in start where element.hasPrefix("meta") {
            guard let end = element.range(of: "charset=")?.upperBound else { continue }
            let value = element[end...].drop { $0 == "\"" || $0 == "'" || $0 == " " }
            return Charset(named: String(value.prefix { !"\"'; />".contains($0) }))
        }
        return nil
    }

    /// Restores the values that the format has no place for from the custom field.
    private mutating func restore(_ interaction: inout Interaction, from more: StoredNode) throws {
        if let parts = more["failure"]?.elements?.compactMap(\.text), parts.count == 2,
            let stage = RecordedFailure.Stage(rawValue: parts[1])
        {
            interaction.failure = RecordedFailure(kind: parts[0], stage: stage)
        }
        // A value that was changed in the archive itself takes precedence over the custom field.
        if let url = more["url"]?.text, HAR.written(url) == interaction.request.url { interaction.request.url = url }
        if more["isDated"]?.text == "false" { interaction.recordedAt = nil }
        interaction.tests = more["tests"]?.elements?.compactMap(\.text) ?? []
        if let exactness = more["requestExactness"]?.text.flatMap(RecordedBody.Exactness.init) {
            interaction.request.body.exactness = exactness
        }
        interaction.request.trailers = try draft.fields(more["requestTrailers"])
        guard var response = interaction.response else { return }
        if let exactness = more["exactness"]?.text.flatMap(RecordedBody.Exactness.init) {
            response.body.exactness = exactness
        }
        response.trailers = try draft.fields(more["trailers"])
        response.coding = more["coding"]?.text
        if let content = more["content"]?.text.flatMap({ Data(base64Encoded: $0) }) {
            var coded = response
            coded.body.bytes = content
            let decoded = try more.locating { () throws(CassetteImportError) in
                try coded.decodedContent(to: interaction.request.method, within: &draft.budget)
            }
            if decoded == response.body.bytes { response = coded }
        }
        response.chunks = (more["chunks"]?.elements ?? []).compactMap { chunk in
            guard let pause = chunk.first?.integer, let length = chunk.elements?.last?.integer else { return nil }
            return RecordedResponse.Chunk(pause: pause, length: length)
        }
        if !response.hasPlausibleChunks { response.chunks = [] }
        for interim in more["informational"]?.elements ?? [] {
            guard let parts = interim.elements, parts.count == 2, let status = parts[0].integer,
                (100...199).contains(status)
            else { continue }
            response.informational.append(.init(status: status, fields: try draft.fields(parts[1])))
        }
        interaction.response = response
    }
}

extension HAR.PostData {
    fileprivate var formBytes: Data {
        guard mimeType.lowercased().hasPrefix("multipart/") else {
            func encode(_ text: String) -> String { PercentCoding.encode(text).replacing("%20", with: "+") }
            let pairs = params.map { encode($0.name) + ($0.value.map { "=" + encode($0) } ?? "") }
            return Data(pairs.joined(separator: "&").utf8)
        }
        let parameters = mimeType.split(separator: ";").map { $0.drop { $0 == " " } }
        let boundary =
            parameters.first { $0.lowercased().hasPrefix("boundary=") }.map { $0.dropFirst(9).filter { $0 != "\"" } }
            ?? "boundary"
        var output = Data()
        for param in params {
            let file = param.fileName.map { "; filename=\"\($0)\"" } ?? ""
            let type = param.contentType.map { "Content-Type: \($0)\r\n" } ?? ""
            let head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(param.name)\"\(file)\r\n\(type)\r\n"
            let value = param.value ?? ""
            let bytes = param.encoding?.lowercased() == "base64" ? StorageEncoding.base64(value) : nil
            output += Data(head.utf8) + (bytes ?? Data(value.utf8)) + Data("\r\n".utf8)
        }
        return output + Data("--\(boundary)--\r\n".utf8)
    }
}

extension HTTPFields {
    fileprivate var plainLength: Int? {
        guard !contains(.contentEncoding) else { return nil }
        return first { $0.name == .contentLength }.flatMap { Int($0.value) }
    }
}

extension HAR {
    /// Creates an archive of recorded exchanges, which browsers and proxies open.
    ///
    /// Values that the format has no place for, such as a failure, trailers and the times of chunks, are kept in the
    /// custom field `_cassette`, so that reading the archive restores the same interactions. Nothing is redacted here.
    public init(_ interactions: [Interaction]) {
        self.init(entries: interactions.map(Entry.init))
    }
}

extension HAR.Entry {
    fileprivate init(_ interaction: Interaction) {
        let request = interaction.request
        let response = interaction.response
        self.init(
            request: HAR.Request(
                method: request.method, url: request.url, fields: request.fields, content: request.body.bytes),
            response: response.map { HAR.Response($0, to: request.method) } ?? HAR.Response(status: 0),
            startedAt: interaction.recordedAt)
        if let failure = interaction.failure { self.response.failure = failure.kind }
        let receive = (response?.chunks ?? []).reduce(0.0) { $0 + Double($1.pause) }
        timings.receive = receive
        time = timings.total
        let more = more(of: interaction)
        if !more.isEmpty { custom = [JSONValue.Member("_cassette", .object(more))] }
    }

    /// The values that the format has no place for.
    private func more(of interaction: Interaction) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        func add(_ name: String, _ value: JSONValue) { members.append(JSONValue.Member(name, value)) }
        if let failure = interaction.failure {
            add("failure", .array([.string(failure.kind), .string(failure.stage.rawValue)]))
        }
        if interaction.request.url != request.url { add("url", .string(interaction.request.url)) }
        if interaction.recordedAt == nil { add("isDated", .bool(false)) }
        if !interaction.tests.isEmpty { add("tests", .array(interaction.tests.map { .string($0) })) }
        if interaction.request.body.exactness != .exact {
            add("requestExactness", .string(interaction.request.body.exactness.rawValue))
        }
        if !interaction.request.trailers.isEmpty { add("requestTrailers", interaction.request.trailers.pairs) }
        guard let response = interaction.response else { return members }
        if response.body.exactness != .exact { add("exactness", .string(response.body.exactness.rawValue)) }
        if !response.trailers.isEmpty { add("trailers", response.trailers.pairs) }
        if let coding = response.coding { add("coding", .string(coding)) }
        if self.response.content.compression != nil {
            add("content", .string(response.body.bytes.base64EncodedString()))
        }
        if !response.chunks.isEmpty {
            add("chunks", .array(response.chunks.map { .array([.number("\($0.pause)"), .number("\($0.length)")]) }))
        }
        if !response.informational.isEmpty {
            add(
                "informational",
                .array(response.informational.map { .array([.number("\($0.status)"), $0.fields.pairs]) }))
        }
        return members
    }
}

extension HAR.Response {
    /// Readers of archives expect content without its content coding, which a cassette may keep.
    fileprivate init(_ response: RecordedResponse, to method: String) {
        var budget = ImportBudget()
        let decoded = try? response.decodedContent(to: method, within: &budget)
        self.init(
            status: response.status, reason: response.reason, fields: response.fields,
            content: decoded ?? response.body.bytes)
        guard let decoded else { return }
        bodySize = response.body.bytes.count
        content.compression = decoded.count - bodySize
    }
}

extension RecordedResponse {
    /// The content without its content coding; nil if it has no coding, or one that cannot be undone here.
    fileprivate func decodedContent(
        to method: String, within budget: inout ImportBudget
    ) throws(CassetteImportError) -> Data? {
        var copy = self
        guard !body.bytes.isEmpty, try copy.decodeContent(of: method, within: &budget) == nil,
            copy.body.bytes != body.bytes
        else { return nil }
        return copy.body.bytes
    }

    /// Whether the chunks are parts of the content, and each takes at most a day.
    fileprivate var hasPlausibleChunks: Bool {
        let count = body.bytes.count
        return chunks.allSatisfy { (0...count).contains($0.length) && (0...86_400_000).contains($0.pause) }
            && chunks.reduce(0) { $0 + $1.length } <= count
    }
}

extension HTTPFields {
    fileprivate var pairs: JSONValue {
        .array(map { .array([.string($0.name.rawName), .string($0.value)]) })
    }
}
