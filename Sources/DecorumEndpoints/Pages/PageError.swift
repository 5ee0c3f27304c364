public import Decorum
import Foundation

/// A list of pages cannot be read on; the pages before were given.
public struct PageError: DescribableError, Hashable {
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

        /// The next page is on an origin that was not allowed.
        public static let origin = Reason("origin")
        /// The next page is one that was read before.
        public static let loop = Reason("loop")
        /// There are more pages than the limit.
        public static let limit = Reason("limit")
        /// The next page has no URL that a request can be sent to.
        public static let url = Reason("url")
    }

    /// The reason.
    public let reason: Reason
    /// The number of pages before the error.
    public let pageCount: Int
    /// A sentence that says what is wrong and how to go on; it has no query of a URL.
    public let description: String

    /// The name of the reason.
    public var shortDescription: String { reason.name }

    private init(_ reason: Reason, after count: Int, _ description: String) {
        self.reason = reason
        pageCount = count
        self.description = description
    }

    static func origin(_ origin: Origin, of expected: Origin?, after count: Int) -> Self {
        let place = expected.map { "and this one on \($0)" } ?? "and the origin of this one is not known"
        return Self(
            .origin, after: count,
            "The next page after page \(count) is on \(origin), \(place). It was not requested; if that origin is trusted, "
                + "name it in `allowing:`.")
    }

    static func loop(after count: Int) -> Self {
        Self(
            .loop, after: count,
            "The next page after page \(count) was read before, so the list has no end and may be incomplete. If the last "
                + "page links itself, give a `PageRule` that returns nil for it.")
    }

    static func limit(_ limit: Int) -> Self {
        Self(
            .limit, after: limit, "There are more than \(limit) pages. Raise `upTo:`, or stop reading earlier.")
    }

    static func url(after count: Int) -> Self {
        Self(
            .url, after: count,
            "The next page after page \(count) has no URL that a request can be sent to, so the list is incomplete.")
    }
}
