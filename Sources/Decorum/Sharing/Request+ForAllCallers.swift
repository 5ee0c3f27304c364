extension Request {
    /// The request as one caller sends it for all callers that wait for its response.
    ///
    /// Options that do not travel to shared requests are left out. It stays a request of the caller's call, which it
    /// belongs to however many others wait. The idle timeout is a part of the key by which callers share a request, so all
    /// of them have the same.
    func forAllCallers() -> Request {
        var request = self
        request.options = options.travelling(.sharedRequests)
        request.options.callContext = options.callContext
        request.options.attempt = options.attempt
        if let idleTimeout = options.idleTimeout { request.options.idleTimeout = idleTimeout }
        return request
    }
}
