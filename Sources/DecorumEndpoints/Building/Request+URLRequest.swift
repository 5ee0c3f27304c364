public import Decorum
import HTTPTypes

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension Request {
    /// Creates a request from one of Foundation's: its method, URL, fields, and content in memory.
    ///
    /// The rest of a `URLRequest`, such as its timeout and its cache policy, says how to send it, and belongs to the layers and
    /// to ``Request/options``.
    ///
    /// - Parameter request: A request of Foundation's.
    /// - Throws: `InvalidRequestError` when there is no URL, when a request cannot be sent to it, when a field has no valid
    ///   name, and when the content is an `InputStream`, which can be read only once and by one thread.
    public init(_ request: URLRequest) throws(InvalidRequestError) {
        guard let url = request.url else {
            throw InvalidRequestError(.missingOrigin, "The URLRequest has no URL.")
        }
        guard request.httpBodyStream == nil else {
            throw InvalidRequestError(
                .invalidBody,
                "The URLRequest has an InputStream; make the request with a `Body` of a file or of chunks.")
        }
        var fields = HTTPFields()
        for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard let fieldName = HTTPField.Name(name) else {
                throw InvalidRequestError(.invalidField, "The URLRequest has a field whose name no field can have.")
            }
            fields[fieldName] = value
        }
        guard let method = HTTPRequest.Method(rawValue: request.httpMethod ?? "GET") else {
            throw InvalidRequestError(.invalidField, "The URLRequest has a method that is no token.")
        }
        try self.init(method, url: url, fields: fields, body: request.httpBody.map { Body($0) } ?? .empty)
    }
}

extension URLRequest {
    /// Creates a request of Foundation's, for code that sends in another way.
    ///
    /// Values of one name become one field with commas between them. Options are left out.
    ///
    /// - Parameters:
    ///   - request: A request with an absolute URL.
    ///   - limit: The largest number of bytes of content to read into memory.
    /// - Throws: `InvalidRequestError` when the request has no origin, and the errors of reading its body.
    public init(_ request: Request, upTo limit: Int) async throws {
        try request.validate()
        guard let url = request.url else { throw InvalidRequestError(.invalidURL, "The URL cannot be parsed.") }
        self.init(url: url)
        httpMethod = request.head.method.rawValue
        for field in request.head.headerFields { addValue(field.value, forHTTPHeaderField: field.name.rawName) }
        if !request.body.isEmpty { httpBody = try await request.body.data(upTo: limit) }
    }
}
