import HTTPTypes

/// The stored responses that a response to an unsafe method invalidates (RFC 9111, section 4.4).
enum InvalidationRules {
    /// The URIs whose responses are removed: the URI of the request, and the URIs of the same origin that the response
    /// names.
    ///
    /// - Parameters:
    ///   - response: The response; nil when none came, since the server may have carried out the request.
    ///   - request: The request.
    /// - Returns: The URIs; empty for a safe method, and for a response of the class 4xx or 5xx.
    static func invalidated(by response: HTTPResponse?, to request: HTTPRequest) -> [ResponseKey.URI] {
        guard !request.method.isSafe, let uri = ResponseKey.URI(request) else { return [] }
        guard let response else { return [uri] }
        guard (200..<400).contains(response.code) else { return [] }
        let named = [HTTPField.Name.location, .contentLocation]
            .compactMap { response.headerFields.firstValue(of: $0) }
            .compactMap { ResponseKey.URI($0, relativeTo: request) }
            .filter { $0.hasSameOrigin(as: uri) && $0 != uri }
        return [uri] + named
    }
}
