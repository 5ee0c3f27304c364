public import Foundation

/// One exchange of a cassette: a request, and the response or the failure that answered it.
///
/// It has both if the transfer failed within the response's body.
public struct Interaction: Sendable, Hashable {
    /// The request.
    public var request: RecordedRequest
    /// The response; nil if the exchange failed before the head of a response had arrived.
    public var response: RecordedResponse?
    /// The failure of the exchange; nil if it did not fail.
    public var failure: RecordedFailure?
    /// The day of the recording, or its exact time if the format has one.
    public var recordedAt: Date?
    /// The test of a suite that has recorded it, where the suite shares the cassette; else empty.
    ///
    /// Files of an older version may name several tests, in alphabetical order.
    /// A test is answered by its own recordings before those of others, and recording it anew replaces them alone.
    public var tests: [String] = []

    /// Creates an interaction.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response.
    ///   - failure: The failure of the exchange.
    ///   - recordedAt: The time of the recording.
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
