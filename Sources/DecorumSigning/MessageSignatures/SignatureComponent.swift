#if Signing
import Decorum
public import HTTPTypes

/// A part of a message that a signature covers (RFC 9421, section 2).
///
/// ```swift
/// let ofRequests: [SignatureComponent] = [.method, .authority, .field(.priority).member("u")]
/// let ofResponses: [SignatureComponent] = [.status, .field(.contentType), .method.ofRequest]
/// ```
public struct SignatureComponent: Sendable {
    let item: StructuredItem
    /// The type of the field, for its serialization as a structured field; nil if it is not known.
    var type: StructuredFieldType?
    /// The name: of a field in lower case, or of another part from `@` on; nil unless the identifier is a string.
    let name: String?
    /// The name of the field; nil for another part, and unless it is in lower case.
    let fieldName: HTTPField.Name?
    /// Whether this is the digest of the content of the same message, in any form.
    let isContentDigest: Bool
    let hasParameters: Bool
    /// The identifier as it is written; nil if it cannot be.
    let identifier: String?
    /// The identifier with its parameters in one order, since two that differ in it alone name the same part (section 2).
    let identity: String?

    // Each message needs the names and the texts, and each costs as much as a hash.
    init(_ item: StructuredItem) {
        self.item = item
        let name = item.value.string
        self.name = name
        type = name.flatMap { StructuredFieldType.known[$0] }
        fieldName = name.flatMap { HTTPField.Name($0) }.flatMap { $0.canonicalName == name ? $0 : nil }
        isContentDigest = fieldName == .contentDigest && item.parameters["req"] != true
        hasParameters = !item.parameters.isEmpty
        identifier = try? item.serialized()
        let sorted = item.parameters.sorted { $0.key < $1.key }
        let parameters = sorted.reduce(into: StructuredParameters()) { $0[$1.key] = $1.value }
        identity = try? StructuredItem(item.value, parameters: parameters).serialized()
    }

    private init(_ name: String) { self.init(StructuredItem(.string(name))) }

    /// The method: `@method`.
    public static let method = SignatureComponent("@method")
    /// The URL of the request with its query, and with the host as in ``authority``, by which a server knows it: `@target-uri`.
    public static let targetURI = SignatureComponent("@target-uri")
    /// The host of the URL in lower case, whatever the field `Host`, with its port unless that is the default: `@authority`.
    public static let authority = SignatureComponent("@authority")
    /// The scheme in lower case: `@scheme`.
    public static let scheme = SignatureComponent("@scheme")
    /// The path and the query as they stand in the first line of the request: `@request-target`.
    public static let requestTarget = SignatureComponent("@request-target")
    /// The path, which is `/` if it is empty: `@path`.
    public static let path = SignatureComponent("@path")
    /// The query with its question mark, which stands alone without a query: `@query`.
    public static let query = SignatureComponent("@query")
    /// The status of a response: `@status`.
    public static let status = SignatureComponent("@status")

    /// The value of a parameter of the query, which must occur once; its name is given decoded: `@query-param`.
    public static func queryParameter(_ name: String) -> SignatureComponent {
        SignatureComponent("@query-param").with("name", .string(name.encodedAsInForm))
    }

    static let contentDigest = field(.contentDigest)
    /// All lines of a field, joined by commas.
    public static func field(_ name: HTTPField.Name) -> SignatureComponent { SignatureComponent(name.canonicalName) }

    /// The part of the request that a response answers, in a signature of the response: `req`.
    public var ofRequest: SignatureComponent { with("req", true) }
    /// The field among the trailer fields, behind the content: `tr`.
    public var ofTrailers: SignatureComponent { with("tr", true) }
    /// The bytes of each line of the field in Base64, for lines that must not be joined, such as of `Set-Cookie`: `bs`.
    public var asBytes: SignatureComponent { with("bs", true) }

    /// The field as RFC 9651 writes it, which intermediaries may do: `sf`; a field of no standard needs its type.
    public func asStructuredField(_ type: StructuredFieldType? = nil) -> SignatureComponent {
        var component = with("sf", true)
        component.type = type ?? self.type
        return component
    }

    /// One member of a field that is a dictionary: `key`.
    public func member(_ key: String) -> SignatureComponent { with("key", .string(key)) }

    private func with(_ parameter: String, _ value: StructuredValue) -> SignatureComponent {
        var item = item
        item.parameters[parameter] = value
        var component = SignatureComponent(item)
        component.type = type
        return component
    }
}

extension SignatureComponent {
    func has(_ flag: String) -> Bool { hasParameters && item.parameters[flag] == true }
}

/// The type of a structured field (RFC 9651, section 3).
public enum StructuredFieldType: Sendable, Hashable {
    /// A value with parameters.
    case item
    /// Values in an order.
    case list
    /// Values with keys.
    case dictionary

    /// The types of fields by the standards that define them.
    fileprivate static let known: [String: StructuredFieldType] = [
        "accept-ch": .list, "accept-signature": .dictionary, "available-dictionary": .item, "cache-status": .list,
        "capsule-protocol": .item, "cdn-cache-control": .dictionary, "client-cert": .item, "client-cert-chain": .list,
        "concealed-auth-export": .item, "content-digest": .dictionary, "dictionary-id": .item, "priority": .dictionary,
        "proxy-status": .list, "ratelimit": .list, "ratelimit-policy": .list, "repr-digest": .dictionary,
        "signature": .dictionary, "signature-input": .dictionary, "use-as-dictionary": .dictionary,
        "want-content-digest": .dictionary, "want-repr-digest": .dictionary,
    ]
}

extension String {
    /// The text as a value of a form, with `%20` for a blank (RFC 9421, section 2.2.8).
    var encodedAsInForm: String { PercentCoding.encode(self, keeping: "*").replacing("~", with: "%7E") }
}
#endif
