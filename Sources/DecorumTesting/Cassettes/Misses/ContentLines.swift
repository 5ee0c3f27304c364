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

        /// The content as text; nil if it is none, or of a kind in which no secret is found.
        var text: String? {
            let isShown = !bytes.contains(0) && !UnsearchedContent.includes(bytes, mediaType: mediaType)
            return isShown ? String(validating: bytes, as: UTF8.self) : nil
        }

        /// Whether a placeholder stands in it.
        var holdsSecret: Bool { text?.contains(Pseudonym.erasedText) ?? false }
    }

    let lines: RequestLines
    /// The places of JSON whose differences do not matter.
    let ignoredPaths: Redaction

    func of(_ recorded: RecordedRequest, _ live: RecordedRequest) -> [String] {
        var contents = [recorded, live].map { Content($0.body.bytes, $0.fields[.contentType]) }
        contents[0].shown = lines.shown.map { Array($0.body.bytes) }
        return mediaTypes(contents[0], contents[1]) + differences(recorded, live, contents)
    }

    /// A line for two contents that differ in their media types, parameters aside.
    private func mediaTypes(_ recorded: Content, _ live: Content) -> [String] {
        guard !recorded.bytes.isEmpty, !live.bytes.isEmpty, let old = recorded.mediaType?.mediaTypeEssence,
            let new = live.mediaType?.mediaTypeEssence, old != new
        else { return [] }
        return ["media type  \(lines.change(lines.scanner.masked(old), lines.scanner.masked(new)))"]
    }

    private func differences(
        _ recorded: RecordedRequest, _ live: RecordedRequest, _ contents: [Content]
    ) -> [String] {
        // Coded content cannot be searched for secrets.
        if recorded.fields.contains(.contentEncoding) || live.fields.contains(.contentEncoding) {
            return [counted(contents[0], contents[1])]
        }
        if let json = json(contents[0], contents[1], ignoring: ignoredPaths) { return json }
        return Array(differences(contents[0], contents[1]).prefix(RequestLines.limit))
    }

    private func differences(_ recorded: Content, _ live: Content) -> [String] {
        if recorded.bytes.isEmpty { return ["the recording has none  →  \(summary(of: live))"] }
        if live.bytes.isEmpty { return ["\(summary(of: recorded))  →  this request has none"] }
        let kinds = [recorded, live].map { ContentKind(mediaType: $0.mediaType) }
        if kinds == [.form, .form] { return form(recorded, live) }
        if kinds == [.multipart, .multipart] { return multipart(recorded, live) }
        if let json = json(recorded, live, ignoring: .none) { return json }
        guard let old = recorded.text, let new = live.text else { return [counted(recorded, live)] }
        let shown = recorded.shown.map { lines.masked($0) }
        return [text(lines.masked(Array(old.utf8)), lines.masked(Array(new.utf8)), shown: shown)]
    }

    /// The differences of two values of JSON; nil unless both are.
    private func json(_ recorded: Content, _ live: Content, ignoring paths: Redaction) -> [String]? {
        func value(_ content: Content) -> JSONValue? {
            guard ContentKind(mediaType: content.mediaType) != .form else { return nil }
            return try? JSONValue(parsing: Array(BodyKey.json(Data(content.bytes), ignoring: paths)))
        }
        guard let old = value(recorded), let new = value(live) else { return nil }
        let shown = recorded.shown.flatMap { try? JSONValue(parsing: $0) }
        return JSONDifference.all(old, new, limit: RequestLines.limit).map {
            $0.line(masking: lines.scanner, shown: shown)
        }
    }

    /// The kind of content, and its beginning if it is text.
    private func summary(of content: Content) -> String {
        guard let text = content.text, ContentKind(mediaType: content.mediaType) != .multipart else {
            return "\(content.bytes.count) bytes"
        }
        return lines.excerpt(lines.masked(content.shown ?? Array(text.utf8)))
    }

    private func counted(_ recorded: Content, _ live: Content) -> String {
        let offset = zip(recorded.bytes, live.bytes).prefix { $0 == $1 }.count
        let length = recorded.bytes.count
        guard length == live.bytes.count else {
            return "\(length) bytes  →  \(live.bytes.count) bytes, which differ from byte \(offset + 1) on"
        }
        let differing = zip(recorded.bytes, live.bytes).count { $0 != $1 }
        guard differing > 1 else {
            return differing == 0
                ? "\(length) bytes, which are the same" : "1 of \(length) bytes differs, byte \(offset + 1)"
        }
        return "\(differing) of \(length) bytes differ, the first is byte \(offset + 1)"
    }

    /// The first line that differs, of texts that are masked.
    private func text(_ recorded: String, _ live: String, shown: String?) -> String {
        let (old, new) = (Self.lines(of: recorded), Self.lines(of: live))
        let number = zip(old, new).prefix { $0 == $1 }.count
        let pair = [old, new].map { number < $0.count ? $0[number] : nil }
        let place = old.count > 1 || new.count > 1 ? "line \(number + 1)  " : ""
        // Where the recorded text has a placeholder, the live one may have the secret in any line.
        if recorded.contains(Pseudonym.erasedText), let line = pair[1], pair[0] != nil {
            let written = shown.map(Self.lines) ?? []
            let text = written.count == old.count ? written[number] : pair[0] ?? ""
            return "\(place)\(lines.excerpt(text))  →  \(RequestLines.unshownSecret(line))"
        }
        guard let first = pair[0], let second = pair[1] else {
            let counts = "\(old.count) lines  →  \(new.count) lines"
            return recorded.contains(Pseudonym.erasedText)
                ? counts : "\(counts), line \(number + 1)  \(lines.change(pair[0], pair[1]))"
        }
        // The start of long lines may be the same.
        let common = zip(first, second).prefix { $0 == $1 }.count
        let start = common > 40 ? common - 10 : 0
        let ellipsis = start > 0 ? "…" : ""
        return place
            + lines.change(ellipsis + first.dropFirst(start), ellipsis + second.dropFirst(start))
    }

    private static func lines(of text: String) -> [String] {
        text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
    }

    private func form(_ recorded: Content, _ live: Content) -> [String] {
        func items(_ content: Content) -> [(name: String, content: Content)] {
            content.bytes.split(separator: UInt8(ascii: "&")).map { item in
                let name = item.prefix { $0 != UInt8(ascii: "=") }
                let value = PercentCoding.decode(item.dropFirst(name.count + 1), plusIsBlank: true)
                let decoded = PercentCoding.decode(name, plusIsBlank: true)
                return (String(decoding: decoded, as: UTF8.self), Content(value, "text/plain"))
            }
        }
        let shown = recorded.shown.map { items(Content($0, recorded.mediaType)) }
        return named("field", Self.showing(items(recorded), as: shown), items(live))
    }

    private func multipart(_ recorded: Content, _ live: Content) -> [String] {
        func parts(_ content: Content) -> [(name: String, content: Content)] {
            var parts: [(name: String, content: Content)] = []
            let fields = PartFields.all(in: content.bytes, mediaType: content.mediaType ?? "")
            _ = MultipartPart.replacing(in: Data(content.bytes), mediaType: content.mediaType ?? "") { part in
                let name = part.name.isEmpty ? "\(parts.count + 1)" : String(decoding: part.name, as: UTF8.self)
                let own = parts.count < fields.count ? fields[parts.count] : nil
                parts.append((name, Content(part.content, part.mediaType, fields: own)))
                return nil
            }
            return parts
        }
        let shown = recorded.shown.map { parts(Content($0, recorded.mediaType)) }
        let found = (Self.showing(parts(recorded), as: shown), parts(live))
        guard !found.0.isEmpty, !found.1.isEmpty else { return [counted(recorded, live)] }
        let differences = named("part", found.0, found.1)
        guard differences.isEmpty else { return differences }
        let isReordered = found.0.map(\.name) != found.1.map(\.name)
        return [isReordered ? "the order of the parts differs" : counted(recorded, live)]
    }

    /// Fields or parts, each with the text in which the file has it.
    private static func showing(
        _ items: [(name: String, content: Content)], as shown: [(name: String, content: Content)]?
    ) -> [(name: String, content: Content)] {
        guard let shown, shown.count == items.count else { return items }
        return zip(items, shown).map { item, shown in
            var item = item
            item.content.shown = shown.content.bytes
            return item
        }
    }

    /// The differences of fields or parts that have names; those of one name are compared in their order.
    private func named(
        _ kind: String, _ recorded: [(name: String, content: Content)], _ live: [(name: String, content: Content)]
    ) -> [String] {
        var rest = Dictionary(grouping: live) { $0.name }.mapValues { $0.map(\.content)[...] }
        func line(_ name: String, _ text: String) -> String { "\(kind) \(lines.scanner.masked(name))  \(text)" }
        var found: [String] = []
        for (name, old) in recorded {
            guard let new = rest[name]?.popFirst() else {
                found.append(line(name, "\(summary(of: old))  →  this request has none"))
                continue
            }
            found += (old.fields.flatMap { old in new.fields.map(old.differences) } ?? []).map { difference in
                let values = [difference.recorded, difference.live].map { $0.map(lines.scanner.masked) }
                return line(name + ":", "\(difference.name)  \(lines.change(values[0], values[1]))")
            }
            if old.bytes != new.bytes { found += differences(old, new).map { line(name, $0) } }
        }
        let isBesideSecret = (recorded + live).contains { $0.content.holdsSecret }
        for (name, _) in live {
            guard let new = rest[name]?.popFirst() else { continue }
            let isText = new.text != nil && ContentKind(mediaType: new.mediaType) != .multipart
            let value = isBesideSecret && isText ? RequestLines.unshown("a text") : summary(of: new)
            found.append(line(name, "the recording has none  →  \(value)"))
        }
        return found
    }
}
