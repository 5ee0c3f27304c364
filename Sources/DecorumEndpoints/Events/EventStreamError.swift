public import Decorum
import Foundation

/// The answer to a request for events is no stream of events, or one that this app does not accept.
public struct EventStreamError: DescribableError {
    /// The reason, as an open set.
    public struct Reason: Hashable, Sendable {
        /// The name of the reason, suitable for a metric.
        public let name: String

        /// Creates a custom reason.
        ///
        /// - Parameter name: The name of the reason.
        public init(_ name: String) {
            self.name = name
        }

        /// The media type is not `text/event-stream`.
        public static let mediaType = Reason("mediaType")
        /// An event or a line is longer than the limit.
        public static let limit = Reason("limit")
        /// The stream broke, again and again, before it had an event.
        public static let broken = Reason("broken")
    }

    /// The reason.
    public let reason: Reason
    /// The response, whose body can be read where the reason is its media type; nil where the stream was read.
    public let response: Response?
    /// A sentence that says what is wrong, with the status, the media type and the URL without its query.
    public let description: String

    /// An answer with another media type.
    init(mediaTypeOf response: Response) {
        reason = .mediaType
        self.response = response
        description =
            "The \(response.summary) is no stream of events, which has the media type text/event-stream. Check the URL, "
            + "and whether a proxy or a page for signing in has answered."
    }

    /// An event or a line that is too long.
    init(longerThan limit: Int) {
        reason = .limit
        response = nil
        description =
            "An event or a line of the stream has more than \(limit) bytes. Raise `upTo:` if the server is trusted."
    }

    /// A stream that has ended too often.
    init(brokenTimes count: Int) {
        reason = .broken
        response = nil
        description = "The stream of events has ended \(count) times in a row before it had an event."
    }

    /// The name of the reason.
    public var shortDescription: String { reason.name }
}
