import HTTPTypes

extension Request {
    /// Puts a collector into the request, to which every transport further in reports.
    ///
    /// Collectors of layers further out get the same reports.
    ///
    /// - Parameter clock: The clock that dates what is sent, for ``SentRequests/date``; nil where no date is needed.
    /// - Returns: The collector.
    public mutating func collectSent(datedBy clock: (any DatedClock)? = nil) -> SentRequests {
        let sent = SentRequests(for: self, datedBy: clock, isNeutral: NeutralFields.isNeutral)
        options.sentRequests = sent
        return sent
    }
}

/// The fields that tell the server nothing about the user.
enum NeutralFields {
    static let names = FieldNames(list)

    static let list = Set(
        [
            "Accept", "Accept-Encoding", "Cache-Control", "Connection", "Content-Length", "Date", "Expect",
            "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Keep-Alive",
            "Pragma", "Priority", "Range", "TE", "Trailer", "Transfer-Encoding", "User-Agent",
            "b3", "Idempotency-Key", "traceparent", "tracestate", "X-B3-Flags", "X-B3-ParentSpanId", "X-B3-Sampled",
            "X-B3-SpanId", "X-B3-TraceId", "X-Correlation-ID", "X-Request-ID",
        ].compactMap { HTTPField.Name($0) })

    /// Whether the name of a field is neutral with any value.
    static func contains(_ name: HTTPField.Name) -> Bool { names.contains(name) }

    /// Whether a field may differ between the request that was asked for and the one that was sent.
    ///
    /// `Proxy-Authorization` is for a proxy. A field that the request declares secret, or that holds a token, is not
    /// neutral.
    @Sendable static func isNeutral(_ field: HTTPField, secretFields: Set<HTTPField.Name>) -> Bool {
        field.name == .proxyAuthorization
            || names.contains(field.name) && !Redaction.standard.isSecret(field, secretFields: secretFields)
    }
}
