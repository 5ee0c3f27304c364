import HTTPTypes

extension HTTPRequest.Method {
    private static let safeMethods: Set<String> = [
        "GET", "HEAD", "OPTIONS", "PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH", "TRACE",
    ]

    /// Whether the method changes nothing on the server (RFC 9110, section 9.2.1); one that is not known may.
    var isSafe: Bool { Self.safeMethods.contains(rawValue) }
}
