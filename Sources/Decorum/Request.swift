public import Foundation
public import HTTPTypes

/// A message to send: a head, a body, and the options that go with them through the layers.
///
/// ```swift
/// var request = try Request.post("https://api.example.com/items", body: Body(json: ["title": "one"]))
/// request.head.headerFields[.acceptLanguage] = "de"
/// request.options.idleTimeout = .seconds(10)
/// ```
///
/// Two requests are equal when their methods, targets, fields (names in any letter case) and bodies are equal; see
/// ``Body`` for the equality of bodies. Options are not compared.
public struct Request: Sendable {
    /// The method, the target and the header fields.
    public var head: HTTPRequest
    /// The content.
    ///
    /// A body whose ``Body/mediaType`` is known sets the `Content-Type` of the request, both where the request is
    /// created and where the body is replaced. A `Content-Type` that the caller has set stays. A body of unknown type
    /// changes nothing, so a layer that wraps a body keeps the field, and the head is always as it will be sent. Where the
    /// head or all of its fields are replaced afterwards, the new head needs a `Content-Type` of its own.
    public var body: Body {
        didSet { adoptMediaType(replacing: oldValue) }
    }
    /// The wishes of the caller to the layers.
    public var options: RequestOptions

    /// Creates a request from a head, which is checked only when it is sent.
    ///
    /// - Parameters:
    ///   - head: The method, the target and the header fields.
    ///   - body: The content.
    ///   - options: The wishes of the caller to the layers.
    public init(head: HTTPRequest, body: Body = .empty, options: RequestOptions = RequestOptions()) {
        self.head = head
        self.body = body
        self.options = options
        adoptMediaType()
    }

    /// Creates a request from a method and a URL.
    ///
    /// A relative reference, such as `"/items"` or `"items?page=2"`, makes a request for a stack that has
    /// ``Connection/resolving(against:)``. A fragment is kept in the options, since it is never sent.
    ///
    /// A URL is read by RFC 3986, and its path and query are sent as they stand; only characters that no URL may contain
    /// are percent-encoded. Browsers read some texts in another way (the URL standard of WHATWG): here a backslash is no
    /// slash, blanks and line breaks around the URL are an error, `https:host` and `https:/host` name no host, a default
    /// port and the segments `.` and `..` of an absolute URL stay, and a host such as `0x7f.1` is a name and no address.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: An absolute URL, or a reference relative to the stack's base URL.
    ///   - fields: The header fields.
    ///   - body: The content.
    /// - Throws: ``InvalidRequestError`` when the URL cannot be parsed or cannot be sent to.
    public init(
        _ method: HTTPRequest.Method, _ url: String, fields: HTTPFields = [:], body: Body = .empty
    ) throws(InvalidRequestError) {
        self = try Self.request(method, url, fields: fields, body: body)
    }

    // An initialiser that calls others copies the request that they make.
    @inline(__always) private static func request(
        _ method: HTTPRequest.Method, _ url: String, fields: HTTPFields, body: Body
    ) throws(InvalidRequestError) -> Request {
        // A URL that needs no parser has an origin and a path that can be sent, unless it has a port out of range.
        guard let parts = PlainURL(url), !parts.hasPort else {
            return try Request(method, Target(url), fields: fields, body: body)
        }
        return Request(unchecked: method, Target(url, parts), fields: fields, body: body)
    }

    /// Creates a request from a method and a URL.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: An absolute URL, or one relative to the stack's base URL.
    ///   - fields: The header fields.
    ///   - body: The content.
    /// - Throws: ``InvalidRequestError`` when the URL cannot be sent to.
    public init(
        _ method: HTTPRequest.Method, url: URL, fields: HTTPFields = [:], body: Body = .empty
    ) throws(InvalidRequestError) {
        try self.init(method, Target(url.absoluteURL), fields: fields, body: body)
    }

    private init(
        _ method: HTTPRequest.Method, _ target: Target, fields: HTTPFields, body: Body
    ) throws(InvalidRequestError) {
        self.init(unchecked: method, target, fields: fields, body: body)
        if target.scheme != nil || target.authority != nil {
            try validate()
        }
    }

    private init(unchecked method: HTTPRequest.Method, _ target: Target, fields: HTTPFields, body: Body) {
        var fields = fields
        if let mediaType = body.mediaType, !fields.has(.contentType) { fields[.contentType] = mediaType }
        head = HTTPRequest(
            method: method, scheme: target.scheme, authority: target.authority, path: target.path, headerFields: fields)
        self.body = body
        var options = RequestOptions()
        if let fragment = target.fragment { options.fragment = fragment }
        self.options = options
    }

    /// Sets the `Content-Type` to the media type of the body, unless the caller has set another.
    private mutating func adoptMediaType(replacing old: Body? = nil) {
        guard let mediaType = body.mediaType, mediaType != old?.mediaType else { return }
        let present = head.headerFields[.contentType]
        if present == nil || present == old?.mediaType { head.headerFields[.contentType] = mediaType }
    }

    /// Checks that the request can be sent: an origin over `http` or `https`, a path, and no user name in the URL.
    ///
    /// Transports call this before they send.
    ///
    /// - Throws: ``InvalidRequestError`` that says what to change.
    public func validate() throws(InvalidRequestError) {
        _ = try Origin(head)
        guard let path = head.path, path.utf8.first == UInt8(ascii: "/") || path == "*" else { throw .invalidPath }
        // Text after a number sign is a fragment, which some transports would cut off and others would send.
        guard path.allUTF8({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else { throw .invalidURL }
    }

    /// Replaces the URL by one that a reference names, such as the value of `Location`.
    ///
    /// ```swift
    /// var next = request
    /// if let location = response.head.headerFields[.location] { try next.replaceURL(with: location) }
    /// ```
    ///
    /// A relative reference is resolved against the URL that the request has (RFC 3986, section 5.2). Everything else of the
    /// request stays, also the credentials that it carries itself: remove them where the server may be another one.
    ///
    /// - Parameter reference: An absolute URL, or a reference relative to the URL of the request.
    /// - Throws: ``InvalidRequestError`` when the URL cannot be parsed or sent to, or has more than 64 KiB; the
    ///   request then stays as it is.
    public mutating func replaceURL(with reference: String) throws(InvalidRequestError) {
        let base = Target(
            scheme: head.scheme, authority: head.authority, path: head.path ?? "/", fragment: options.fragment)
        let target = try Target.resolve(given: reference, against: base)
        var request = self
        request.head.scheme = target.scheme
        request.head.authority = target.authority
        request.head.path = target.path
        request.options.fragment = target.fragment
        if target.scheme != nil || target.authority != nil { try request.validate() }
        self = request
    }

    /// The URL of the request with its fragment; nil while it has no origin.
    public var url: URL? { urlText.flatMap { URL(string: $0) } }

    var urlText: String? { target?.urlText }

    /// The parts of the URL with its fragment; nil while the request has no origin.
    var target: Target? { Target(head, fragment: options.fragment) }
}

extension Request: Equatable {
    /// Compares heads, names of fields in any letter case, and bodies; options are not compared.
    public static func == (lhs: Request, rhs: Request) -> Bool {
        lhs.head == rhs.head && lhs.body == rhs.body
    }
}

extension Request {
    /// Creates a `GET` request.
    ///
    /// - Parameters:
    ///   - url: An absolute URL, or a reference relative to the stack's base URL.
    ///   - fields: The header fields.
    /// - Returns: The request.
    /// - Throws: ``InvalidRequestError`` when the URL cannot be parsed or cannot be sent to.
    public static func get(_ url: String, fields: HTTPFields = [:]) throws(InvalidRequestError) -> Request {
        try request(.get, url, fields: fields, body: .empty)
    }

    /// Creates a `POST` request.
    ///
    /// - Parameters:
    ///   - url: An absolute URL, or a reference relative to the stack's base URL.
    ///   - fields: The header fields; without a `Content-Type`, it is the body's ``Body/mediaType``.
    ///   - body: The content.
    /// - Returns: The request.
    /// - Throws: ``InvalidRequestError`` when the URL cannot be parsed or cannot be sent to.
    public static func post(
        _ url: String, fields: HTTPFields = [:], body: Body = .empty
    ) throws(InvalidRequestError) -> Request {
        try Request(.post, url, fields: fields, body: body)
    }

    /// Creates a `PUT` request, with the parameters and errors of ``post(_:fields:body:)``.
    public static func put(
        _ url: String, fields: HTTPFields = [:], body: Body
    ) throws(InvalidRequestError) -> Request {
        try Request(.put, url, fields: fields, body: body)
    }

    /// Creates a `PATCH` request (RFC 5789), with the parameters and errors of ``post(_:fields:body:)``.
    public static func patch(
        _ url: String, fields: HTTPFields = [:], body: Body
    ) throws(InvalidRequestError) -> Request {
        try Request(.patch, url, fields: fields, body: body)
    }

    /// Creates a `DELETE` request, with the parameters and errors of ``get(_:fields:)``.
    public static func delete(_ url: String, fields: HTTPFields = [:]) throws(InvalidRequestError) -> Request {
        try Request(.delete, url, fields: fields)
    }
}

extension Request: SecretHolder {
    /// The method and the URL, without its fragment and the secrets that ``Redaction/standard`` knows; never fields or
    /// content, which ``head`` and ``body`` hold.
    public var description: String {
        let url = Redaction.described(urlText ?? head.path ?? "", covering: options.secretQueryItems)
        return "\(head.method) \(url)"
    }
}
