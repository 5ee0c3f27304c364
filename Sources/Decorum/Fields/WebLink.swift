import HTTPTypes

/// A link in a `Link` field (RFC 8288, section 3), without the attributes that no layer needs.
struct WebLink: Equatable {
    /// The URI reference between the angle brackets.
    let target: String
    /// The relation types, in lower case.
    let relations: [String]
    /// Whether the link is one of another resource than that of the response, which `anchor` names.
    let hasAnchor: Bool

    /// The links in the fields of a response, in order, up to the first one that is malformed.
    static func links(in fields: HTTPFields) -> [WebLink] {
        guard let name = HTTPField.Name("Link") else { return [] }
        return fields[values: name].flatMap { value in
            var scanner = WebLinkScanner(value)
            var links: [WebLink] = []
            while let link = scanner.next() { links.append(link) }
            return links
        }
    }
}

/// Reads the links of one value; each byte is read once.
private struct WebLinkScanner {
    private var rest: Substring.UTF8View

    init(_ value: String) {
        rest = value[...].utf8
    }

    mutating func next() -> WebLink? {
        skip { $0.isBlank || $0 == UInt8(ascii: ",") }
        guard take(UInt8(ascii: "<")) else { return nil }
        let target = String(Substring(takeWhile { $0 != UInt8(ascii: ">") }))
        guard take(UInt8(ascii: ">")) else { return nil }
        var relations: [String]?
        var hasAnchor = false
        skip(while: \.isBlank)
        while take(UInt8(ascii: ";")) {
            skip(while: \.isBlank)
            let name = Substring(takeWhile { !$0.isBlank && !";,=".utf8.contains($0) }).lowercased()
            let value = attributeValue()
            // The first `rel` counts (RFC 8288, section 3.3).
            if name == "rel" { relations = relations ?? value.lowercased().split(separator: " ").map(String.init) }
            if name == "anchor" { hasAnchor = true }
            skip(while: \.isBlank)
        }
        return WebLink(target: target, relations: relations ?? [], hasAnchor: hasAnchor)
    }

    /// The value after an equals sign: a token or a quoted string; empty without one.
    private mutating func attributeValue() -> String {
        skip(while: \.isBlank)
        guard take(UInt8(ascii: "=")) else { return "" }
        skip(while: \.isBlank)
        guard take(UInt8(ascii: "\"")) else {
            return String(Substring(takeWhile { !$0.isBlank && $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") }))
        }
        var bytes: [UInt8] = []
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
                bytes.append(escaped)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func takeWhile(_ isTaken: (UInt8) -> Bool) -> Substring.UTF8View {
        let taken = rest.prefix(while: isTaken)
        rest = rest[taken.endIndex...]
        return taken
    }

    private mutating func skip(while isSkipped: (UInt8) -> Bool) {
        rest = rest.drop(while: isSkipped)
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
