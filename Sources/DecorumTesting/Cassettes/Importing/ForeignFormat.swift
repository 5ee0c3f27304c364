import Decorum
public import Foundation
import HTTPTypes

/// A format of files that another tool writes, so that ``ImportedCassette`` and ``Cassette`` can read them.
///
/// HTTP archives and the files of DVR are read without one. The module `DecorumCassetteImport` has the formats of other
/// recorders.
///
/// Conform to it for a format of your own. The reader below is for files such as
/// `{"calls": [{"url": "https://example.com", "status": 200, "answer": "hello"}]}`.
///
/// ```swift
/// struct CallLog: ForeignFormat {
///     func recognizes(_ document: ForeignDocument) throws -> Bool {
///         try document.root["calls"] != nil
///     }
///
///     func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> String {
///         for call in try document.root["calls"]?.elements ?? [] {
///             let url = try call.required("url", as: "the URL")
///             let response = RecordedResponse(
///                 status: call["status"]?.integer ?? 200, fields: try draft.fields(call["headers"]),
///                 body: RecordedBody(Data((call["answer"]?.text ?? "").utf8)))
///             let request = RecordedRequest(method: "GET", url: url.text ?? "")
///             draft.append(Interaction(request: request, response: response), at: call)
///         }
///         return "call log"
///     }
/// }
/// ```
public protocol ForeignFormat: Sendable {
    /// Returns whether a file is in this format.
    ///
    /// - Throws: ``CassetteImportError`` to refuse a file with a reason, such as one of an old version.
    func recognizes(_ document: ForeignDocument) throws -> Bool

    /// Reads the exchanges of a file that the format recognizes.
    ///
    /// - Parameters:
    ///   - document: The file.
    ///   - draft: The exchanges and warnings so far; it also reads fields and bodies in their common forms.
    /// - Returns: The name of the tool that wrote the file, and of the version of its format.
    /// - Throws: ``CassetteImportError`` at a place that cannot be read.
    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> String
}

/// A format that reads the tree of a file that is not JSON, for all formats.
package protocol TreeReader: ForeignFormat {
    func tree(of bytes: [UInt8], within budget: inout ImportBudget) throws(CassetteImportError) -> StoredNode
}

/// A file that another tool wrote, without its compression.
public struct ForeignDocument: Sendable {
    /// The name of the file.
    public let name: String
    /// The content of the file.
    public let bytes: Data
    private let tree: Result<StoredNode, CassetteImportError>

    init(_ bytes: Data, named name: String, reader: (any TreeReader)?, within budget: inout ImportBudget) {
        self.name = name
        self.bytes = bytes
        do throws(CassetteImportError) {
            tree = .success(try Self.tree(of: Array(bytes), reader, within: &budget))
        } catch {
            tree = .failure(error)
        }
    }

    /// The content of the file as JSON, or as YAML if one of the formats reads it.
    ///
    /// Reading it throws ``CassetteImportError``, with the line, if the file is neither.
    public var root: StoredNode { get throws(CassetteImportError) { try tree.get() } }

    private static func tree(
        of bytes: [UInt8], _ reader: (any TreeReader)?, within budget: inout ImportBudget
    ) throws(CassetteImportError) -> StoredNode {
        if ZipArchive.isArchive(Data(bytes.prefix(4))) {
            throw CassetteImportError(reason: "it is a zip archive, which has to be unpacked first")
        }
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            throw CassetteImportError(reason: "it is UTF-16; save it as UTF-8")
        }
        if bytes.starts(with: "version https://git-lfs.github.com/".utf8) {
            throw CassetteImportError(reason: "it is a pointer of Git LFS; `git lfs pull` fetches its content")
        }
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        guard bytes[start...].contains(where: { $0 > 0x20 }) else { throw CassetteImportError(reason: "it is empty") }
        if JSONText.isLikely(bytes[start...]) { return try StoredNode(parsing: bytes, within: &budget) }
        guard let reader else { throw CassetteImportError(reason: "it is not JSON; \(missingFormats)") }
        return try reader.tree(of: bytes, within: &budget)
    }

    /// The remedy for a file that only the other formats read.
    package static let missingFormats =
        "pass `formats: .known`, or set `rules.formats = .known`, of the module DecorumCassetteImport (trait "
        + "`CassetteImport`)"
}

package struct DVRFormat: ForeignFormat {
    package func recognizes(_ document: ForeignDocument) throws -> Bool {
        // Other recorders have a list of the same name, beside a version of their format.
        let root = try document.root
        return root["interactions"] != nil && root["version"] == nil
    }

    package func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> String {
        try Self.read(document.root.list("interactions"), into: &draft)
        return "DVR"
    }

    package static func read(_ elements: [StoredNode], into draft: inout ImportDraft) throws {
        // The system decodes content before these tools see it.
        draft.hasDecodedContent = true
        for element in elements { draft.append(try interaction(element, &draft), at: element) }
    }

    private static func interaction(_ node: StoredNode, _ draft: inout ImportDraft) throws -> Interaction {
        let request = try node.required("request", as: "the request")
        let response = try node.required("response", as: "the response")
        let url = try request.required("url", as: "the URL").text ?? ""
        let finalURL = response["url"]?.text
        if let finalURL, finalURL != url {
            draft.warn(
                .redirected, at: node, "The answer came from another URL, to which the request was redirected.")
        }
        var interaction = Interaction(
            request: RecordedRequest(
                method: ImportDraft.method(request["method"]), url: url, fields: try draft.fields(request["headers"]),
                body: draft.typedBody(of: request)),
            recordedAt: node["recorded_at"]?.date)
        if let error = response["error"] {
            interaction.failure = draft.failure(error.text ?? "", at: error)
        } else {
            interaction.response = RecordedResponse(
                status: response["status"]?.integer ?? 200, fields: try draft.fields(response["headers"]),
                body: draft.typedBody(of: response))
        }
        return interaction
    }
}

extension ImportDraft {
    /// Reads a body whose encoding depends on the field `Content-Type` beside it, in exactly this spelling.
    fileprivate mutating func typedBody(of message: StoredNode) -> RecordedBody {
        guard let node = message["body"] else { return RecordedBody() }
        let type = message["headers"]?["Content-Type"]?.text ?? ""
        guard case .string(let text) = node.content else { return document(node) }
        if type.hasPrefix("text/") { return RecordedBody(Data(text.utf8)) }
        if type.hasPrefix("application/json") {
            // A person wrote it: it is the text of a document, and not a document that is a string.
            var scanner = JSONScanner(Array(text.utf8))
            let isDocument = (try? scanner.skipValue()) != nil && (try? scanner.expectEnd()) != nil
            return isDocument ? RecordedBody(Data(text.utf8)) : document(node)
        }
        return base64(node)
    }
}
