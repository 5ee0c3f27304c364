public import Decorum
import HTTPTypes

#if canImport(FoundationNetworking)
public import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension HTTPURLResponse {
    /// Creates the head of a response in Foundation's form, for code that takes one.
    ///
    /// Its URL is the one that has answered, after redirections. Values of one name become one field with commas between
    /// them, `Set-Cookie` too, as Foundation joins those that it receives. The body and the metadata are left out.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - url: The URL of the request, for a response whose `url` in the metadata is nil.
    public convenience init?(_ response: Response, url: URL) {
        var fields: [String: String] = [:]
        for (name, lines) in Dictionary(grouping: response.head.headerFields, by: \.name) {
            fields[name.rawName] = lines.map(\.value).joined(separator: ", ")
        }
        self.init(
            url: response.metadata.url ?? url, statusCode: response.status.code, httpVersion: "HTTP/1.1",
            headerFields: fields)
    }
}

extension Response {
    private static let fieldLimit = 10_000

    /// Creates a response from the two values that a `URLSession` returns.
    ///
    /// Fields are sorted by name, since Foundation does not keep their order, and joined `Set-Cookie` fields are split
    /// again. A field whose name no field can have is left out. The content is as Foundation gives it, which decodes
    /// `gzip` and the like, so `Content-Encoding` and `Content-Length` are left out where they would describe other bytes.
    ///
    /// - Parameters:
    ///   - data: The content.
    ///   - response: The head; with a status that is none from 100 to 999, or with more than 10,000 fields, there is no
    ///     response.
    public init?(_ data: Data, _ response: HTTPURLResponse) {
        guard (100...999).contains(response.statusCode) else { return nil }
        var fields = HTTPFields()
        let named = response.allHeaderFields.compactMap { name, value -> HTTPField? in
            guard let name = (name as? String).flatMap({ HTTPField.Name($0) }) else { return nil }
            return (value as? String).map { HTTPField(name: name, value: $0) }
        }
        for field in named.sorted(by: { $0.name.canonicalName < $1.name.canonicalName }) {
            let values = field.name == .setCookie ? SetCookieSplitting.split(field.value) : [field.value]
            // HTTPFields traps when there are more than fit.
            guard fields.count + values.count <= Self.fieldLimit else { return nil }
            for value in values { fields.append(HTTPField(name: field.name, value: value)) }
        }
        if let length = fields[.contentLength], length != String(data.count) {
            fields[.contentLength] = nil
            fields[.contentEncoding] = nil
        }
        self.init(status: .init(code: response.statusCode), fields: fields, body: Body(data))
        metadata.url = response.url
    }
}
