import Decorum
import Foundation
import HTTPTypes
import Synchronization

// Requests are matched without their credentials, since tokens differ between two runs. So a recording also answers a
// request that has lost them.

extension Cassette {
    /// The note for requests that were recorded with `Authorization` and are replayed without it, or with a placeholder that
    /// recorded requests have elsewhere alone, such as that of a refresh token in place of an access token; nil if there are
    /// none.
    ///
    /// A placeholder that some recorded request has in `Authorization`, or none has anywhere, tells nothing: a token may be
    /// refreshed a little earlier or later in each run.
    ///
    /// A client that loses its credentials loses them in each test, so the tests of a suite list their requests once for
    /// each kind of difference. Nothing knows the other tests of a test without a suite, so its list is short.
    func noteOfCredentials(_ recorded: [Int: HTTPFields]) -> String? {
        let (lost, wrong) = requestsWithOtherCredentials(recorded)
        guard !lost.isEmpty || !wrong.isEmpty else { return nil }
        let gone = Set(lost)
        let lines = (lost + wrong).sorted().map { ordinal in
            shownRequest(at: ordinal)
                + (gone.contains(ordinal)
                    ? " was recorded with it, and has none now" : " has a secret that recorded requests have elsewhere")
        }
        let requests = DifferingRequests(
            file: file.relativePath, part: "`Authorization`", fields: "credentials", lines: lines)
        guard isFirst(lost: !lost.isEmpty, wrong: !wrong.isEmpty) else {
            return "\(requests.subject), as in a test before. That test names the remedy."
        }
        return requests.note(
            fix: "send the credentials in replay too; any text may stand for a token that only recording needs",
            upTo: shared == nil ? 3 : 10)
    }

    /// Whether no test of the suite has told one of the kinds of difference before.
    private func isFirst(lost: Bool, wrong: Bool) -> Bool {
        guard let shared else { return true }
        let kinds = (lost ? ["lost credentials"] : []) + (wrong ? ["wrong credentials"] : [])
        // Each kind is noted, also behind one that is new.
        return !kinds.filter(shared.isFirst).isEmpty
    }

    /// The words for requests that were recorded with credentials and are sent without, so that the client asks for no token;
    /// nil unless an interaction that gives a token is among those that were not played.
    func causeInCredentials(of unplayed: [Int], in content: CassetteContent) -> String? {
        guard unplayed.contains(where: { (try? content.interaction(at: $0))?.givesToken ?? false }),
            !requestsWithOtherCredentials(recordedRequests.mapValues(\.fields)).lost.isEmpty
        else { return nil }
        return "the client asks for no token, since it sends no credentials; send them as they were recorded"
    }

    /// The places of played interactions whose requests have lost their credentials, and of those with a wrong secret.
    private func requestsWithOtherCredentials(_ recorded: [Int: HTTPFields]) -> (lost: [Int], wrong: [Int]) {
        let sent = state.withLock(\.sentFields).compactMapValues { $0[.authorization] }
        let recorded = recorded.compactMapValues { $0[.authorization] }
        let known = recorded.values.reduce(into: Set<[UInt8]>()) { $0.formUnion(placeholders(in: $1)) }
        let lost = recorded.keys.filter { sent[$0] == nil }
        let unknown = recorded.keys.compactMap { ordinal in
            sent[ordinal].map { (ordinal, placeholders(in: $0).subtracting(known)) }
        }.filter { !$0.1.isEmpty }
        let misplaced = unknown.isEmpty ? [] : misplacedPlaceholders
        let wrong = unknown.filter { !$0.1.isDisjoint(with: misplaced) }.map(\.0)
        return (lost, wrong)
    }

    /// The recorded requests that were answered, by their places; empty unless the test is replayed.
    var recordedRequests: [Int: RecordedRequest] {
        guard mode == .replay else { return [:] }
        return state.withLock(\.sentFields).keys.reduce(into: [:]) { recorded, ordinal in
            recorded[ordinal] = try? content.request(at: ordinal)
        }
    }

    /// The placeholders that recorded requests have, but in no `Authorization`.
    private var misplacedPlaceholders: Set<[UInt8]> {
        let requests = (0..<content.count).compactMap { try? content.request(at: $0) }
        let all = requests.flatMap { $0.placeholders(named: content.placeholders != nil) }
        return Set(all).subtracting(
            requests.compactMap { $0.fields[.authorization] }.flatMap(placeholders))
    }

    /// The placeholders in a value of `Authorization`.
    func placeholders(in value: String) -> Set<[UInt8]> {
        RecordedRequest(method: "", url: "", fields: [.authorization: value])
            .placeholders(named: content.placeholders != nil)
    }
}
