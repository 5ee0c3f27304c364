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
                let text = body.bytes.base64EncodedString().utf8
                let lines = stride(from: 0, to: text.count, by: columns).map { start in
                    String(decoding: text.dropFirst(start).prefix(columns), as: UTF8.self)
                }
                page.member("base64", lines: lines)
            } else {
                page.member("file", files.add(body.bytes, mediaType: mediaType))
            }
        }
        if body.exactness != .exact { page.member("format", body.exactness.rawValue) }
    }

    private static func writeJSON(_ bytes: [UInt8], to page: inout JSONPage) -> Bool {
        var scanner = JSONScanner(bytes, range: bytes.indices)
        guard let range = try? scanner.skipValue(), range.lowerBound == 0,
            let ending = String(validating: bytes[range.upperBound...], as: UTF8.self),
            ["", "\n", "\r\n"].contains(ending), String(validating: bytes, as: UTF8.self) != nil,
            let layout = JSONLayout.allCases.first(where: { $0.written(bytes, in: range).elementsEqual(bytes[range]) })
        else { return false }
        page.member("json")
        page.value(bytes, in: range)
        if layout != .compact { page.member("layout", layout.rawValue) }
        if !ending.isEmpty { page.member("ending", ending) }
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
        page.member(
            "text", lines: scalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) })
        if text == nil { page.member("charset", latin) }
        return true
    }

    private static let kinds: [(name: MemberName, text: String)] =
        [("base64", "base64"), ("file", "file"), ("json", "json"), ("text", "text")]

    static func read(_ members: CassetteMembers, files: CassetteFiles) throws -> RecordedBody {
        guard let kind = kinds.first(where: { members[$0.name] != nil })?.name else { return RecordedBody() }
        guard kinds.count(where: { members[$0.name] != nil }) == 1 else {
            let names = kinds.filter { members[$0.name] != nil }.map(\.text)
            throw members.fault("it has content twice, as \(names.joined(separator: " and "))")
        }
        let format = try members.text("format") ?? RecordedBody.Exactness.exact.rawValue
        guard let exactness = RecordedBody.Exactness(rawValue: format) else {
            throw members.fault("its format is unknown", at: "format")
        }
        return RecordedBody(try bytes(kind, members, files), exactness: exactness)
    }

    private static func bytes(_ kind: MemberName, _ members: CassetteMembers, _ files: CassetteFiles) throws -> Data {
        switch kind {
        case "json":
            guard let layout = try members.text("layout").map(JSONLayout.init(rawValue:)) ?? .compact,
                let range = members[kind]
            else { throw members.fault("its layout is unknown", at: "layout") }
            let content = layout.written(members.bytes, in: range)
            return Data(try members.text("ending").map { content + $0.utf8 } ?? content)
        case "text":
            let text = try members.lines(kind).joined(separator: "\n")
            guard let charset = try members.text("charset") else { return Data(text.utf8) }
            guard charset == latin, text.unicodeScalars.allSatisfy({ $0.value < 0x100 }) else {
                throw members.fault("its charset is unknown, or its text has other characters", at: "charset")
            }
            return Data(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
        case "base64":
            guard let data = Data(base64Encoded: try members.lines(kind).joined()) else {
                throw members.fault("its base64 is not valid", at: "base64")
            }
            return data
        default: return try files.read(try members.text(kind) ?? "", members)
        }
    }
}

/// The blanks that a JSON document has between its tokens.
///
/// Nearly every server writes one of these layouts, so the tokens and the layout's name are enough to restore each byte.
enum JSONLayout: String, CaseIterable, Sendable {
    case compact
    case spaced
    case pretty2
    case pretty4
    case spacedMembers = ", :"
    case spacedValues = ",: "

    /// The document in a range, which is known to be JSON, in this layout.
    func written(_ bytes: [UInt8], in range: Range<Int>) -> [UInt8] {
        let (comma, colon, indentation) = blanks
        var output: [UInt8] = []
        output.reserveCapacity(range.count)
        var depth = 0
        var isEmpty = false
        func breakLine() {
            guard let indentation else { return }
            output.append(0x0A)
            output.append(contentsOf: repeatElement(0x20, count: depth * indentation))
        }
        var scanner = JSONScanner(bytes, range: range)
        while let token = try? scanner.token() {
            let token = bytes[token]
            let isOpening = token.first == UInt8(ascii: "{") || token.first == UInt8(ascii: "[")
            switch token.first {
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if !isEmpty { breakLine() }
                output += token
            case UInt8(ascii: ","):
                output += comma.utf8
                breakLine()
            case UInt8(ascii: ":"): output += colon.utf8
            default:
                if isEmpty { breakLine() }
                output += token
                if isOpening { depth += 1 }
            }
            isEmpty = isOpening
        }
        return output
    }

    private var blanks: (comma: String, colon: String, indentation: Int?) {
        switch self {
        case .compact: (",", ":", nil)
        case .spaced: (", ", ": ", nil)
        case .pretty2: (",", ": ", 2)
        case .pretty4: (",", ": ", 4)
        case .spacedMembers: (", ", ":", nil)
        case .spacedValues: (",", ": ", nil)
        }
    }
}
