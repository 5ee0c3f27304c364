/// A response for several callers, whose body is read once and shared, or read by each caller separately.
struct SharedResponse {
    /// The response of one caller.
    struct Copy {
        let response: Response
        /// The collector of the requests that were sent.
        let sent: SentRequests

        /// The response to the request of one caller, whose route has a name of its own.
        func response(to request: borrowing Request) -> Response {
            sent.reportSending(of: request)
            var response = response
            let routeName = request.options.routeName
            if routeName != response.metadata.routeName { response.metadata.routeName = routeName }
            return response
        }
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

extension ResponseMetadata {
    /// Whether the response comes from an identical request that was already under way, so that this request was not
    /// sent.
    public var isCoalesced: Bool {
        get { self[IsCoalescedKey.self] }
        set { self[IsCoalescedKey.self] = newValue }
    }
}

private enum IsCoalescedKey: ResponseMetadataKey {
    static let defaultValue = false
}
