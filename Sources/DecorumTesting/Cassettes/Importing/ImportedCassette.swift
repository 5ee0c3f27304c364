public import Decorum
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
    /// The name of the tool that wrote the file, such as `HAR`, `VCR`, `vcrpy` or `go-vcr 2`.
    public let format: String
    /// The exchanges, in the order in which the file has them.
    public var interactions: [Interaction]
    /// The values that had to be guessed, changed or left out.
    public var warnings: [ImportWarning]
    /// What the format was read into, with the part of the limits that is left for the contents.
    let draft: ImportDraft
    private let name: String

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
        try limits.check(size ?? 0, of: name)
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
        try limits.check(document.count, of: name)
        do {
            var budget = ImportBudget(limits)
            let archive = ZipArchive.isArchive(document) ? try ZipArchive(document) : nil
            let packed = try archive.flatMap { try $0.content(of: $0.recording(), within: &budget) } ?? document
            let content = try StoredCoding.decompressed(packed, within: &budget)
            let reader = formats.lazy.compactMap { $0 as? any TreeReader }.first
            let foreign = ForeignDocument(content, named: name, reader: reader, within: &budget)
            var draft = ImportDraft(folder: folder, archive: archive, budget: budget)
            format = try Self.format(of: foreign, formats, hasReader: reader != nil).read(foreign, into: &draft)
            (interactions, warnings) = (draft.interactions, draft.warnings)
            draft.interactions = []
            (self.draft, self.name) = (draft, name)
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
        var budget = draft.budget
        for index in interactions.indices {
            guard var response = interactions[index].response else { continue }
            let method = interactions[index].request.method
            // After changes by the caller, only the number of an interaction is certain.
            let place =
                interactions.count == draft.places.count
                ? draft.places[index] : StoredNode(.null, line: nil, path: "interaction \(index + 1)")
            // For a 304, browsers write the content of their cache that the 304 let them use.
            if draft.hasDecodedContent, !response.body.bytes.isEmpty,
                !RecordedResponse.mayHaveContent(response.status, to: method)
            {
                response.body = RecordedBody()
                let message = "Content was left out, as a response to \(method) with \(response.status) has none."
                copy.warnings.append(ImportWarning(.leftOut, at: place, message, isLoss: false))
            }
            do throws(CassetteImportError) {
                let message = try response.decodeContent(
                    of: method, mayBeCoded: !draft.hasDecodedContent, within: &budget)
                if let message {
                    // The field is left only where the content may still be coded.
                    let isLoss = response.fields.contains(.contentEncoding)
                    copy.warnings.append(ImportWarning(.contentCoding, at: place, message, isLoss: isLoss))
                }
            } catch {
                throw place.fault(error.reason).of(name)
            }
            copy.interactions[index].response = response
        }
        return copy
    }
}

/// Something about a file that its importer had to guess, change or leave out.
public struct ImportWarning: Sendable, Hashable, CustomStringConvertible {
    /// The kind of a warning, as an open set.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind.
        public let description: String

        /// Creates a kind.
        public init(_ description: String) {
            self.description = description
        }

        /// A body is not in the encoding that the file names, and was read as text.
        public static let storageEncoding = Kind("storage encoding")
        /// A body cannot be encoded in the charset that the file names, and was read as UTF-8.
        public static let charset = Kind("charset")
        /// The file lacks a body, or a part of it.
        public static let missingBody = Kind("missing body")
        /// The tool that wrote the file had damaged a body.
        public static let damagedBody = Kind("damaged body")
        /// A text has half of a surrogate pair, which is no character.
        public static let loneSurrogate = Kind("lone surrogate")
        /// The file has the value of a body and not its text, or the parts of a form and not the form.
        public static let rebuiltBody = Kind("rebuilt body")
        /// A field's name is not valid in HTTP, and the field was left out.
        public static let invalidField = Kind("invalid field")
        /// Several values of a field had been joined, and were split where a new one seems to begin.
        public static let joinedField = Kind("joined field")
        /// A content coding cannot be undone here, or the content is not in it.
        public static let contentCoding = Kind("content coding")
        /// The file holds a name or a template in place of a value, which its own tool would replace.
        public static let placeholder = Kind("placeholder")
        /// The exchange had been redirected, and only the last answer is in the file.
        public static let redirected = Kind("redirected")
        /// A failure is described in unknown words.
        public static let failure = Kind("failure")
        /// A value was left out because a cassette has no place for it.
        public static let leftOut = Kind("left out")
    }

    /// The kind of the warning.
    public let kind: Kind
    /// The place in the file: a path, and the line if it is known.
    public let place: String
    /// The line in the file, counted from 1; nil if it is not known.
    public let line: Int?
    /// The warning, as a sentence without a secret.
    public let message: String

    /// Whether an answer that is played may differ from the one that the server gave, of which a replay warns.
    public let isLoss: Bool

    /// Creates a warning; with nil for `isLoss`, its kind decides.
    init(_ kind: Kind, at node: StoredNode, _ message: String, isLoss: Bool? = nil) {
        (self.kind, self.message) = (kind, message)
        (place, line) = (node.place, node.line)
        // The tool wrote a placeholder on purpose, and in a request it matches any value. The value of a body and the
        // cookies are whole, and only white space, escapes and the division into fields may differ from what the server sent.
        self.isLoss = isLoss ?? ![.placeholder, .rebuiltBody, .joinedField].contains(kind)
    }

    /// The place and the message.
    public var description: String { "\(place): \(message)" }
}

/// A file of another tool cannot be imported.
public struct CassetteImportError: Error, Sendable, Hashable {
    /// The name of the file; empty in the reader of a format, which does not know it.
    public private(set) var file = ""
    /// The place of the cause: a JSON path, a line, or both; nil for the whole file.
    public let place: String?
    /// The line of the cause, counted from 1; nil if it is not known.
    public let line: Int?
    /// The cause, as a clause.
    public let reason: String

    /// Creates an error of the reader of a format.
    ///
    /// - Parameters:
    ///   - place: The place of the cause; nil for the line, or for the whole file without one.
    ///   - line: The line of the cause, counted from 1.
    ///   - reason: The cause, as a clause without a secret.
    public init(place: String? = nil, line: Int? = nil, reason: String) {
        self.place = place ?? line.map { "line \($0)" }
        self.line = line
        self.reason = reason
    }

    func of(_ file: String) -> Self {
        var error = self
        error.file = file
        return error
    }
}

extension CassetteImportError: DescribableError {
    /// A sentence with the file, the place and the cause.
    public var description: String {
        "\(file) cannot be imported" + (place.map { " (\($0))" } ?? "") + ": \(reason)."
    }
}

/// The bounds of reading a file that another tool wrote, against a few bytes that would take the memory or the time of a
/// whole test run.
public struct ImportLimits: Sendable, Hashable {
    /// The largest number of bytes of the file, also after its own decompression; 256 MiB by default.
    public var fileLength: Int
    /// The largest number of bytes, all contents of the file together, that undoing content codings, unpacking a zip
    /// archive, reading files beside it and repeating texts by aliases may yield; 512 MiB by default.
    ///
    /// Each attempt counts as at least 4 KiB, also if its result is not used, so the limit bounds the time too.
    public var contentLength: Int
    /// The largest number of values in the document, counted as often as aliases repeat them; 4 million by default.
    public var valueCount: Int
    /// The largest number of fields of one message; 1,000 by default, and never more than 10,000.
    public var fieldCount: Int

    /// Creates limits.
    public init(
        fileLength: Int = 256 << 20, contentLength: Int = 512 << 20, valueCount: Int = 4_000_000,
        fieldCount: Int = 1000
    ) {
        self.fileLength = fileLength
        self.contentLength = contentLength
        self.valueCount = valueCount
        self.fieldCount = fieldCount
    }

    /// The default limits.
    public static let standard = ImportLimits()

    fileprivate func check(_ length: Int, of file: String) throws {
        guard length > fileLength else { return }
        throw CassetteImportError(reason: "it has more than \(fileLength) bytes").of(file)
    }
}

/// The part of the limits of a file that its reading has left.
package struct ImportBudget: Sendable {
    package let limits: ImportLimits
    private var length: Int
    package private(set) var count: Int

    package init(_ limits: ImportLimits = .standard) {
        self.limits = limits
        length = limits.contentLength
        count = limits.valueCount
    }

    /// Counts bytes that came from an encoding, or from another file.
    package mutating func spend(bytes: Int) throws(CassetteImportError) {
        guard bytes <= length else {
            let limit = limits.contentLength
            throw CassetteImportError(
                reason: "its contents have more than \(limit) bytes once their encodings are undone")
        }
        length -= bytes
    }

    package mutating func spend(values: Int) throws(CassetteImportError) {
        guard values <= count else { throw CassetteImportError(reason: "it has too many values") }
        count -= values
    }

    /// Throws if a message already has as many fields as it may have.
    func checkField(after count: Int) throws(CassetteImportError) {
        // HTTPTypes ends the process at 65,535 fields.
        let limit = min(limits.fieldCount, 10_000)
        guard count < limit else { throw CassetteImportError(reason: "a message has more than \(limit) fields") }
    }
}
