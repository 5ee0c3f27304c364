import Decorum
import Foundation
import Synchronization

extension Cassette {
    /// Notes the failures that the new recordings of the test lack, after ``CassetteMode/rewrite`` has written them.
    ///
    /// A test is often recorded for its failure, such as one that shows a retry, and a server fails seldom. The test passes
    /// without the failure, so nothing else would tell that it no longer tests the retry.
    func noteLostFailures(in recorded: [Interaction]) {
        let old = (0..<original.count).filter { ordinal in
            test.map { original.tests(of: ordinal).contains($0) } ?? true
        }.compactMap { try? original.interaction(at: $0) }
        let lost = LostFailures.words(from: old.map(redactor.matchable), to: recorded.map(redactor.matchable))
        guard !lost.isEmpty else { return }
        let scanner = SecretScanner(rules)
        let note =
            "The new recording of \(file.relativePath) has lost failures after which requests were sent again, which "
            + "this run did not meet:\(listed(lost.map(scanner.masked)))\n"
            + "fix: restore the old recording from version control, if the test is about the failure"
        state.withLock { $0.noteOfEnd = note }
    }
}

/// The failures after which a client has sent a request again in one recording of a test, and not in the next one.
private enum LostFailures {
    /// The request and the failure of each.
    static func words(from old: [Interaction], to new: [Interaction]) -> [String] {
        let oldFailures = failures(in: old)
        let newFailures = failures(in: new)
        return oldFailures.keys.sorted().flatMap { request -> [String] in
            // A request that is not recorded any more may be another one now, such as one with a new identifier.
            guard let new = newFailures[request] else { return [] }
            return (oldFailures[request] ?? []).dropFirst(new.count).map { "\(request)  \($0)" }
        }
    }

    /// The failures by their requests, in their order, without the last exchange of each request, after which the client has
    /// sent it no more.
    private static func failures(in interactions: [Interaction]) -> [String: [String]] {
        Dictionary(grouping: interactions) { "\($0.request.method) \($0.request.url)" }
            .mapValues { $0.dropLast().filter(\.isTransientFailure).map(\.failureName) }
    }
}
