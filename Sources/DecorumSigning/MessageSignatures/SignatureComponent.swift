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
    private(set) var item: StructuredItem
    /// The type of the field, for its serialization as a structured field; nil if it is not known.
    var type: StructuredFieldType?

    init(_ item: StructuredItem) {
        self.item = item
        type = name.flatMap { StructuredFieldType.known[$0] }
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
        var component = self
        component.item.parameters[parameter] = value
        return component
    }
}

extension SignatureComponent {
    /// The name: of a field in lower case, or of another part from `@` on; nil unless the identifier is a string.
    var name: String? { item.value.string }

    /// Whether this is the digest of the content of the same message, in any form.
    var isContentDigest: Bool { name == HTTPField.Name.contentDigest.canonicalName && !has("req") }

    func has(_ flag: String) -> Bool { item.parameters[flag] == true }

    /// The identifier with its parameters in one order, since two that differ in it alone name the same part (section 2).
    var identity: String? {
        guard item.parameters.count > 1 else { return try? item.serialized() }
        let sorted = item.parameters.sorted { $0.key < $1.key }
        let parameters = sorted.reduce(into: StructuredParameters()) { $0[$1.key] = $1.value }
        return try? StructuredItem(item.value, parameters: parameters).serialized()
    }
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
