import HTTPTypes

extension Request {
    /// Puts a collector into the request, which every transport further in reports to.
    ///
    /// Collectors of layers further out get the same reports.
    ///
    /// - Returns: The collector.
    public mutating func collectSent() -> SentRequests {
        // Responses are kept apart by the principal, whatever is sent.
        guard options.principal == nil else { return .ofPrincipal }
        let sent = SentRequests(for: self, isNeutral: NeutralFields.isNeutral)
        options.sentRequests = sent
        return sent
    }
}

/// The fields that tell the server nothing about the user for whom a response is.
enum NeutralFields {
    private static let names = FieldNames(
        Set(
            [
                "Accept", "Accept-Encoding", "Cache-Control", "Connection", "Content-Length", "Date", "Expect",
                "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Keep-Alive",
                "Pragma", "Priority", "Range", "TE", "Trailer", "Transfer-Encoding", "User-Agent",
                "b3", "Idempotency-Key", "traceparent", "tracestate", "X-B3-Flags", "X-B3-ParentSpanId", "X-B3-Sampled",
                "X-B3-SpanId", "X-B3-TraceId", "X-Correlation-ID", "X-Request-ID",
            ].compactMap { HTTPField.Name($0) }))

    /// Whether the name of a field is neutral, whatever its value.
    static func contains(_ name: HTTPField.Name) -> Bool { names.contains(name) }

    /// Whether a field may differ between the request that was asked for and the one that was sent.
    ///
    /// `Proxy-Authorization` is for a proxy. A field that the request declares secret, or that holds a token, is not neutral.
    @Sendable static func isNeutral(_ field: HTTPField, secretFields: Set<HTTPField.Name>) -> Bool {
        field.name == .proxyAuthorization
            || names.contains(field.name) && !Redaction.standard.isSecret(field, secretFields: secretFields)
    }
}
