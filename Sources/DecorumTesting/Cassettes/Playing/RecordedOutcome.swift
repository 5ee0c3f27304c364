/// The outcome of a recorded request: a response, a failure, or a response whose content failed.
struct RecordedOutcome: Sendable {
    var response: RecordedResponse?
    let failure: RecordedFailure?
    /// The place of the interaction in the file, counted from 0; nil if it is in no file.
    var ordinal: Int?
}
