import HTTPTypes

/// Whether a response may be given to callers who did not send the request themselves.
enum SharingRules {
    /// Whether the callers of ``Connection/coalescing(_:clock:spawner:)`` may share a response.
    ///
    /// An error of the server or of the request concerns the one request that was sent, as when its token has expired.
    static func isForAll(_ response: HTTPResponse) -> Bool {
        let code = response.code
        guard (200..<400).contains(code) || code == 404 || code == 410 else { return false }
        return !CacheControl(response.headerFields).contains("no-store")
    }
}
