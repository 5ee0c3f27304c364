public import Foundation

/// One exchange of a cassette: a request, and the response or the failure that answered it.
///
/// Both are there when the transfer failed within the response's body.
public struct Interaction: Sendable, Hashable {
    /// What was asked.
    public var request: RecordedRequest
    /// What was answered; nil where the exchange failed before the head of a response had arrived.
    public var response: RecordedResponse?
    /// How the exchange failed; nil where it did not.
    public var failure: RecordedFailure?
    /// The day, or the moment where a format knows it, on which it was recorded.
    public var recordedAt: Date?

    /// Creates an interaction.
    ///
    /// - Parameters:
    ///   - request: What was asked.
    ///   - response: What was answered.
    ///   - failure: How the exchange failed.
    ///   - recordedAt: When it was recorded.
    public init(
        request: RecordedRequest, response: RecordedResponse? = nil, failure: RecordedFailure? = nil,
        recordedAt: Date? = nil
    ) {
        self.request = request
        self.response = response
        self.failure = failure
        self.recordedAt = recordedAt
    }
}
