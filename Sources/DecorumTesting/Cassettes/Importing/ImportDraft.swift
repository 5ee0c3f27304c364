import Decorum
import DecorumArchive
package import Foundation
public import HTTPTypes

/// The exchanges and warnings that the reader of a format has found so far.
public struct ImportDraft: Sendable {
    /// The folder of the file's sidecars; nil if absent.
    let folder: URL?
    /// The archive that has the file and its sidecars; nil if absent.
    let archive: ZipArchive?
    package var budget: ImportBudget
    /// Whether the tool keeps content without its content coding, although the fields name one; false by default.
    public var hasDecodedContent = false
    /// The exchanges so far.
    public internal(set) var interactions: [Interaction] = []
    /// The warnings so far.
    public private(set) var warnings: [ImportWarning] = []
    /// Whether the tool writes names such as `<API_KEY>` in place of values.
    package var hasNamedPlaceholders = false
    /// The place of each exchange, as a null.
    package private(set) var places: [StoredNode] = []
    private var count = 0
    private(set) var isComplete = true

    init(folder: URL?, archive: ZipArchive? = nil, budget: ImportBudget) {
        (self.folder, self.archive, self.budget) = (folder, archive, budget)
    }

    /// Appends an exchange; `node` is the value that describes it, whose place warnings name.
    ///
    /// An exchange without a status becomes a failure, and one with a status that no response can have is left out.
    public mutating func append(_ interaction: Interaction, at node: StoredNode) {
        var interaction = interaction
        let place = StoredNode(.null, line: node.line, path: node.path)
        count += 1
        if let response = interaction.response, response.status <= 0 {
            interaction.failure = interaction.failure ?? failure(response.reason, at: place)
            interaction.response = nil
        }
        guard (100...999).contains(interaction.response?.status ?? 200) else {
            isComplete = false
            return warn(.leftOut, at: place, "The exchange was left out, as its status is not valid for a response.")
        }
        interactions.append(interaction)
        places.append(place)
    }

    /// Appends an exchange of a file that is neither JSON nor YAML; `line` is the line on which it begins, counted from 1, and
    /// nil if the file has no lines.
    public mutating func append(_ interaction: Interaction, line: Int?) {
        append(interaction, at: StoredNode(.null, line: line, path: "interaction \(count + 1)"))
    }

    /// Warns of something that had to be guessed, changed or left out.
    ///
    /// - Parameters:
    ///   - kind: The kind of the warning.
    ///   - node: The value that it is about.
    ///   - message: The warning, as a sentence without a secret.
    ///   - isLoss: Whether an answer that is played may differ from the one that the server gave, of which a replay warns;
    ///     with nil, the default, the kind decides.
    public mutating func warn(
        _ kind: ImportWarning.Kind, at node: StoredNode, _ message: String, isLoss: Bool? = nil
    ) {
        warnings.append(ImportWarning(kind, at: node, message, isLoss: isLoss))
    }

    /// The method of a request in the case in which it was sent.
    ///
    /// Methods are case-sensitive (RFC 9110, section 9.1), so one that is not registered stays as it is. Some tools
    /// write registered methods in lower case, which is not how they were sent.
    package static func method(_ node: StoredNode?) -> String {
        guard let text = node?.text, !text.isEmpty else { return "GET" }
        let registered = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"]
        return registered.contains(text.uppercased()) ? text.uppercased() : text
    }

    /// Reads fields from a mapping of names to values or lists of values, or from a list of pairs.
    ///
    /// Pseudo fields of HTTP/2 are no fields. A field whose name is not valid, or whose value is not text, is left out
    /// with a warning.
    ///
    /// - Throws: ``CassetteImportError`` if there are more fields than the limits allow.
    public mutating func fields(_ node: StoredNode?) throws(CassetteImportError) -> HTTPFields {
        guard let node else { return [:] }
        var fields = HTTPFields()
        for (name, value) in node.members ?? [] {
            for value in value.elements ?? [value] { try append(name, value, at: value, to: &fields) }
        }
        for pair in node.elements ?? [] {
            if let name = pair["name"]?.text {
                try append(name, pair["value"], at: pair, to: &fields)
            } else if let parts = pair.elements, parts.count == 2, let name = parts[0].text {
                try append(name, parts[1], at: parts[1], to: &fields)
            }
        }
        return fields
    }

    package mutating func append(
        _ name: String, _ text: String, at node: StoredNode, to fields: inout HTTPFields
    ) throws(CassetteImportError) {
        guard !name.hasPrefix(":") else { return }
        guard let fieldName = HTTPField.Name(name) else {
            warn(.invalidField, at: node, "A field was left out, as its name is not valid in HTTP.")
            return
        }
        try node.locating { () throws(CassetteImportError) in try budget.checkField(after: fields.count) }
        fields.append(HTTPField(name: fieldName, value: text))
    }

    private mutating func append(
        _ name: String, _ value: StoredNode?, at node: StoredNode, to fields: inout HTTPFields
    ) throws(CassetteImportError) {
        if let elements = value?.elements {
            for element in elements { try append(name, element, at: node, to: &fields) }
            return
        }
        // An object is not a value that a field can have; null means an empty value.
        guard value?.members == nil else {
            warn(.leftOut, at: node, "A field was left out, as its value is not text.")
            return
        }
        var text = value?.text ?? ""
        if value?.isBinary == true, let bytes = StorageEncoding.base64(text) {
            text = String(validating: bytes, as: UTF8.self) ?? String(bytes.map { Character(Unicode.Scalar($0)) })
        }
        try append(name, text, at: node, to: &fields)
    }

    package mutating func splittingCookies(
        _ fields: HTTPFields, at node: StoredNode
    ) throws(CassetteImportError) -> HTTPFields {
        var output = HTTPFields()
        for field in fields {
            let lines = field.name == .setCookie ? SetCookieSplitting.split(field.value) : [field.value]
            if lines.count > 1 { warn(.joinedField, at: node, "Several cookies had been joined, and were split.") }
            for line in lines { try append(field.name.rawName, line, at: node, to: &output) }
        }
        return output
    }

    /// Returns the bytes of a scalar: base64 if a tag marks it as such, and otherwise its text.
    ///
    /// - Returns: The body; empty if the value is not a scalar.
    public mutating func bytes(_ node: StoredNode?) -> RecordedBody {
        guard let node else { return RecordedBody() }
        guard !node.isBinary else { return base64(node) }
        let bytes = Data((node.text ?? "").utf8)
        guard node.hasLoneSurrogate else { return RecordedBody(bytes) }
        warn(
            .loneSurrogate, at: node, "A text has half of a surrogate pair, which is no character, and became U+FFFD.")
        return RecordedBody(bytes, exactness: .lossy)
    }

    /// Returns the bytes of a scalar that should be base64; any other text was never encoded, which is warned of.
    public mutating func base64(_ node: StoredNode) -> RecordedBody {
        decoded(node.text ?? "", StorageEncoding.base64, "base64", at: node)
    }

    /// The bytes of a text in an encoding; a text that is not in it is read as it is, with a warning.
    package mutating func decoded(
        _ text: String, _ decode: (String) -> Data?, _ name: String, at node: StoredNode
    ) -> RecordedBody {
        if let bytes = decode(text) { return RecordedBody(bytes) }
        warn(.storageEncoding, at: node, "The body is called \(name) and is not; it was read as text.")
        return RecordedBody(Data(text.utf8))
    }

    /// Returns the bytes of a value of which the file does not have the text, with a warning.
    ///
    /// - Returns: The value as JSON on one line.
    public mutating func document(_ node: StoredNode) -> RecordedBody {
        warn(.rebuiltBody, at: node, "The file has the JSON value of the body and not its text.")
        return RecordedBody(Data(node.json.document()), exactness: .reserialized)
    }

    /// The bytes of text that a tool had decoded from a charset.
    package mutating func encoded(
        _ text: String, _ charset: Charset, named name: String, at node: StoredNode
    ) -> RecordedBody {
        if let bytes = charset.bytes(of: text) { return RecordedBody(bytes) }
        // Text without anything beyond ASCII is the same in nearly all charsets.
        let isPlain = text.utf8.allSatisfy { $0 < 0x80 }
        if !isPlain || charset != .unknown {
            warn(.charset, at: node, "The body cannot be encoded as \(name), and was read as UTF-8.")
        }
        return RecordedBody(Data(text.utf8), exactness: isPlain ? .exact : .lossy)
    }

    /// The failure that a tool describes in words, such as `net::ERR_TIMED_OUT`.
    mutating func failure(_ text: String, at node: StoredNode) -> RecordedFailure {
        if Self.codes.contains(where: { $0.description == text }) || text == "cancelled" {
            return RecordedFailure(kind: text, stage: .head)
        }
        let words = text.lowercased().replacing("_", with: " ")
        if let row = Self.failures.first(where: { row in row.words.contains { words.contains($0) } }) {
            return RecordedFailure(kind: row.code.description, stage: row.stage)
        }
        warn(.failure, at: node, "The file describes the failure of the exchange in unknown words.")
        return RecordedFailure(kind: TransportError.Code.other.description, stage: .head)
    }

    private static let codes: [TransportError.Code] = [
        .connectionRefused, .hostNotFound, .unreachable, .timedOut, .connectionLost, .truncated, .malformedResponse,
        .tls, .undecodableContent, .unreadableBody, .limitExceeded, .other,
    ]

    private static let failures: [(words: [String], code: TransportError.Code, stage: RecordedFailure.Stage)] = [
        (["refused", "connect call failed"], .connectionRefused, .connect),
        (
            [
                "name not resolved", "enotfound", "dns", "getaddrinfo", "hostname could not be found",
                "name or service not known",
            ], .hostNotFound, .connect
        ),
        (["content length mismatch", "incomplete chunked"], .truncated, .head),
        (["timed out", "timeout", "etimedout"], .timedOut, .head), (["cert", "ssl", "tls"], .tls, .connect),
        (["unreachable", "internet disconnected", "offline", "address"], .unreachable, .connect),
        (
            ["reset", "closed", "empty response", "connection was lost", "aborted", "hang up", "disconnect"],
            .connectionLost, .head
        ),
        (["invalid response", "protocol", "malformed"], .malformedResponse, .head),
    ]

    /// Reads a file beside an archive, which has to be within the archive's folder, or in the same zip archive.
    mutating func sidecar(_ name: String, at node: StoredNode) throws(CassetteImportError) -> RecordedBody {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        let isWithin =
            !name.contains("\\") && !name.contains("\0") && !name.hasPrefix("~")
            && parts.allSatisfy { !$0.isEmpty && $0 != ".." && $0 != "." }
        let file = folder.flatMap { Self.file(name, in: $0, within: $0) }
        guard isWithin, folder == nil || archive != nil || file != nil else {
            throw node.fault("the name of the file beside it leaves the folder")
        }
        guard let archive else { return try content(of: file, at: node) }
        let bytes = try node.locating { () throws(CassetteImportError) in
            try archive.content(of: name, within: &budget)
        }
        return bytes.map { RecordedBody($0) } ?? missing(at: node)
    }

    /// Reads a file that VCR for R wrote in a folder of its own, which is usually a sibling of the cassette's folder.
    ///
    /// The path is absolute, or begins at the folder in which R ran. Only files in the folder around the cassette's are
    /// read.
    package mutating func writtenFile(_ node: StoredNode) throws(CassetteImportError) -> RecordedBody {
        let path = node.text ?? ""
        guard let folder, !path.contains("\0"), !path.isEmpty else { return missing(at: node) }
        let around = folder.deletingLastPathComponent()
        let tail = path.split(separator: "/").suffix(2).joined(separator: "/")
        let candidates = [Self.file(path, in: folder, within: around), Self.file(tail, in: around, within: around)]
        return try content(
            of: candidates.compactMap(\.self).first { FileManager.default.fileExists(atPath: $0.path) }, at: node)
    }

    /// The file of a path without its symbolic links; nil if it is not within a folder.
    private static func file(_ path: String, in folder: URL, within root: URL) -> URL? {
        let root = root.resolvingSymlinksInPath().standardizedFileURL.path
        let file = path.hasPrefix("/") ? URL(filePath: path) : folder.appendingPathComponent(path)
        let resolved = file.standardizedFileURL.resolvingSymlinksInPath().standardizedFileURL
        return resolved.path.hasPrefix(root.hasSuffix("/") ? root : root + "/") ? resolved : nil
    }

    private mutating func content(of file: URL?, at node: StoredNode) throws(CassetteImportError) -> RecordedBody {
        let values = try? file?.resourceValues(forKeys: [.fileSizeKey, .isRegularFileKey])
        guard let file, values?.isRegularFile == true, let size = values?.fileSize, size <= budget.limits.fileLength,
            let bytes = try? Data(contentsOf: file)
        else { return missing(at: node) }
        try node.locating { () throws(CassetteImportError) in try budget.spend(bytes: bytes.count) }
        return RecordedBody(bytes)
    }

    private mutating func missing(at node: StoredNode) -> RecordedBody {
        warn(.missingBody, at: node, "The content is in another file, which cannot be read.")
        return RecordedBody(exactness: .lossy)
    }
}
