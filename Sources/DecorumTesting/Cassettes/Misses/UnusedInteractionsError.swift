public import Decorum
import Foundation

/// Interactions of a cassette were never played.
///
/// Either a request is no longer made, or it has changed so much that another interaction answered it.
public struct UnusedInteractionsError: Error, Hashable, Sendable {
    /// The path of the cassette.
    public let file: String
    /// The method and the URL of each, redacted.
    public let requests: [String]
    /// How to fix the cassette.
    let advice: String
}

extension UnusedInteractionsError: DescribableError {
    /// Their number, their requests, and how to fix the cassette.
    public var description: String {
        "Of the cassette \(file), \(requests.count) recorded interactions were never played:\(listed(requests))\n"
            + "fix: \(advice); or let the rules have unused: .allow"
    }
}
