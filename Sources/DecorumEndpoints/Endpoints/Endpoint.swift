public import Decorum
public import HTTPTypes

/// One call of an API: the request to make, the statuses to accept, and the way to read the answer.
///
/// ```swift
/// extension Endpoint where Value == Repository {
///     static func repository(_ owner: String, _ name: String) -> Self {
///         .get("repos/{owner}/{name}", ["owner": owner, "name": name])
///     }
/// }
/// ```
///
/// A call of it is one line:
///
/// ```swift
/// let repository = try await connection.value(of: .repository("apple", "swift"))
/// ```
///
/// An endpoint is a value: copy it and change its properties. Nothing is checked before ``request()``, so making one needs
/// no `try`. Credentials are no part of an endpoint; they belong to the layers of authentication.
public struct Endpoint<Value: Sendable>: Sendable {
    /// The method of the request.
    public var method: HTTPRequest.Method
    /// The path, which is relative to the base URL of the API; it becomes the route name of the request.
    public var path: PathTemplate
    /// The values for the names in the path.
    public var parameters: PathParameters
    /// The query, which follows that of the path.
    public var query: Query
    /// The header fields beside `Accept` and `Content-Type`, which follow from ``reading`` and ``content``.
    ///
    /// A field that is set here stays. `Authorization`, `Proxy-Authorization` and `Cookie` are an error of the request.
    public var fields: HTTPFields = [:]
    /// The content of the request.
    public var content: RequestContent
    /// The statuses that are no error; by default, those from 200 to 299.
    public var accepted: AcceptedStatuses = .endpoint
    /// The way to read an accepted response.
    public var reading: ResponseReading<Value>
    /// The largest number of bytes of content to read into memory; nil for the limit of the API.
    public var limit: Int?
    /// The API that the endpoint is a part of; nil for that of the connection.
    public var api: API?
    /// The options of the request.
    public var options = RequestOptions()

    /// Creates an endpoint.
    ///
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - path: The path, which is relative to the base URL of the API.
    ///   - parameters: The values for the names in the path.
    ///   - query: The query.
    ///   - content: The content of the request.
    ///   - reading: The way to read an accepted response.
    public init(
        _ method: HTTPRequest.Method, _ path: PathTemplate, _ parameters: PathParameters = [:], query: Query = [:],
        content: RequestContent = .empty, as reading: ResponseReading<Value>
    ) {
        self.method = method
        self.path = path
        self.parameters = parameters
        self.query = query
        self.content = content
        self.reading = reading
    }

    /// Makes the request, which any connection can send.
    ///
    /// JSON without an encoder of its own is encoded by that of ``api``.
    ///
    /// - Returns: A request with a relative path, unless the path of the endpoint is a URL.
    /// - Throws: `InvalidRequestError` that names the parameter or the field at fault, or the error of the content.
    public func request() throws -> Request {
        try request(of: api)
    }

    /// Makes the request with the encoder of an API.
    func request(of api: API?) throws -> Request {
        let fields = try requestFields()
        var expansion = PathExpansion(template: path.text, parameters: parameters)
        try expansion.run()
        var target = expansion.path
        if !query.isEmpty { target += (target.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + query.text }
        let body = try content.body(using: api?.encoder)
        var request: Request
        if expansion.isAbsolute {
            request = try Request(method, target, fields: fields, body: body)
            request.options = options
        } else {
            // The path is made of characters that a URL may have, so it needs no parser.
            let head = HTTPRequest(method: method, scheme: nil, authority: nil, path: target, headerFields: fields)
            request = Request(head: head, body: body, options: options)
        }
        if content.takesEncoder, api == nil { request.options.lacksEncoder = true }
        if options.routeName == nil { request.options.routeName = path.text }
        return request
    }
}

extension AcceptedStatuses {
    /// The statuses from 200 to 299: a 304 has no content, so a typed call has no value for it.
    static let endpoint = AcceptedStatuses("2xx") { (200...299).contains($0.code) }
}
