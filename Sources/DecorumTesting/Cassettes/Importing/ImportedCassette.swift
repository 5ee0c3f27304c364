import Decorum
import DecorumArchive
public import Foundation
import HTTPTypes

/// The exchanges of a file that another tool recorded, with warnings about them.
///
/// The content of the file decides on the format, and its name does not matter. The encodings that the format uses to
/// store bodies are undone. A file may be compressed, and an HTTP archive may be in a zip archive with the content beside
/// it, as Playwright writes it. Content codings are not undone until ``decodingContent()`` is called.
///
/// ```swift
/// let imported = try ImportedCassette(contentsOf: URL(filePath: "cassettes/feed.yml")).decodingContent()
/// ```
public struct ImportedCassette: Sendable, Hashable {
    /// The largest file that is read, in bytes, also after decompression.
    public static let sizeLimit = StoredValue.sizeLimit

    /// The tool that wrote the file.
    public let format: Format
    /// The exchanges, in the order in which the file has them.
    public var interactions: [Interaction]
    /// The values that had to be guessed, changed or left out.
    public var warnings: [ImportWarning]
    /// Whether the tool keeps content without its coding.
    let hasDecodedContent: Bool
    /// Whether every exchange of the file is among the interactions.
    let isComplete: Bool

    /// Reads a file.
    ///
    /// - Parameter file: The file; its folder holds the files that it refers to.
    /// - Throws: ``CassetteImportError``, which names the file, the place and the cause.
    public init(contentsOf file: URL) throws {
        let name = file.lastPathComponent
        let size = try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize
        guard let size else { throw CassetteImportError(file: name, place: nil, reason: "it cannot be read") }
        guard size <= Self.sizeLimit else { throw CassetteImportError.tooLarge(name) }
        guard let bytes = try? Data(contentsOf: file) else {
            throw CassetteImportError(file: name, place: nil, reason: "it cannot be read")
        }
        try self.init(bytes, named: name, folder: file.deletingLastPathComponent())
    }

    /// Reads the content of a file.
    ///
    /// - Parameters:
    ///   - document: The content of the file.
    ///   - name: The name of the file, for errors.
    ///   - folder: The folder of the files that the document refers to; nil if absent.
    /// - Throws: ``CassetteImportError``, which names the file, the place and the cause.
    public init(_ document: Data, named name: String, folder: URL? = nil) throws {
        guard document.count <= Self.sizeLimit else { throw CassetteImportError.tooLarge(name) }
        do {
            let archive = ZipArchive.isArchive(document) ? try ZipArchive(document) : nil
            let content = try archive.flatMap { try $0.content(of: $0.recording()) } ?? document
            let root = StoredNode(try StoredDocument.value(of: content))
            var draft = ImportDraft(folder: folder, archive: archive)
            format = try Format(of: root)
            hasDecodedContent = format.hasDecodedContent && root["log"]?["creator"]?["name"]?.text != HAR().creator.name
            try format.read(root, into: &draft)
            draft.leaveOutStatuses()
            interactions = draft.interactions
            warnings = draft.warnings
            isComplete = draft.isComplete
        } catch let error as ImportFault {
            throw CassetteImportError(file: name, place: error.place, reason: error.reason)
        }
    }

    /// The number of values in the interactions that look like secrets.
    ///
    /// It counts values of known shapes, and long values behind the names of secrets. It examines each byte, so read it
    /// once.
    public var possibleSecretCount: Int {
        let scanner = SecretScanner(environment: [:])
        return interactions.reduce(0) { count, interaction in
            let texts =
                [interaction.request.text, interaction.request.body.bytes]
                + (interaction.response.map { [$0.text, $0.body.bytes] } ?? [])
            return texts.reduce(count) { $0 + scanner.findings(in: $1).count }
        }
    }

    /// The exactness of the least exact body, compared with the bytes that were transferred.
    public var exactness: RecordedBody.Exactness {
        interactions.lazy.flatMap { [$0.request.body.exactness, $0.response?.body.exactness ?? .exact] }.max() ?? .exact
    }
}

extension ImportedCassette {
    /// Undoes the content codings of the responses, and drops the fields that no longer describe the content.
    ///
    /// Recorders often store decoded content, but keep its `Content-Encoding`. The field is therefore used only if the
    /// content begins with the magic number of that coding. For a coding without a magic number, it is used if the
    /// content is not text and the format keeps coded content. Codings that `ContentCoding` can decode on this system are
    /// undone; content in another coding stays as it is, with its field. If a format keeps decoded content, the content of
    /// a response that cannot have any is dropped.
    ///
    /// - Returns: The same exchanges, as a client sees them behind its transport.
    public func decodingContent() -> Self {
        var copy = self
        for index in interactions.indices {
            guard var response = interactions[index].response else { continue }
            let method = interactions[index].request.method
            // For a 304, browsers write the content of their cache that the 304 let them use.
            if hasDecodedContent, !response.body.bytes.isEmpty,
                !RecordedResponse.mayHaveContent(response.status, to: method)
            {
                response.body = RecordedBody()
                let message = "Content was left out, as a response to \(method) with \(response.status) has none."
                copy.warnings.append(
                    ImportWarning(kind: .leftOut, place: "interaction \(index + 1)", message: message))
            }
            if let message = response.decodeContent(of: method, mayBeCoded: !hasDecodedContent) {
                let place = "interaction \(index + 1)"
                copy.warnings.append(ImportWarning(kind: .contentCoding, place: place, message: message))
            }
            copy.interactions[index].response = response
        }
        return copy
    }
}

extension RecordedRequest {
    /// All but the body.
    fileprivate var text: Data { Data("\(method) \(url)\n".utf8) + fields.text + trailers.text }
}

extension RecordedResponse {
    /// All but the body.
    fileprivate var text: Data { informational.reduce(fields.text + trailers.text) { $0 + $1.fields.text } }
}

extension HTTPFields {
    fileprivate var text: Data { Data(map { "\($0.name): \($0.value)\n" }.joined().utf8) }
}

extension CassetteImportError {
    fileprivate static func tooLarge(_ file: String) -> Self {
        Self(file: file, place: nil, reason: "it has more than \(ImportedCassette.sizeLimit >> 20) MB")
    }
}

extension ImportedCassette.Format {
    /// Whether content is kept decoded, as its reader sees it: HAR demands that, and the system decodes for its own
    /// tools.
    ///
    /// Polly.js is not among them, because it keeps coded content as a list of chunks. The archives of this package are
    /// not either, because they have the content that went through the connection.
    fileprivate var hasDecodedContent: Bool { [.har, .dvr, .vinyl, .replay].contains(self) }

    fileprivate func read(_ root: StoredNode, into draft: inout ImportDraft) throws {
        switch self {
        case .har, .polly, .replay: try HARImporter.read(root, as: self, into: &draft)
        case .vcr, .betamax:
            try VCRImporter.read(root, into: &draft)
            draft.warnOfPlaceholders()
        case .vcrpy: try VCRPyImporter.read(root, into: &draft)
        case .goVCR1, .goVCR2: try GoVCRImporter.read(root, into: &draft)
        case .undici: try UndiciImporter.read(root, into: &draft)
        case .nock: try NockImporter.read(root, into: &draft)
        default: try DVRImporter.read(root, into: &draft)
        }
    }
}
