import HTTPTypes

extension HTTPRequest.Method {
    /// Whether the method is safe (RFC 9110, section 9.2.1); an unknown method counts as unsafe.
    var isSafe: Bool {
        switch rawValue {
        case "GET", "HEAD", "OPTIONS", "PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH", "TRACE": true
        default: false
        }
    }
}
