public import Decorum
import Foundation

/// No interaction of a cassette answers a request.
///
/// The description shows the request, the recorded one that is nearest and every rule in which they do not agree, and
/// how to record it. All of it is redacted, and a text without a name that looks like a secret is masked too.
public struct CassetteMissError: Error, Hashable, Sendable {
    /// The method and the URL of the request, redacted.
    public let request: String
    /// The number of requests to the cassette so far, including this one.
    public let number: Int
    /// The path of the cassette, with the line of the nearest interaction if it is known.
    public let file: String
    /// The recorded request that is nearest, and the differences.
    public let explanation: String
    /// The whole request and the whole recorded one that is nearest, redacted, for the report of a test.
    public let report: String
    private let advice: String

    init(request: String, number: Int, file: String, explanation: String, report: String, advice: String) {
        self.request = request
        self.number = number
        self.file = file
        self.explanation = explanation
        self.report = report
        self.advice = advice
    }
}

extension CassetteMissError: DescribableError {
    /// The request, the nearest recorded one, the reason why it does not match, and how to record the request.
    public var description: String {
        """
        No recording matches request \(number).
          \(request)
        \(explanation)
        fix: \(advice)
        file: \(file)
        """
    }
}
