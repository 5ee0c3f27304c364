import Decorum
import DecorumArchive
import Foundation

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
