import Decorum
import DecorumArchive
import Foundation

/// A URL in its normal form, which is equal for equivalent URLs (RFC 3986, section 6.2).
///
/// Scheme and host are in lower case, the default port and the fragment are removed, percent-encoding is the minimum
/// needed, and query items are ordered by their names; items of one name keep their order.
enum URLKey {
    static func key(of url: String, ignoring names: SecretNames) -> [UInt8] {
        var key: [UInt8] = []
        append(url, ignoring: names, to: &key)
        return key
    }

    static func append(_ url: String, ignoring names: SecretNames, to key: inout [UInt8]) {
        var url = url
        // The pointer does not escape.
        url.withUTF8 { unsafe append(Slice(base: $0, bounds: $0.indices), ignoring: names, to: &key) }
    }

    private static func append<Bytes: RandomAccessCollection<UInt8>>(
        _ bytes: Bytes, ignoring names: SecretNames, to key: inout [UInt8]
    ) where Bytes.Index == Int, Bytes.SubSequence == Bytes {
        let end = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
        let authority = authority(in: bytes[..<end])
        let query = bytes[authority.upperBound..<end].firstIndex(of: UInt8(ascii: "?")) ?? end

        let scheme = bytes[..<authority.lowerBound]
        for byte in scheme { key.append(byte.inLowerCase) }
        for byte in withoutDefaultPort(bytes[authority], scheme: scheme) { key.append(byte.inLowerCase) }
        if query == authority.upperBound, !authority.isEmpty { key.append(UInt8(ascii: "/")) }
        append(bytes[authority.upperBound..<query], isQuery: false, to: &key)
        guard query < end else { return }
        key.append(UInt8(ascii: "?"))
        let start = key.count
        appendItems(bytes[(query + 1)..<end], ignoring: names, to: &key)
        if key.count == start { key.removeLast() }
    }

    /// The part of a URL behind its origin.
    static func target(of url: String) -> String {
        let bytes = Array(url.utf8)
        return String(decoding: bytes[authority(in: bytes[...]).upperBound...], as: UTF8.self)
    }

    private static func authority<Bytes: RandomAccessCollection<UInt8>>(
        in url: Bytes
    ) -> Range<Int> where Bytes.Index == Int, Bytes.SubSequence == Bytes {
        let start = url.indices.first { index in
            url[index] == UInt8(ascii: "/") && index + 1 < url.endIndex && url[index + 1] == UInt8(ascii: "/")
        }
        guard let start else { return url.startIndex..<url.startIndex }
        let rest = url[(start + 2)...]
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? url.endIndex
        return rest.startIndex..<end
    }

    private static func withoutDefaultPort<Bytes: RandomAccessCollection<UInt8>>(
        _ authority: Bytes, scheme: Bytes
    ) -> Bytes where Bytes.Index == Int, Bytes.SubSequence == Bytes {
        guard let colon = authority.lastIndex(of: UInt8(ascii: ":")) else { return authority }
        let port = authority[(colon + 1)...]
        let name = scheme.prefix { $0 != UInt8(ascii: ":") }.lazy.map(\.inLowerCase)
        let isDefault =
            port.isEmpty || port.elementsEqual("443".utf8) && name.elementsEqual("https".utf8)
            || port.elementsEqual("80".utf8) && name.elementsEqual("http".utf8)
        return isDefault ? authority[..<colon] : authority
    }

    /// Appends the items of a query or a form, ordered by their names, without the ignored ones.
    static func appendItems<Bytes: RandomAccessCollection<UInt8>>(
        _ query: Bytes, ignoring names: SecretNames, to key: inout [UInt8]
    ) where Bytes.Index == Int, Bytes.SubSequence == Bytes {
        var items: [(name: Range<Int>, item: Range<Int>)] = []
        items.reserveCapacity(4)
        let start = key.count
        var rest = query
        while let first = rest.first {
            let item = rest.prefix { $0 != UInt8(ascii: "&") }
            rest = first == UInt8(ascii: "&") ? rest.dropFirst() : rest[item.endIndex...]
            guard !item.isEmpty else { continue }
            let end = key.count
            if !items.isEmpty { key.append(UInt8(ascii: "&")) }
            let place = key.count
            append(item, isQuery: true, to: &key)
            let name = place..<(key[place...].firstIndex(of: UInt8(ascii: "=")) ?? key.count)
            if names.isEmpty || !names.contains(String(decoding: key[name], as: UTF8.self)) {
                items.append((name, place..<key.count))
            } else {
                key.removeSubrange(end...)
            }
        }
        let isOrdered = zip(items, items.dropFirst()).allSatisfy { one, other in
            !key[other.name].lexicographicallyPrecedes(key[one.name])
        }
        guard !isOrdered else { return }
        let text = key
        key.removeSubrange(start...)
        // Sorting is stable, so items of one name keep their order.
        items.sort { text[$0.name].lexicographicallyPrecedes(text[$1.name]) }
        for item in items {
            if key.count > start { key.append(UInt8(ascii: "&")) }
            key += text[item.item]
        }
    }

    private static func append<Bytes: RandomAccessCollection<UInt8>>(
        _ part: Bytes, isQuery: Bool, to key: inout [UInt8]
    ) where Bytes.Index == Int {
        var index = part.startIndex
        while index < part.endIndex {
            var byte = part[index]
            index += 1
            if byte == UInt8(ascii: "%"), index + 1 < part.endIndex,
                let high = PercentCoding.hexDigit(part[index]), let low = PercentCoding.hexDigit(part[index + 1])
            {
                byte = high << 4 | low
                index += 2
                byte.isUnreserved ? key.append(byte) : encode(byte, to: &key)
            } else if isQuery, byte == UInt8(ascii: "+") {
                encode(0x20, to: &key)
            } else if byte.isAllowedInURL {
                key.append(byte)
            } else {
                encode(byte, to: &key)
            }
        }
    }

    private static func encode(_ byte: UInt8, to key: inout [UInt8]) {
        key.append(UInt8(ascii: "%"))
        key.append(Self.digits[Int(byte >> 4)])
        key.append(Self.digits[Int(byte & 15)])
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
}

extension UInt8 {
    fileprivate var inLowerCase: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }

    fileprivate var isUnreserved: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Whether the byte stands in a URL as it is.
    var isAllowedInURL: Bool {
        switch self {
        case 0...0x20, 0x7F..., UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
            UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
            false
        default: true
        }
    }
}

/// Content in a normal form, which is equal for content with the same meaning.
///
/// JSON is compared by value, without the order of members, the blanks and the spelling of numbers; a form by its
/// items, without their order; a multipart body without its boundary; all else byte by byte.
enum BodyKey {
    static func key(of body: Data, mediaType: String?, ignoring paths: Redaction) -> [UInt8] {
        guard !body.isEmpty else { return [] }
        let essence = (mediaType ?? "").mediaTypeEssence
        if essence == "application/x-www-form-urlencoded" { return form(body) }
        if essence.hasPrefix("multipart/") {
            let bytes = Array(body)
            return MultipartLayout(bytes, mediaType: mediaType ?? "").map { multipart(bytes, $0) } ?? bytes
        }
        // Many clients send JSON without its media type.
        if let first = body.first(where: { $0 > 0x20 }), first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
            if let value = try? JSONValue(parsing: Array(json(body, ignoring: paths))) {
                var key = Array("json ".utf8)
                append(value, to: &key)
                return key
            }
        }
        return Array(body)
    }

    /// JSON with the same text at each ignored place.
    static func json(_ body: Data, ignoring paths: Redaction) -> Data {
        paths.jsonPaths.isEmpty ? body : paths.applied(to: body, mediaType: "application/json")
    }

    private static func append(_ value: JSONValue, to key: inout [UInt8]) {
        switch value {
        case .null: key += "null".utf8
        case .bool(let bool): key += (bool ? "true" : "false").utf8
        case .number(let digits): key += number(digits).utf8
        case .string(let text): key += JSONText.quoted(text)
        case .array(let elements):
            key.append(UInt8(ascii: "["))
            for element in elements {
                append(element, to: &key)
                key.append(UInt8(ascii: ","))
            }
            key.append(UInt8(ascii: "]"))
        case .object(let members):
            key.append(UInt8(ascii: "{"))
            // Members of one name keep their order, because readers take the first or the last.
            let sorted = members.enumerated().sorted {
                $0.element.name == $1.element.name ? $0.offset < $1.offset : $0.element.name < $1.element.name
            }
            for (_, member) in sorted {
                key += JSONText.quoted(member.name)
                append(member.value, to: &key)
                key.append(UInt8(ascii: ","))
            }
            key.append(UInt8(ascii: "}"))
        }
    }

    /// The digits that all spellings of a number share; a number too large to be normalized keeps its digits.
    static func number(_ digits: String) -> String {
        if let integer = Int(digits) { return String(integer) }
        guard let double = Double(digits), double.magnitude < 0x1p53 else { return digits }
        return Int(exactly: double).map { String($0) } ?? String(double)
    }

    private static func form(_ body: Data) -> [UInt8] {
        var key = Array("form ".utf8)
        URLKey.appendItems(Array(body)[...], ignoring: SecretNames([]), to: &key)
        return key
    }

    private static func multipart(_ body: [UInt8], _ layout: MultipartLayout) -> [UInt8] {
        var key = Array("multipart ".utf8)
        key.reserveCapacity(body.count)
        var copied = 0
        for delimiter in layout.delimiters {
            key += body[copied..<delimiter.lowerBound]
            key += "--boundary".utf8
            copied = delimiter.upperBound
        }
        return key + body[copied...]
    }
}
