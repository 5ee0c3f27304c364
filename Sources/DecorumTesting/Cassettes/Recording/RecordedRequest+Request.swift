import Decorum
import HTTPTypes

extension RecordedRequest {
    /// The head of a request.
    init(_ head: HTTPRequest) {
        let origin = head.scheme.flatMap { scheme in head.authority.map { "\(scheme)://\($0)" } }
        // The target URI of `OPTIONS *` has no path (RFC 9112, section 3.3).
        let path = head.path == "*" ? "" : head.path ?? ""
        self.init(method: head.method.rawValue, url: (origin ?? "") + path, fields: head.headerFields)
    }

    /// The whole of a request, whose content is read to its end.
    init(reading head: HTTPRequest, _ body: Body, in cassette: Cassette) async throws {
        self.init(head)
        let (content, trailers) = try await body.collect(upTo: cassette.rules.bodyLimit)
        self.body.bytes = content
        self.trailers = trailers
    }
}
