/// A response for several callers, whose body is read once and shared, or read by each caller separately.
struct SharedResponse {
    /// The response of one caller.
    struct Copy {
        let response: Response
        /// The collector of the requests that were sent.
        let sent: SentRequests
    }

    private let response: Response
    private let sent: SentRequests
    /// Nil for a body that can be read any number of times.
    private let body: SharedBody?

    init(
        _ response: Response, _ sent: SentRequests, _ settings: SharedRequestSettings,
        onClose: @escaping @Sendable () -> Void
    ) {
        self.response = response
        self.sent = sent
        body = response.body.replay == .once ? SharedBody(response.body, settings, onClose: onClose) : nil
    }

    /// Makes the response of one more caller; returns nil once the body is being read.
    func copy(isCoalesced: Bool) -> Copy? {
        var response = response
        if let body {
            guard let joined = body.join() else { return nil }
            response.body = joined
        }
        if isCoalesced { response.metadata.isCoalesced = true }
        return Copy(response: response, sent: sent)
    }
}
