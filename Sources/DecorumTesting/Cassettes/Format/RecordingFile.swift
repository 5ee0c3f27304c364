package import Decorum
package import Foundation
import HTTPTypes

/// A file of recordings in any format, as a command works on it.
package struct RecordingFile: Sendable {
    /// The name of the tool that wrote the file, as in `HAR`; `Decorum` for a cassette.
    package let format: String
    /// The exchanges, in the order in which the file has them.
    package let interactions: [Interaction]
    /// The line of each exchange; nil in a format without lines.
    package let lines: [Int?]
    /// What the reader of the format had to guess, change or leave out.
    package let warnings: [ImportWarning]
    private let file: URL
    private let bytes: [UInt8]
    private let rules: CassetteRules

    /// Reads a file.
    ///
    /// - Throws: ``CassetteError`` or ``CassetteImportError``, which names the file, the place and the cause.
    package init(at path: String, rules: CassetteRules) throws {
        let file = URL(filePath: path)
        let bytes = try CassetteContent.bytes(of: file)
        if CassetteReader.recognizes(bytes) {
            let content = try CassetteContent(reading: file, as: rules.content)
            (format, warnings, interactions) = ("Decorum", [], try content.interactions())
            lines = interactions.indices.map(content.line)
        } else {
            let imported = try ImportedCassette(
                Data(bytes), named: file.lastPathComponent, folder: file.deletingLastPathComponent(),
                formats: rules.formats
            ).decodingContent()
            (format, warnings, interactions) = (imported.format, imported.warnings, imported.interactions)
            lines = imported.interactions.map { _ in nil }
        }
        (self.file, self.bytes, self.rules) = (file, bytes, rules)
    }

    /// The paths of the files in a folder whose names end as recordings do, without the content of cassettes.
    package static func paths(in folder: String) -> [String] {
        let extensions: Set = ["gz", "har", "json", "yaml", "yml", "zip", "zz"]
        let paths = ((try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []).filter { path in
            let parts = path.split(separator: "/")
            return !parts.contains { $0.hasPrefix(".") } && !parts.dropLast().contains { $0.hasSuffix(".tape") }
                && extensions.contains(URL(filePath: path).pathExtension.lowercased())
        }
        return paths.sorted().map { folder + "/" + $0 }
    }

    /// The method and the URL of each request, without secrets.
    package var requests: [String] {
        let (redactor, scanner) = (CassetteRedactor(rules), SecretScanner(rules))
        return interactions.map { scanner.masked("\($0.request.method) \(redactor.shown(url: $0.request.url))") }
    }

    /// The requests as they can be sent anew, to their own origins or to another: without fields that hold credentials.
    ///
    /// - Returns: Each request; nil if it cannot be sent, because another part of it is secret, has a placeholder, or is in a
    ///   coding in which a secret would not be found.
    package func requests(to origin: Origin?) throws -> [Request?] {
        var decoded = interactions
        for index in decoded.indices { decoded[index].decodeContent() }
        let scanner = SecretScanner(rules)
        // Archives have the fields that a transport adds, which it adds again.
        let added: Set<HTTPField.Name> = [.connection, .contentLength, .transferEncoding]
        return try CassetteRedactor(rules, continuing: bytes).redacted(decoded).map { interaction in
            var recorded = interaction.request
            recorded.fields.removeAll { field in
                added.contains(field.name) || field.name.canonicalName == "host"
                    || Redaction.standard.isSecret(field, secretFields: [])
            }
            // A secret that is known by its form alone has no placeholder.
            let texts = [Data(recorded.url.utf8), recorded.body.bytes] + recorded.fields.map { Data($0.value.utf8) }
            guard recorded.placeholders(named: true).isEmpty, texts.allSatisfy({ scanner.findings(in: $0).isEmpty }),
                !recorded.fields.contains(.contentEncoding), let method = HTTPRequest.Method(recorded.method)
            else { return nil }
            let url = origin.map { "\($0)\(URLKey.target(of: recorded.url))" } ?? recorded.url
            return try Request(method, url, fields: recorded.fields, body: Body(recorded.body.bytes))
        }
    }

    /// The texts in the file that look like secrets.
    package var secrets: [SecretFoundError.Finding] { SecretScanner(rules).findings(in: Data(bytes)) }

    /// Opens the file as a cassette of no test, which adds to no report.
    package func cassette(_ mode: CassetteMode) throws -> Cassette {
        try Cassette(
            at: file.path, mode: mode, rules: rules, clock: SystemClock(), suite: nil, isNamed: false, test: nil,
            isReported: false)
    }

    /// The differences of a later recording of the same requests, as ``CassetteMode/verify`` tells them.
    package func drifts(to later: RecordingFile) throws -> [CassetteDriftError.Drift] {
        try cassette(.replay).drifts(in: later.interactions)
    }

    /// The exchanges of this file, with what each of the others adds to it and the ones before.
    package func union(with others: [RecordingFile]) throws -> [Interaction] {
        try others.reduce(interactions) { interactions, other in
            let merge = RecordingMerge(
                rules: rules, redactor: CassetteRedactor(rules), content: CassetteContent(holding: interactions),
                original: .none, opened: nil, isPartial: false, expiry: nil)
            return try merge.merged(other.interactions, .union).map { saved in
                switch saved {
                case .existing(let ordinal): interactions[ordinal]
                case .recorded(let interaction): interaction
                }
            }
        }
    }

    /// The content of a new file, without secrets, and of the files beside it.
    package struct Written: Sendable {
        /// The content of the file.
        package let document: Data
        /// The content of the files beside it, by their paths from its folder.
        package let files: [String: Data]
        /// The files beside it that only the cassette in its place has named.
        package let obsolete: Set<String>
        /// The secrets that were replaced.
        package let replacements: [SecretReplacement]
    }

    /// Writes exchanges of this file as a new file: a cassette, or an HTTP archive if its name ends in `.har`.
    ///
    /// - Throws: ``SecretFoundError`` if the file would hold what looks like a secret; ``CassetteError`` for content whose
    ///   coding cannot be undone, in which a secret would not be found.
    package func written(_ interactions: [Interaction], as path: String) throws -> Written {
        var decoded = interactions
        for index in decoded.indices where rules.content == .decoded {
            decoded[index].decodeContent()
            try decoded[index].checkCoding(number: index + 1, file: file.relativePath)
        }
        let redactor = CassetteRedactor(rules, continuing: bytes)
        let redacted = redactor.redacted(decoded)
        let new = URL(filePath: path)
        let document = try CassetteDocument(of: redacted.map { .recorded($0) }, over: .none, as: new)
        try document.checkSecrets(of: redacted, by: rules, without: redactor, file: path)
        let old = (try? CassetteContent(reading: new, as: rules.content)) ?? .none
        return Written(
            document: document.bytes, files: document.files,
            obsolete: CassetteDocument.filesLeftOver(by: [], of: old).subtracting(document.files.keys),
            replacements: redactor.pseudonyms.list)
    }
}
