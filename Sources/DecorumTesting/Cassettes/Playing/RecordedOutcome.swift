/// The outcome of a recorded request: a response, a failure, or a response whose content failed.
struct RecordedOutcome: Sendable {
    var response: RecordedResponse?
    let failure: RecordedFailure?
}
