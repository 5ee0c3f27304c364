import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// Writes interactions in the format "cassette 1": JSON that is readable, holds each fact once, and changes little.
struct CassetteWriter {
    private(set) var bytes: [UInt8] = []
    private(set) var files: CassetteFiles

    /// Writes interactions; the ones that are in the file already are copied as text.
    init(_ interactions: [SavedInteraction], of content: CassetteContent, files: CassetteFiles) throws {
        self.files = files
        var page = JSONPage()
        try page.object { page in
            page.member("cassette", CassetteReader.version)
            page.member("interactions")
            try page.array(interactions) { saved, page in
                switch saved {
                case .recorded(let interaction): page.object { write(interaction, to: &$0) }
                case .existing(let ordinal):
                    if let reader = content.reader {
                        page.text(reader.bytes[reader.entries[ordinal].range])
                    } else {
                        let interaction = try content.interaction(at: ordinal)
                        page.object { write(interaction, to: &$0) }
                    }
                }
            }
        }
        bytes = page.bytes + [0x0A]
    }

    /// The text of a file, which is not empty, followed by these interactions; all else in it stays as it is.
    func spliced(into reader: CassetteReader) -> [UInt8] {
        guard let end = reader.entries.last?.range.upperBound, let start = bytes.firstIndex(of: UInt8(ascii: "[")),
            let close = bytes.lastIndex(of: UInt8(ascii: "]"))
        else { return bytes }
        // The file has the line break before the bracket already.
        let text = bytes[(start + 1)..<close]
        let last = text.lastIndex { $0 != 0x20 && $0 != 0x0A }.map { $0 + 1 } ?? text.startIndex
        return reader.bytes[..<end] + [UInt8(ascii: ",")] + text[..<last] + reader.bytes[end...]
    }

    private mutating func write(_ interaction: Interaction, to page: inout JSONPage) {
        page.member("request")
        page.object { write(interaction.request, to: &$0) }
        if let response = interaction.response {
            page.member("response")
            page.object { write(response, to: &$0) }
        }
        if let failure = interaction.failure {
            page.member("error")
            page.object { page in
                page.member("kind", failure.kind)
                page.member("after", failure.stage.rawValue)
            }
        }
        if let date = interaction.recordedAt { page.member("at", RecordedDay.text(date)) }
        if !interaction.tests.isEmpty {
            page.member("tests")
            page.line(interaction.tests.map { JSONText.quoted($0) })
        }
    }

    private mutating func write(_ request: RecordedRequest, to page: inout JSONPage) {
        page.member("method", request.method)
        page.member("url", request.url)
        page.member("headers", request.fields)
        RecordedContent.write(request.body, mediaType: request.fields[.contentType], to: &page, files: &files)
        page.member("trailers", request.trailers)
    }

    private mutating func write(_ response: RecordedResponse, to page: inout JSONPage) {
        if !response.informational.isEmpty {
            page.member("interim")
            page.array(response.informational) { interim, page in
                page.object { page in
                    page.member("status", interim.status)
                    page.member("headers", interim.fields)
                }
            }
        }
        page.member("status", response.status)
        if !response.reason.isEmpty { page.member("reason", response.reason) }
        page.member("headers", response.fields)
        if let coding = response.coding { page.member("encoded", coding) }
        RecordedContent.write(response.body, mediaType: response.fields[.contentType], to: &page, files: &files)
        if !response.chunks.isEmpty {
            page.member("chunks")
            page.line(response.chunks.map { Array("[\($0.pause), \($0.length)]".utf8) })
        }
        page.member("trailers", response.trailers)
    }
}

/// A JSON document while it is written, which is readable and changes little: one leaf on a line, and small lists and
/// objects on one line.
struct JSONPage {
    private(set) var bytes: [UInt8] = []
    private var depth = 0
    private var isFirst = true

    /// The longest list or object, in bytes, that is kept on one line.
    private static let lineLimit = 60

    mutating func object(_ members: (inout JSONPage) throws -> Void) rethrows {
        try container("{", "}", members)
    }

    mutating func array<Element>(
        _ elements: [Element], _ write: (Element, inout JSONPage) throws -> Void
    ) rethrows {
        try container("[", "]") { page in
            for element in elements {
                page.beginPart()
                try write(element, &page)
            }
        }
    }

    private mutating func container(
        _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ content: (inout JSONPage) throws -> Void
    ) rethrows {
        bytes.append(UInt8(ascii: open))
        depth += 1
        isFirst = true
        try content(&self)
        depth -= 1
        if !isFirst { breakLine() }
        isFirst = false
        bytes.append(UInt8(ascii: close))
    }

    mutating func member(_ name: String) {
        beginPart()
        bytes += JSONText.quoted(name) + [UInt8(ascii: ":"), 0x20]
    }

    mutating func member(_ name: String, _ text: String) {
        member(name)
        bytes += JSONText.quoted(text)
    }

    mutating func member(_ name: String, _ number: Int) {
        member(name)
        bytes += String(number).utf8
    }

    /// Writes a text, or a list of texts if there are several.
    mutating func member(_ name: String, lines: [String]) {
        guard lines.count > 1 else { return member(name, lines.first ?? "") }
        member(name)
        array(lines) { $1.bytes += JSONText.quoted($0) }
    }

    /// Writes header fields as an object if there are any: a text, or a list if a name occurs more than once.
    mutating func member(_ name: String, _ fields: HTTPFields) {
        guard !fields.isEmpty else { return }
        member(name)
        object { page in
            var written: Set<HTTPField.Name> = []
            for field in fields where written.insert(field.name).inserted {
                page.member(field.name.rawName, lines: fields[values: field.name])
            }
        }
    }

    private mutating func beginPart() {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        breakLine()
    }

    /// Writes a value that was written at the same depth before.
    mutating func text(_ value: ArraySlice<UInt8>) { bytes += value }

    mutating func line(_ elements: [[UInt8]]) {
        bytes += Array("[".utf8) + elements.joined(separator: ", ".utf8) + Array("]".utf8)
    }

    /// Writes the tokens of a value unchanged, with new blanks between them.
    mutating func value(_ document: [UInt8], in range: Range<Int>) {
        var scanner = JSONScanner(document, range: range)
        while let token = try? scanner.token() {
            let text = document[token]
            switch text.first {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                var ahead = scanner
                if let line = Self.line(text, &ahead) {
                    bytes += line
                    scanner = ahead
                } else {
                    bytes += text
                    depth += 1
                    breakLine()
                }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                breakLine()
                bytes += text
            case UInt8(ascii: ","):
                bytes += text
                breakLine()
            case UInt8(ascii: ":"): bytes += ": ".utf8
            default: bytes += text
            }
        }
    }

    /// Consumes the list or object that begins here, and returns it on one line; nil if it is long, or holds another one.
    private static func line(_ open: ArraySlice<UInt8>, _ scanner: inout JSONScanner) -> [UInt8]? {
        let blank: [UInt8] = open.first == UInt8(ascii: "{") ? [0x20] : []
        var line = Array(open)
        while line.count <= lineLimit, let token = try? scanner.token() {
            let text = scanner.bytes[token]
            let isFirst = line.count == 1
            switch text.first {
            case UInt8(ascii: "{"), UInt8(ascii: "["): return nil
            case UInt8(ascii: "}"), UInt8(ascii: "]"): return line + (isFirst ? [] : blank) + text
            case UInt8(ascii: ","): line += ", ".utf8
            case UInt8(ascii: ":"): line += ": ".utf8
            default: line += (isFirst ? blank : []) + text
            }
        }
        return nil
    }

    private mutating func breakLine() {
        bytes.append(0x0A)
        bytes.append(contentsOf: repeatElement(0x20, count: depth * 2))
    }
}

/// The files beside a cassette, in the folder `<name>.tape`, which hold what is too large or too binary for its text.
struct CassetteFiles {
    let directory: URL
    let folder: String
    private(set) var added: [String: Data] = [:]

    init(beside cassette: URL) {
        directory = cassette.deletingLastPathComponent()
        folder = cassette.deletingPathExtension().lastPathComponent + ".tape"
    }

    /// Adds content, and returns the path that names it in the cassette.
    ///
    /// The name follows from the content, so that content which has not changed is a file that has not changed.
    mutating func add(_ content: Data, mediaType: String?) -> String {
        let name = Self.checksum(content) + "." + Self.suffix(of: mediaType)
        let path = folder + "/" + name
        added[path] = content
        return path
    }

    /// Whether a path leads to a file in the folder, judged by its text alone.
    func contains(_ path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0] == folder && !parts[1].hasPrefix(".") && !parts[1].isEmpty
    }

    /// Reads the file of a path, which must be one in the folder.
    func read(_ path: String, _ members: CassetteMembers) throws -> Data {
        guard contains(path) else { throw members.fault("its file is not in the folder \(folder)", at: "file") }
        let file = directory.appending(path: path)
        let inside = directory.appending(path: folder).resolvingSymlinksInPath().path + "/"
        guard file.resolvingSymlinksInPath().path.hasPrefix(inside) else {
            throw members.fault("its file leads out of the folder \(folder)", at: "file")
        }
        let remedy =
            "restore the file from version control, or record the test again with `CASSETTE=rewrite`, or delete the interaction"
        guard let content = try? Data(contentsOf: file) else {
            let fault = FileManager.default.fileExists(atPath: file.path) ? "cannot be read" : "is missing"
            throw members.fault("its file \(path) \(fault); \(remedy)", at: "file")
        }
        // The checksum detects files that were mixed up, not attacks: an attacker can change the cassette as well.
        let checksum = path.dropFirst(folder.count + 1).prefix { $0 != "." }
        guard checksum.elementsEqual(Self.checksum(content)) else {
            throw members.fault(
                "its file \(path) was changed after it was recorded, so its name is no longer the checksum of its content; "
                    + remedy, at: "file")
        }
        return content
    }

    /// FNV-1a, 64 bits, in 16 digits.
    static func checksum(_ content: Data) -> String {
        let hash: UInt64 = content.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return hash.hexadecimal()
    }

    private static func suffix(of mediaType: String?) -> String {
        let subtype = (mediaType ?? "").lowercased().prefix { $0 != ";" && $0 != "+" }.split(separator: "/").last
        let known: Set<Substring> = [
            "gif", "gzip", "jpeg", "mp4", "mpeg", "pdf", "png", "protobuf", "svg", "wav", "webp", "zip",
        ]
        return subtype.flatMap { known.contains($0) ? String($0) : nil } ?? "bin"
    }
}
