import Decorum
public import Foundation
import HTTPTypes

/// The exchanges of a file that another tool recorded, with warnings about them.
///
/// The content of the file decides on the format, and its name does not matter. HTTP archives and the files of DVR are
/// known; `formats: .known` of the module `DecorumCassetteImport` adds other recorders, and you may add formats of your
/// own. The encodings that the format uses to store bodies are undone. A file may be compressed, and an HTTP archive may
/// be in a zip archive with the content beside it, as Playwright writes it. Content codings are not undone until
/// ``decodingContent()`` is called.
///
/// ```swift
/// let imported = try ImportedCassette(contentsOf: URL(filePath: "cassettes/feed.har")).decodingContent()
/// ```
public struct ImportedCassette: Sendable {
    /// The tool that wrote the file.
    public let format: ImportedFormat
    /// The exchanges, in the order in which the file has them.
    public var interactions: [Interaction]
    /// The values that had to be guessed, changed or left out.
    public var warnings: [ImportWarning]
    let isComplete: Bool
    /// Whether the tool writes names such as `<API_KEY>` in place of values.
    let hasNamedPlaceholders: Bool
    /// Whether the tool keeps content without its coding.
    private let hasDecodedContent: Bool
    private let name: String
    private let places: [ImportPlace]
    /// The part of the limits that is left for the contents.
    private let budget: ImportBudget

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - file: The file; its folder holds the files that it refers to.
    ///   - formats: Further formats, which are tried first.
    ///   - limits: The bounds of reading it.
    /// - Throws: ``CassetteImportError``, which names the file, the place and the cause.
    public init(
        contentsOf file: URL, formats: [any ForeignFormat] = [], limits: ImportLimits = .standard
    ) throws {
        let name = file.lastPathComponent
        let size = try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize
        guard size ?? 0 <= limits.fileLength else { throw CassetteImportError.tooLarge(name, limits) }
        guard size != nil, let bytes = try? Data(contentsOf: file) else {
            throw CassetteImportError(reason: "it cannot be read").of(name)
        }
        try self.init(
            bytes, named: name, folder: file.deletingLastPathComponent(), formats: formats, limits: limits)
    }

    /// Reads the content of a file.
    ///
    /// - Parameters:
    ///   - document: The content of the file.
    ///   - name: The name of the file, for errors.
    ///   - folder: The folder of the files that the document refers to; nil if absent.
    ///   - formats: Further formats, which are tried first.
    ///   - limits: The bounds of reading it.
    /// - Throws: ``CassetteImportError``, which names the file, the place and the cause.
    public init(
        _ document: Data, named name: String, folder: URL? = nil, formats: [any ForeignFormat] = [],
        limits: ImportLimits = .standard
    ) throws {
        guard document.count <= limits.fileLength else { throw CassetteImportError.tooLarge(name, limits) }
        do {
            var budget = ImportBudget(limits)
            let archive = ZipArchive.isArchive(document) ? try ZipArchive(document) : nil
            let packed = try archive.flatMap { try $0.content(of: $0.recording(), within: &budget) } ?? document
            let content = try StoredCoding.decompressed(packed, within: &budget)
            let reader = formats.lazy.compactMap { $0 as? any TreeReader }.first
            let foreign = ForeignDocument(content, named: name, reader: reader, within: &budget)
            var draft = ImportDraft(folder: folder, archive: archive, budget: budget)
            format = try Self.format(of: foreign, formats, hasReader: reader != nil).read(foreign, into: &draft)
            hasDecodedContent = draft.hasDecodedContent
            interactions = draft.interactions
            hasNamedPlaceholders = draft.hasNamedPlaceholders
            places = draft.places
            warnings = draft.warnings
            isComplete = draft.isComplete
            self.budget = draft.budget
            self.name = name
        } catch let error as CassetteImportError {
            throw error.of(name)
        }
    }

    private static func format(
        of document: ForeignDocument, _ formats: [any ForeignFormat], hasReader: Bool
    ) throws -> any ForeignFormat {
        for format in formats where try format.recognizes(document) { return format }
        let root = try document.root
        if root["cassette"] != nil, root["interactions"] != nil {
            throw root.fault("this is a cassette of Decorum, which needs no import")
        }
        for format in [HARFormat(), DVRFormat()] as [any ForeignFormat] where try format.recognizes(document) {
            return format
        }
        let remedy = hasReader ? "" : "; \(ForeignDocument.missingFormats)"
        if let first = root.first { throw first.fault("its exchanges are not in a known format\(remedy)") }
        guard case .list = root.content else { throw root.fault("its format is unknown\(remedy)") }
        throw root.fault("the list is empty, so the format is unknown")
    }

    /// The exactness of the least exact body, compared with the bytes that were transferred.
    public var exactness: RecordedBody.Exactness {
        interactions.lazy.flatMap { [$0.request.body.exactness, $0.response?.body.exactness ?? .exact] }.max() ?? .exact
    }

    /// Undoes the content codings of the responses, and drops the fields that no longer describe the content.
    ///
    /// Recorders often store decoded content, but keep its `Content-Encoding`. The field is therefore used only if the
    /// content begins with the magic number of that coding. For a coding without a magic number, it is used if the
    /// content is not text and the format keeps coded content. Codings that `ContentCoding` can decode on this system are
    /// undone; content in another coding stays as it is, with its field. If a format keeps decoded content, the content of
    /// a response that cannot have any is dropped.
    ///
    /// - Returns: The same exchanges, as a client sees them behind its transport.
    /// - Throws: ``CassetteImportError`` if the contents have more bytes than the limits allow.
    public func decodingContent() throws -> Self {
        var copy = self
        var budget = budget
        for index in interactions.indices {
            guard var response = interactions[index].response else { continue }
            let method = interactions[index].request.method
            // After changes by the caller, only the number of an interaction is certain.
            let place =
                interactions.count == places.count
                ? places[index] : ImportPlace(text: "interaction \(index + 1)", line: nil)
            // For a 304, browsers write the content of their cache that the 304 let them use.
            if hasDecodedContent, !response.body.bytes.isEmpty,
                !RecordedResponse.mayHaveContent(response.status, to: method)
            {
                response.body = RecordedBody()
                let message = "Content was left out, as a response to \(method) with \(response.status) has none."
                copy.warnings.append(ImportWarning(.leftOut, at: place, message, isLoss: false))
            }
            do throws(CassetteImportError) {
                let message = try response.decodeContent(of: method, mayBeCoded: !hasDecodedContent, within: &budget)
                if let message {
                    // The field is left only where the content may still be coded.
                    let isLoss = response.fields.contains(.contentEncoding)
                    copy.warnings.append(ImportWarning(.contentCoding, at: place, message, isLoss: isLoss))
                }
            } catch {
                throw CassetteImportError(place: place.text, line: place.line, reason: error.reason).of(name)
            }
            copy.interactions[index].response = response
        }
        return copy
    }
}

extension CassetteImportError {
    fileprivate static func tooLarge(_ file: String, _ limits: ImportLimits) -> Self {
        Self(reason: "it has more than \(limits.fileLength) bytes").of(file)
    }
}
