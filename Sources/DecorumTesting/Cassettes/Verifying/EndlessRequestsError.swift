public import Decorum
import Foundation
import Synchronization

/// A verified test has sent far more requests than it has recorded, and no further one is sent.
///
/// A loop that ends with a recording may not end with a server: for example, a client connects to an event stream again
/// whenever the server closes it, and a clock that skips waits makes it do so without a pause.
public struct EndlessRequestsError: Error, Hashable, Sendable {
    /// The method and the URL of the request, redacted.
    public let request: String
    /// The number of requests that were sent.
    public let sent: Int
    /// The number of recorded requests.
    public let recorded: Int
    /// The path of the cassette.
    public let file: String
}

extension EndlessRequestsError: DescribableError {
    /// The request, the numbers, and how to end the requests.
    public var description: String {
        """
        The request \(request) was not sent, because the test has sent \(sent) requests in place of \(recorded) in the \
        cassette \(file).
        fix: end the loop that sends it
        """
    }
}

extension Cassette {
    /// The requests that a verified test may send beyond the recorded ones, such as retries.
    private static var margin: Int { 20 }
    /// The margin if a recording may answer any number of requests, for a client that polls.
    private static var marginOfRepeats: Int { 1000 }

    /// Throws if a verified test has sent far more requests than are recorded.
    func checkNumber(of request: borrowing Request) throws(EndlessRequestsError) {
        guard mode == .verify else { return }
        let recorded = content.count - owners.foreign.count
        let limit = recorded + (rules.repeats == .last ? Self.marginOfRepeats : Self.margin)
        let (sent, isKnown) = state.withLock { state in
            (state.recordings.count, state.failures.contains { $0 is EndlessRequestsError })
        }
        guard sent >= limit else { return }
        let matchable = redactor.matchable(RecordedRequest(request.head, declaredBy: request.options))
        let error = EndlessRequestsError(
            request: SecretScanner(rules).masked("\(matchable.method) \(matchable.url)"), sent: sent,
            recorded: recorded, file: file.relativePath)
        if !isKnown { keep(error) }
        throw error
    }
}
