public import HTTPTypes

/// A cookie as a client sends it: one pair in a `Cookie` field (RFC 6265bis, sections 4.2 and 5.8.3).
///
/// A server reads the cookies of a request:
///
/// ```swift
/// let session = CookiePair.all(in: request.headerFields).first { $0.name == "session" }
/// ```
///
/// Descriptions and reflection show no value.
public struct CookiePair: Sendable, Hashable {
    /// The name; empty where the pair has no equals sign.
    public var name: String
    /// The value; quotation marks are a part of it.
    public var value: String

    /// Creates a pair.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Parses the value of a `Cookie` field.
    ///
    /// The order stays, and a name may be there more than once: a client puts the cookie with the longer path first. Parts
    /// that are empty, that have a control character or that are not UTF-8 are left out.
    ///
    /// - Parameter field: The value of the field.
    /// - Returns: The pairs.
    public static func all(in field: String) -> [CookiePair] {
        field.utf8.split(separator: UInt8(ascii: ";")).compactMap { part in
            let (first, second) = ArraySlice(part).halves
            guard !first.isEmpty || second.map({ !$0.isEmpty }) ?? false, !part.contains(where: \.isControl) else {
                return nil
            }
            guard let second else { return first.string.map { CookiePair(name: "", value: $0) } }
            guard let name = first.string, let value = second.string else { return nil }
            return CookiePair(name: name, value: value)
        }
    }

    /// Parses all `Cookie` fields of a request; HTTP/2 allows several.
    ///
    /// - Parameter fields: The fields of the request.
    /// - Returns: The pairs, in order.
    public static func all(in fields: HTTPFields) -> [CookiePair] {
        fields[values: .cookie].flatMap { all(in: $0) }
    }

    /// The value of a `Cookie` field with some pairs; nil where one has a character that would end it.
    ///
    /// - Parameter pairs: The pairs.
    /// - Returns: The value.
    public static func fieldValue(of pairs: [CookiePair]) -> String? {
        guard pairs.allSatisfy({ $0.name.utf8.allSatisfy(\.isToken) && $0.isSendable }) else { return nil }
        return pairs.map(\.text).joined(separator: "; ")
    }

    /// The pair as it is sent; a cookie without a name is its value alone.
    var text: String { name.isEmpty ? value : "\(name)=\(value)" }

    /// Whether the value can be sent as it is (RFC 6265bis, section 4.1.1).
    var isSendable: Bool {
        let bytes = ArraySlice(value.utf8)
        let isQuoted = bytes.count >= 2 && bytes.first == 0x22 && bytes.last == 0x22
        return (isQuoted ? bytes.dropFirst().dropLast() : bytes).allSatisfy { byte in
            byte > 0x20 && byte < 0x7F && !"\",;\\".utf8.contains(byte)
        }
    }
}

extension CookiePair: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name, without the value.
    public var description: String { name.debugDescription }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description, since the value is a secret.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension UInt8 {
    /// Whether the byte may be in a token (RFC 9110, section 5.6.2).
    var isToken: Bool { isDigit || isLetter || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}
