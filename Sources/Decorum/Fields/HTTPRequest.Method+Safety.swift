public import HTTPTypes

extension HTTPRequest.Method {
    /// Whether the method is safe (RFC 9110, section 9.2.1); an unknown method counts as unsafe.
    public var isSafe: Bool {
        switch rawValue {
        case "GET", "HEAD", "OPTIONS", "PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH", "TRACE": true
        default: false
        }
    }

    /// The methods of RFC 9110 that are idempotent (section 9.2.2), and `QUERY`.
    static let idempotent: Set<HTTPRequest.Method> = [.get, .head, .options, .trace, .put, .delete, .query]
}
