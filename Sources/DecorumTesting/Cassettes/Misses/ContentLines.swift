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
        /// The fields of a part, and the parameters of its `Content-Disposition`, without its name.
        var fields: [(name: String, value: String)] = []
        /// The recorded content with the placeholders of its file; nil to show it as it is compared.
        var shown: [UInt8]?

        init(_ bytes: some Sequence<UInt8>, _ mediaType: String?) {
            self.bytes = Array(bytes)
            self.mediaType = mediaType
        }

        var kind: ContentKind { ContentKind(mediaType: mediaType) }

        /// The content as text; nil for bytes that are no text, or of a kind in which no secret is found.
        var text: String? {
            let isShown = !bytes.contains(0) && !UnsearchedContent.includes(bytes, mediaType: mediaType)
            return isShown ? String(validating: bytes, as: UTF8.self) : nil
        }

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
        guard let layout = MultipartLayout(body.bytes, mediaType: body.mediaType ?? "") else { return [] }
        return layout.parts(of: body.bytes).enumerated().map { index, part in
            var (name, mediaType) = ("", nil as String?)
            var fields: [(name: String, value: String)] = []
            for line in String(decoding: body.bytes[part.fields], as: UTF8.self).split(whereSeparator: \.isNewline) {
                guard let (field, value) = pair(line, ":") else { continue }
                if field == "content-type" { mediaType = value }
                guard field == "content-disposition" else {
                    fields.append((field, value))
                    continue
                }
                for (parameter, value) in value.split(separator: ";").dropFirst().compactMap({ pair($0, "=") }) {
                    if parameter == "name" { name = value } else { fields.append((parameter, value)) }
                }
            }
            var content = Content(body.bytes[part.content], mediaType)
            // Comparing nested bodies would take a time that grows with the square of their number.
            if content.kind == .multipart { content = Content(content.bytes, "text/plain") }
            content.fields = fields
            return (name.isEmpty ? "\(index + 1)" : name, content)
        }
    }

    /// The name before a separator, in lower case, and the value behind it without blanks and quotation marks.
    private static func pair(_ text: Substring, _ separator: Character) -> (name: String, value: String)? {
        guard let index = text.firstIndex(of: separator) else { return nil }
        let blanks = CharacterSet.whitespaces
        return (
            text[..<index].trimmingCharacters(in: blanks).lowercased(),
            text[text.index(after: index)...].trimmingCharacters(in: separator == "=" ? blanks.union(["\""]) : blanks)
        )
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
            let values = [old, new].map { Dictionary($0.fields.map { ($0.name, $0.value) }) { first, _ in first } }
            var seen: Set<String> = []
            for field in (old.fields + new.fields).map(\.name)
            where seen.insert(field).inserted && values[0][field] != values[1][field] {
                let pair = values.map { $0[field].map(lines.scanner.masked) }
                found.append(line(name + ":", "\(field)  \(lines.change(pair[0], pair[1]))"))
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
