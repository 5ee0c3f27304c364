import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// Content in the most readable form that still restores each byte: JSON, lines of text, base64, or a file.
enum RecordedContent {
    /// The longest content, in bytes, that is stored in the cassette as base64.
    static let inlineLimit = 4 << 10
    private static let columns = 76
    private static let latin = "iso-8859-1"

    static func write(
        _ body: RecordedBody, mediaType: String?, to page: inout JSONPage, files: inout CassetteFiles
    ) {
        guard !body.bytes.isEmpty else { return }
        let bytes = Array(body.bytes)
        if !writeJSON(bytes, to: &page), !writeText(bytes, mediaType: mediaType, to: &page) {
            if bytes.count <= inlineLimit {
                page.member("base64")
                write(lines: base64Lines(body.bytes), to: &page)
            } else {
                page.member("file")
                page.string(files.add(body.bytes, mediaType: mediaType))
            }
        }
        if body.exactness != .exact {
            page.member("format")
            page.string(body.exactness.rawValue)
        }
    }

    private static func writeJSON(_ bytes: [UInt8], to page: inout JSONPage) -> Bool {
        var scanner = JSONScanner(bytes, range: bytes.indices)
        guard let range = try? scanner.skipValue(), range.lowerBound == 0,
            let ending = String(validating: bytes[range.upperBound...], as: UTF8.self),
            ["", "\n", "\r\n"].contains(ending), String(validating: bytes, as: UTF8.self) != nil,
            let layout = JSONLayout.exact(for: bytes, in: range)
        else { return false }
        page.member("json")
        page.value(JSONTokens(bytes, in: range))
        if layout != .compact {
            page.member("layout")
            page.string(layout.rawValue)
        }
        if !ending.isEmpty {
            page.member("ending")
            page.string(ending)
        }
        return true
    }

    private static func writeText(_ bytes: [UInt8], mediaType: String?, to page: inout JSONPage) -> Bool {
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }) else {
            return false
        }
        let text = String(validating: bytes, as: UTF8.self)
        let isLatin = mediaType?.lowercased().filter { $0 != "\"" }.contains("charset=\(latin)") ?? false
        guard text != nil || isLatin else { return false }
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: text?.unicodeScalars ?? String.UnicodeScalarView(bytes.map { UnicodeScalar($0) }))
        page.member("text")
        write(lines: scalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }, to: &page)
        if text == nil {
            page.member("charset")
            page.string(latin)
        }
        return true
    }

    private static func write(lines: [String], to page: inout JSONPage) {
        guard lines.count > 1 else { return page.string(lines.first ?? "") }
        page.array { page in
            for line in lines {
                page.element()
                page.string(line)
            }
        }
    }

    private static func base64Lines(_ data: Data) -> [String] {
        let text = data.base64EncodedString()
        return stride(from: 0, to: text.utf8.count, by: columns).map { start in
            String(decoding: text.utf8.dropFirst(start).prefix(columns), as: UTF8.self)
        }
    }
}

extension RecordedContent {
    /// The names of the members that hold content, or define how to read it.
    static let members: [MemberName] = ["json", "text", "base64", "file", "layout", "ending", "charset", "format"]

    /// The member that holds content.
    private enum Kind: String, CaseIterable {
        case json, text, base64, file

        var member: MemberName {
            switch self {
            case .json: "json"
            case .text: "text"
            case .base64: "base64"
            case .file: "file"
            }
        }
    }

    static func read(_ members: CassetteMembers, files: CassetteFiles) throws -> RecordedBody {
        var found: Kind?
        for kind in Kind.allCases where members.contains(kind.member) {
            if let found { throw members.fault("it has content twice, as \(found.rawValue) and \(kind.rawValue)") }
            found = kind
        }
        guard let kind = found else { return RecordedBody() }

        let exactness = try members.text("format").map { name in
            guard let exactness = RecordedBody.Exactness(rawValue: name) else {
                throw members.fault("its format is unknown", at: "format")
            }
            return exactness
        }
        return RecordedBody(try bytes(kind, members, files), exactness: exactness ?? .exact)
    }

    private static func bytes(_ kind: Kind, _ members: CassetteMembers, _ files: CassetteFiles) throws -> Data {
        switch kind {
        case .json:
            guard let layout = try members.text("layout").map(JSONLayout.init(rawValue:)) ?? .compact,
                let range = members[kind.member]
            else { throw members.fault("its layout is unknown", at: "layout") }
            let content = layout.written(JSONTokens(members.bytes, in: range))
            return Data(try members.text("ending").map { content + $0.utf8 } ?? content)
        case .text:
            let text = try members.lines(kind.member).joined(separator: "\n")
            guard let charset = try members.text("charset") else { return Data(text.utf8) }
            guard charset == latin, text.unicodeScalars.allSatisfy({ $0.value < 0x100 }) else {
                throw members.fault("its charset is unknown, or its text has other characters", at: "charset")
            }
            return Data(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
        case .base64:
            guard let data = Data(base64Encoded: try members.lines(kind.member).joined()) else {
                throw members.fault("its base64 is not valid", at: "base64")
            }
            return data
        case .file:
            return try files.read(try members.text(kind.member) ?? "", members)
        }
    }
}
