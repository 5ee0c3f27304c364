/// The reaction to a request without a recording.
///
/// ```swift
/// var rules = CassetteRules()
/// rules.onMiss = { miss, request in
///     request.url.hasSuffix("/metrics") ? .answer(RecordedResponse(status: 204)) : .fail
/// }
/// ```
public enum MissReaction: Sendable, Hashable {
    /// The request throws ``CassetteMissError``, and ``Cassette/finish()`` throws it again.
    case fail
    /// The request throws ``CassetteMissError``, and the test may pass.
    case tolerate
    /// The request is answered with a response.
    case answer(RecordedResponse)
}
