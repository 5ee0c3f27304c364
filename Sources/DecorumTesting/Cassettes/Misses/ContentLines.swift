import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// The lines that describe the differences of two contents, by their kind: JSON by its members, a form by its fields, a
/// multipart body by its parts, text by its first line that differs, and all else by its length or by the number of bytes that
/// differ.
struct ContentLines {
    /// The content of a request or of a part of one.
    private struct Content {
        let bytes: [UInt8]
        let mediaType: String?
        /// The fields of a part.
        var fields: PartFields?
        /// The recorded content with the placeholders of its file; nil to show it as it is compared.
        var shown: [UInt8]?

        init(_ bytes: some Sequence<UInt8>, _ mediaType: String?, fields: PartFields? = nil) {
            self.bytes = Array(bytes)
            self.mediaType = mediaType
            self.fields = fields
        }

        var kind: ContentKind { ContentKind(mediaType: mediaType) }

        /// The content as text; nil for bytes that are no text, or of a kind in which no secret is found.
        var text: String? {
            let isShown = !bytes.contains(0) && !UnsearchedContent.includes(bytes, mediaType: mediaType)
            return isShown ? String(validating: bytes, as: UTF8.self) : nil
        }

        /// Whether a placeholder stands in it.
        var holdsSecret: Bool { text?.contains(Pseudonym.erasedText) ?? false }
    }

    /// A field of a form, or a part of a multipart body.
    private typealias Item = (name: String, content: Content)

    let lines: RequestLines
    /// The places of JSON whose differences do not matter.
    let ignoredPaths: Redaction

    func of(_ recorded: RecordedRequest, _ live: RecordedRequest) -> [String] {
        var (old, new) = (
            Content(recorded.body.bytes, recorded.fields[.contentType]),
            Content(live.body.bytes, live.fields[.contentType])
        )
        old.shown = lines.shown.map { Array($0.body.bytes) }
        // Coded content cannot be searched for secrets.
        if recorded.fields.contains(.contentEncoding) || live.fields.contains(.contentEncoding) {
            return mediaTypes(old, new) + [counted(old, new)]
        }
        let found = json(old, new, ignoring: ignoredPaths) ?? Array(differences(old, new).prefix(RequestLines.limit))
        return mediaTypes(old, new) + found
    }

    /// A line for two contents that differ in their media types, parameters aside.
    private func mediaTypes(_ recorded: Content, _ live: Content) -> [String] {
        guard !recorded.bytes.isEmpty, !live.bytes.isEmpty, let old = recorded.mediaType?.mediaTypeEssence,
            let new = live.mediaType?.mediaTypeEssence, old != new
        else { return [] }
        return ["media type  \(lines.change(lines.scanner.masked(old), lines.scanner.masked(new)))"]
    }

    private func differences(_ recorded: Content, _ live: Content) -> [String] {
        if recorded.bytes.isEmpty { return ["the recording has none  →  \(summary(of: live))"] }
        if live.bytes.isEmpty { return ["\(summary(of: recorded))  →  this request has none"] }
        if recorded.kind == live.kind, recorded.kind == .form { return named("field", recorded, live, Self.fields) }
        if recorded.kind == live.kind, recorded.kind == .multipart { return multipart(recorded, live) }
        if let json = json(recorded, live, ignoring: .none) { return json }
        guard let old = recorded.text, let new = live.text else { return [counted(recorded, live)] }
        let shown = recorded.shown.map { lines.masked($0) }
        return [text(lines.masked(Array(old.utf8)), lines.masked(Array(new.utf8)), shown: shown)]
    }

    /// The differences of two values of JSON; nil unless both are.
    private func json(_ recorded: Content, _ live: Content, ignoring paths: Redaction) -> [String]? {
        func value(_ content: Content) -> JSONValue? {
            guard content.kind != .form else { return nil }
            return try? JSONValue(parsing: Array(BodyKey.json(Data(content.bytes), ignoring: paths)))
        }
        guard let old = value(recorded), let new = value(live) else { return nil }
        let shown = recorded.shown.flatMap { try? JSONValue(parsing: $0) }
        return JSONDifference.all(old, new, limit: RequestLines.limit).map {
            $0.line(masking: lines.scanner, shown: shown)
        }
    }

    /// The length of content, or its beginning if it is text.
    private func summary(of content: Content) -> String {
        guard let text = content.text, content.kind != .multipart else { return "\(content.bytes.count) bytes" }
        return lines.excerpt(lines.masked(content.shown ?? Array(text.utf8)))
    }

    private func counted(_ recorded: Content, _ live: Content) -> String {
        let length = recorded.bytes.count
        let offset = zip(recorded.bytes, live.bytes).prefix { $0 == $1 }.count
        guard length == live.bytes.count else {
            return "\(length) bytes  →  \(live.bytes.count) bytes, which differ from byte \(offset + 1) on"
        }
        switch zip(recorded.bytes, live.bytes).count(where: { $0 != $1 }) {
        case 0: return "\(length) bytes, which are the same"
        case 1: return "1 of \(length) bytes differs, byte \(offset + 1)"
        case let count: return "\(count) of \(length) bytes differ, the first is byte \(offset + 1)"
        }
    }

    /// The first line that differs, of texts that are masked.
    private func text(_ recorded: String, _ live: String, shown: String?) -> String {
        func split(_ text: String) -> [String] {
            text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
        }
        let (old, new) = (split(recorded), split(live))
        let number = zip(old, new).prefix { $0 == $1 }.count
        let pair = [old, new].map { number < $0.count ? $0[number] : nil }
        let place = old.count > 1 || new.count > 1 ? "line \(number + 1)  " : ""
        let holdsSecret = recorded.contains(Pseudonym.erasedText)
        guard let first = pair[0], let second = pair[1] else {
            let counts = "\(old.count) lines  →  \(new.count) lines"
            return holdsSecret ? counts : "\(counts), line \(number + 1)  \(lines.change(pair[0], pair[1]))"
        }
        // Where the recorded text has a placeholder, the live one may have the secret in any line.
        guard !holdsSecret else {
            let written = shown.map(split) ?? []
            let text = written.count == old.count ? written[number] : first
            return "\(place)\(lines.excerpt(text))  →  \(RequestLines.unshownSecret(second))"
        }
        // The start of long lines may be the same.
        let common = zip(first, second).prefix { $0 == $1 }.count
        guard common > 40 else { return place + lines.change(first, second) }
        return place + lines.change("…" + first.dropFirst(common - 10), "…" + second.dropFirst(common - 10))
    }

    private static func fields(of form: Content) -> [Item] {
        form.bytes.split(separator: UInt8(ascii: "&")).map { item in
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            let value = PercentCoding.decode(item.dropFirst(name.count + 1), plusIsBlank: true)
            let decoded = PercentCoding.decode(name, plusIsBlank: true)
            return (String(decoding: decoded, as: UTF8.self), Content(value, "text/plain"))
        }
    }

    private static func parts(of body: Content) -> [Item] {
        var parts: [Item] = []
        let fields = PartFields.all(in: body.bytes, mediaType: body.mediaType ?? "")
        _ = MultipartPart.replacing(in: Data(body.bytes), mediaType: body.mediaType ?? "") { part in
            let name = part.name.isEmpty ? "\(parts.count + 1)" : String(decoding: part.name, as: UTF8.self)
            let own = parts.count < fields.count ? fields[parts.count] : nil
            parts.append((name, Content(part.content, part.mediaType, fields: own)))
            return nil
        }
        return parts
    }

    private func multipart(_ recorded: Content, _ live: Content) -> [String] {
        let names = [recorded, live].map { Self.parts(of: $0).map(\.name) }
        guard !names[0].isEmpty, !names[1].isEmpty else { return [counted(recorded, live)] }
        let differences = named("part", recorded, live, Self.parts)
        guard differences.isEmpty else { return differences }
        return [names[0] != names[1] ? "the order of the parts differs" : counted(recorded, live)]
    }

    /// The differences of fields or parts that have names; equal names are compared in their order.
    private func named(_ kind: String, _ recorded: Content, _ live: Content, _ split: (Content) -> [Item]) -> [String] {
        var (old, new) = (split(recorded), split(live))
        let shown = recorded.shown.map { split(Content($0, recorded.mediaType)) } ?? []
        if shown.count == old.count {
            for index in old.indices { old[index].content.shown = shown[index].content.bytes }
        }
        var rest = Dictionary(grouping: new) { $0.name }.mapValues { $0.map(\.content)[...] }
        func line(_ name: String, _ text: String) -> String { "\(kind) \(lines.scanner.masked(name))  \(text)" }
        var found: [String] = []
        for (name, old) in old {
            guard let new = rest[name]?.popFirst() else {
                found.append(line(name, "\(summary(of: old))  →  this request has none"))
                continue
            }
            if let fields = old.fields, let others = new.fields {
                found += fields.differences(to: others).map { field, old, new in
                    line(
                        name + ":",
                        "\(field)  \(lines.change(old.map(lines.scanner.masked), new.map(lines.scanner.masked)))")
                }
            }
            if old.bytes != new.bytes { found += differences(old, new).map { line(name, $0) } }
        }
        let isBesideSecret = (old + new).contains { $0.content.holdsSecret }
        for (name, _) in new {
            guard let new = rest[name]?.popFirst() else { continue }
            let isText = new.text != nil && new.kind != .multipart
            let value = isBesideSecret && isText ? RequestLines.unshown("a text") : summary(of: new)
            found.append(line(name, "the recording has none  →  \(value)"))
        }
        return found
    }
}

/// The fields of a part of a multipart body, without the name of the part (RFC 7578, section 4).
struct PartFields {
    /// The lower-case names and the values: the file name and other parameters of `Content-Disposition`, and the other fields,
    /// in their order.
    let values: [(name: String, value: String)]

    /// The fields of all parts that have any, in the order of the parts.
    static func all(in content: [UInt8], mediaType: String) -> [PartFields] {
        guard let layout = MultipartLayout(content, mediaType: mediaType) else { return [] }
        return zip(layout.delimiters, layout.delimiters.dropFirst()).compactMap { delimiter, next in
            let lines = content[delimiter.upperBound..<next.lowerBound]
                .split(separator: 0x0A, omittingEmptySubsequences: false).dropFirst()
                .map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines) }
            return lines.contains("") ? PartFields(lines.prefix { !$0.isEmpty }) : nil
        }
    }

    private init(_ lines: some Sequence<String>) {
        values = lines.flatMap { line -> [(String, String)] in
            let halves = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2 else { return [] }
            let value = halves[1].trimmingCharacters(in: .whitespaces)
            guard halves[0].lowercased() == "content-disposition" else { return [(halves[0].lowercased(), value)] }
            return value.split(separator: ";").dropFirst().compactMap(Self.parameter).filter { $0.0 != "name" }
        }
    }

    /// The name, in lower case, and the value of a parameter without its quotation marks.
    static func parameter(_ text: Substring) -> (String, String)? {
        let halves = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        return (
            halves[0].trimmingCharacters(in: .whitespaces).lowercased(),
            halves[1].trimmingCharacters(in: .whitespaces.union(["\""]))
        )
    }

    /// The names whose values differ, with the recorded value and the live one; nil for a part without the field.
    func differences(to live: PartFields) -> [(name: String, recorded: String?, live: String?)] {
        let old = Dictionary(values) { first, _ in first }
        let new = Dictionary(live.values) { first, _ in first }
        var seen: Set<String> = []
        return (values + live.values).map(\.name).filter { seen.insert($0).inserted && old[$0] != new[$0] }
            .map { ($0, old[$0], new[$0]) }
    }
}
