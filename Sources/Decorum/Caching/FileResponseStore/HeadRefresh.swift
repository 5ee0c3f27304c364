import Foundation
import HTTPTypes

/// How a store writes a stored response that the server has confirmed: a decision from the two responses alone.
enum HeadRefresh: Sendable, Equatable {
    /// Nothing that a later request depends on has changed.
    case nothing
    /// The head is written, and the body stays.
    case head
    /// The response is another variant now, which is another file.
    case whole

    /// The longest time, in seconds, for which a date on the disk is not brought up to date.
    private static let unwrittenTime: Double = 3600

    init(_ stored: StoredResponse, with refreshed: StoredResponse) {
        if !refreshed.isOfSameVariant(as: stored) {
            self = .whole
        } else if Self.isValidatedEachTime(stored), Self.isValidatedEachTime(refreshed),
            stored.head.status == refreshed.head.status, stored.selectingFields == refreshed.selectingFields,
            Self.lastingFields(stored) == Self.lastingFields(refreshed),
            0..<Self.unwrittenTime ~= refreshed.date.timeIntervalSince(stored.date)
        {
            self = .nothing
        } else {
            self = .head
        }
    }

    /// Whether no request is answered without asking the server, so that the age of the response says nothing.
    private static func isValidatedEachTime(_ response: StoredResponse) -> Bool {
        response.freshness.needsValidation
            || response.freshness.forbidsStale && response.freshness.explicitLifetime == 0
    }

    /// The fields that do not tell only when the response was sent.
    private static func lastingFields(_ response: StoredResponse) -> HTTPFields {
        HTTPFields(response.head.headerFields.filter { $0.name != .date && $0.name != .age })
    }
}
