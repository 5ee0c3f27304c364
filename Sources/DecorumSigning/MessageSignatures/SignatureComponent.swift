#if Signing
import Decorum
public import HTTPTypes

/// A part of a message that a signature covers (RFC 9421, section 2).
///
/// ```swift
/// let ofRequests: [SignatureComponent] = [.method, .authority, .field(.priority).member("u")]
/// let ofResponses: [SignatureComponent] = [.status, .field(.contentType), .method.ofRequest]
/// ```
///
/// Two components are equal when their names and their parameters are, in any order.
public struct SignatureComponent: Sendable {
    let item: StructuredItem
    /// The type of the field, for its serialization as a structured field; nil if it is not known.
    private(set) var type: StructuredFieldType?

    init(_ item: StructuredItem) {
        self.item = item
    }

    private init(_ name: String, _ parameters: StructuredParameters = [:]) {
        self.init(StructuredItem(.string(name), parameters: parameters))
    }

    /// The method: `@method`.
    public static let method = SignatureComponent("@method")
    /// The URL of the request with its query, and with the host as in ``authority``, by which a server knows it: `@target-uri`.
    public static let targetURI = SignatureComponent("@target-uri")
    /// The host in lower case, with its port unless that is the scheme's default: `@authority`.
    ///
    /// It is the one of the URL, also if the request has a field `Host`.
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

    /// The value of a parameter of the query, which must occur once: `@query-param` (RFC 9421, section 2.2.8).
    ///
    /// - Parameter name: The name, not encoded.
    /// - Returns: The component.
    public static func queryParameter(_ name: String) -> SignatureComponent {
        SignatureComponent("@query-param", ["name": .string(name.encodedAsInForm)])
    }

    /// All lines of a field, joined by commas.
    ///
    /// - Parameter name: The name of the field.
    /// - Returns: The component.
    public static func field(_ name: HTTPField.Name) -> SignatureComponent {
        SignatureComponent(name.canonicalName)
    }

    /// The part of the request that a response answers, in a signature of the response: `req`.
    public var ofRequest: SignatureComponent { with("req", true) }
    /// The field among the trailer fields, behind the content: `tr`.
    public var ofTrailers: SignatureComponent { with("tr", true) }
    /// The bytes of each line of the field in Base64, for lines that must not be joined, such as of `Set-Cookie`: `bs`.
    public var asBytes: SignatureComponent { with("bs", true) }

    /// The field as RFC 9651 writes it, which intermediaries may do: `sf`.
    ///
    /// - Parameter type: The type of the field; nil for a field of a standard, whose type is known.
    /// - Returns: The component.
    public func asStructuredField(_ type: StructuredFieldType? = nil) -> SignatureComponent {
        var component = with("sf", true)
        component.type = type
        return component
    }

    /// One member of a field that is a dictionary: `key`.
    ///
    /// - Parameter key: The key of the member.
    /// - Returns: The component.
    public func member(_ key: String) -> SignatureComponent { with("key", .string(key)) }

    private func with(_ parameter: String, _ value: StructuredValue) -> SignatureComponent {
        var item = item
        item.parameters[parameter] = value
        var component = SignatureComponent(item)
        component.type = type
        return component
    }

    /// The name: of a field in lower case, or of another part from `@` on; nil unless the identifier is a string.
    var name: String? { item.value.string }

    func has(_ flag: String) -> Bool { item.parameters[flag] == true }
}

extension SignatureComponent: Hashable {
    /// Whether the names and the parameters are equal, these in any order.
    public static func == (lhs: SignatureComponent, rhs: SignatureComponent) -> Bool {
        // Nearly always, equal components are written in the same way.
        lhs.item == rhs.item
            || lhs.item.value == rhs.item.value && lhs.item.parameters.count == rhs.item.parameters.count
                && lhs.parameters == rhs.parameters
    }

    /// Hashes the name and the number of parameters.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(item.parameters.count)
    }

    private var parameters: [String: StructuredValue] {
        Dictionary(item.parameters.map { ($0.key, $0.value) }) { _, last in last }
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
    static let known: [String: StructuredFieldType] = [
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
