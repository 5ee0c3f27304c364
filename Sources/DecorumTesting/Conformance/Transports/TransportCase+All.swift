extension TransportCase {
    /// All cases.
    public static let all = ConformanceSuite<TransportCase>(
        [
            framing, malformed, foreignAnswers, fields, streaming, uploads, earlyAnswers, untouched, cancellations,
            timeouts, deadlines, pool, closing, stress, tls, http2, reports,
            declarations,
        ].flatMap(\.self))
}
