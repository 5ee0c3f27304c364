public import Foundation
public import HTTPTypes

/// Where responses are kept for later requests.
///
/// A store keeps, for each key, one response for each variant that the server gives (``StoredResponse/isSelected(by:)``).
/// It may forget anything at any time. Trouble of its own, such as a full disk, is a response that is not there: a
/// store never fails a request.
public protocol ResponseStore: Sendable {
    /// The largest body, in bytes, that is worth handing to the store.
    var bodyLimit: Int { get }

    /// Finds the stored responses for a key, the latest first.
    ///
    /// - Parameter key: What the responses are kept under.
    /// - Returns: The variants, each whole.
    func responses(for key: ResponseKey) async -> [StoredResponse]

    /// Keeps a response, in place of those of the same variant.
    ///
    /// - Parameters:
    ///   - response: The response, whose body is in memory or can be read any number of times.
    ///   - key: What to keep it under.
    func store(_ response: StoredResponse, for key: ResponseKey) async

    /// Forgets every response under a key.
    ///
    /// - Parameter key: What the responses are kept under.
    func removeResponses(for key: ResponseKey) async
}

/// What a response is kept under: a method, a URI, and on whose behalf it was requested.
///
/// Two requests that have different principals, or differ in a field that holds credentials, have different keys. Such a
/// field is each one that ``Redaction/standard`` lists, such as `Authorization`, `Cookie` and `X-API-Key`, that
/// ``RequestOptions/secretFields`` names, or that is marked as never to be indexed. The same goes for `Host`. A key is
/// not described, since it holds those fields.
public struct ResponseKey: Sendable, Hashable {
    /// The method of the request.
    public let method: HTTPRequest.Method
    /// The URI without its fragment.
    public var uri: String { "\(scheme)://\(authority)\(path)" }
    /// On whose behalf the request is made.
    public let principal: Principal?
    // In parts, since to put them together for each request takes longer than to look up the key.
    private let scheme: String
    private let authority: String
    private let path: String
    // With them the Host field, by which a server may tell apart what the URI does not.
    private let credentials: [HTTPField]

    /// Creates the key of a request.
    ///
    /// - Parameter request: A request with an origin; nil is returned for one without.
    public init?(_ request: borrowing Request) {
        guard let scheme = request.head.scheme, let authority = request.head.authority else { return nil }
        method = request.head.method
        self.scheme = scheme
        self.authority = authority
        path = request.head.path ?? "/"
        principal = request.options.principal
        credentials = Self.credentials(in: request.head.headerFields, request.options.secretFields)
    }

    private static func credentials(in fields: HTTPFields, _ secretFields: Set<HTTPField.Name>) -> [HTTPField] {
        var credentials: [HTTPField] = []
        for index in fields.indices {
            let name = fields[index].name
            let counts =
                tellingFields.contains(name) || fields[index].indexingStrategy == .disallow
                || (!secretFields.isEmpty && secretFields.contains(name))
            if counts { credentials.append(fields[index]) }
        }
        return credentials
    }

    private static let tellingFields = FieldNames(
        Redaction.standard.fields.union([HTTPField.Name("Host")].compactMap { $0 }))

    /// Hashes what tells most keys apart.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(authority)
        hasher.combine(path)
        hasher.combine(principal)
        if !credentials.isEmpty { hasher.combine(credentials) }
    }

    /// The bytes of the texts that the key holds.
    var byteCount: Int {
        credentials.reduce(scheme.utf8.count + authority.utf8.count + path.utf8.count) {
            $0 + $1.name.rawName.utf8.count + $1.value.utf8.count
        }
    }
}

extension ResponseKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method alone.
    public var description: String { "key of a \(method) request" }
    /// The method alone.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// A response that is kept, with what is needed to select and to validate it.
public struct StoredResponse: Sendable {
    /// The status and the header fields.
    public var head: HTTPResponse
    /// The whole content, which can be read any number of times.
    public var body: Body
    /// The fields of the request that `Vary` names, as they were.
    public let selectingFields: HTTPFields
    /// When the response was received, or last validated.
    public var date: Date

    /// Creates a stored response.
    ///
    /// - Parameters:
    ///   - head: The status and the header fields.
    ///   - body: The whole content.
    ///   - request: The head of the request that it answers.
    ///   - date: When it was received.
    public init(head: HTTPResponse, body: Body, request: HTTPRequest, date: Date) {
        self.head = head
        self.body = body
        self.date = date
        let names = Vary(head.headerFields).names
        selectingFields = HTTPFields(request.headerFields.filter { names.contains($0.name) })
    }

    /// Whether the response may answer a request, going by `Vary` (RFC 9111, section 4.1).
    ///
    /// - Parameter request: The head of a request with the same key.
    /// - Returns: Whether each field that `Vary` names is the same in both requests.
    public func isSelected(by request: HTTPRequest) -> Bool {
        let vary = Vary(head.headerFields)
        return !vary.isAny && vary.names.allSatisfy { request.headerFields[$0] == selectingFields[$0] }
    }
}

extension StoredResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The code of the status; never fields or content.
    public var description: String { "stored \(head.status.code)" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with the description alone, so that `dump` shows neither a cookie nor the fields that selected it.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
