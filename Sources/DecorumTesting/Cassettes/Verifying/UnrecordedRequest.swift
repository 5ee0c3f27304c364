import Decorum
import Foundation
import HTTPTypes

/// A request of a verified run without a recording.
struct UnrecordedRequest {
    /// Its place among the requests of the run.
    let place: Int
    /// The request as it was sent, redacted.
    let sent: RecordedRequest
    /// The request with recorded identifiers in place of those that the server gave in this run.
    let comparable: RecordedRequest
    /// The recording that is the next one in order, where the rules ask for it; nil if the order does not matter.
    let next: Int?
    /// The words for the earlier answer that led to the request, as the recorded one did not; nil if there is none.
    let lead: String?
}

/// The requests of a verified run without a recording, and the recordings of the test that were not requested.
///
/// A client that has changed sends one request in place of another, so each such request is paired with a recording that is
/// left, and told as one difference.
struct UnrecordedRequests {
    private let recorded: [RecordedRequest]
    private let rules: CassetteRules
    /// The recordings of the test itself, and those that belong to no test.
    private let own: [Int]
    private let scanner: SecretScanner
    private let line: (Int) -> Int?
    /// A recorded request with the placeholders of the file.
    private let shown: (Int) -> RecordedRequest?
    /// Whether the test has failed, so that requests may be left that it would still have sent.
    private let hasFailed: Bool

    init(
        of cassette: Cassette, recorded: [RecordedRequest], masking scanner: SecretScanner, hasFailed: Bool
    ) {
        self.recorded = recorded
        rules = cassette.rules
        own = recorded.indices.filter { !cassette.owners.foreign.contains($0) }
        self.scanner = scanner
        line = { cassette.content.line(of: $0) }
        shown = { (try? cassette.content.request(at: $0)).map(cassette.redactor.shown) }
        self.hasFailed = hasFailed
    }

    /// The differences of the requests, the recordings that are left after them, and the places of the requests that were sent
    /// in place of a recording.
    ///
    /// `differing` are the recordings that got another answer, after which a client may send its request again.
    func drifts(
        of requests: [UnrecordedRequest], leaving unmade: Set<Int>, differing: Set<Int>
    ) -> (drifts: [(place: Int, drift: CassetteDriftError.Drift)], unmade: Set<Int>, places: [Int: Int]) {
        var left = unmade
        var partners: [Int: Int] = [:]
        // A request that is recorded, and only out of order, keeps its own recording.
        for isSame in [true, false] {
            for request in requests where partners[request.place] == nil {
                let candidates = own.filter(left.contains)
                guard let partner = nearest(to: request, of: candidates) else { continue }
                guard isSame ? agrees(partner, request) : isLike(partner, request) else { continue }
                partners[request.place] = partner
                left.remove(partner)
            }
        }
        let played = Set(recorded.indices).subtracting(unmade)
        return (
            requests.map { request in
                (request.place, drift(of: request, partners[request.place], played: played, differing: differing))
            }, left,
            Dictionary(partners.map { ($1, $0) }) { first, _ in first }
        )
    }

    private func drift(
        of request: UnrecordedRequest, _ partner: Int?, played: Set<Int>, differing: Set<Int>
    ) -> CassetteDriftError.Drift {
        let repeats = own.filter { played.contains($0) && agrees($0, request) }
        var changes: [String]
        if let partner {
            changes = agrees(partner, request) ? [disorder(of: request)] : replacing(partner, request)
        } else if !repeats.isEmpty, request.lead != nil {
            // Its recording may have been played for an earlier request with another value.
            return drift(of: request, ["is sent in addition to those that are recorded"], line: nil, cause: .addition)
        } else if let first = repeats.first {
            let count = repeats.count == 1 ? "once" : "\(repeats.count) times"
            changes = ["is recorded \(count) by this test, and sent once more"]
            let followsFromAnswer = repeats.contains(where: differing.contains)
            if followsFromAnswer { changes.append("the other answer to it may be why") }
            return drift(
                of: request, changes, line: line(first), cause: followsFromAnswer ? .repetition : .addition)
        } else if own.contains(where: { hasPath(of: request, $0) }),
            // Of pages that are equally near to a further one, the last one is the page before it.
            let nearest = nearest(to: request, of: own.reversed())
        {
            changes = ["is not recorded; nearest is \(name(of: nearest))"] + differences(nearest, request)
            return drift(of: request, changes, line: nil, cause: .addition)
        } else {
            changes = ["is not recorded; no recording of this test has its path"]
            return drift(of: request, changes, line: nil, cause: .addition)
        }
        return drift(of: request, changes, line: partner.flatMap(line), cause: .request)
    }

    private func drift(
        of request: UnrecordedRequest, _ changes: [String], line: Int?, cause: CassetteDriftError.Cause
    ) -> CassetteDriftError.Drift {
        CassetteDriftError.Drift(
            request: scanner.masked("\(request.sent.method) \(request.sent.url)"),
            changes: (changes + [request.lead].compactMap(\.self)).map(scanner.masked), line: line,
            cause: request.lead != nil ? .answer : cause)
    }

    private func disorder(of request: UnrecordedRequest) -> String {
        let next = request.next.flatMap { recorded.indices.contains($0) ? name(of: $0) : nil }
        return "comes out of order (the rules ask for `.strict`)"
            + (next.map { "; the next one in order is \($0)" } ?? "")
    }

    private func replacing(_ partner: Int, _ request: UnrecordedRequest) -> [String] {
        let old = recorded[partner]
        let isNamed = old.method != request.sent.method || old.url != request.sent.url
        return ["is sent in place of " + (isNamed ? "\(old.method) \(old.url)" : "the recorded one")]
            + differences(partner, request)
    }

    private func name(of ordinal: Int) -> String {
        "\(recorded[ordinal].method) \(recorded[ordinal].url)" + InteractionPlace.suffix(line: line(ordinal))
    }

    /// The lines that a miss shows too.
    private func differences(_ ordinal: Int, _ request: UnrecordedRequest) -> [String] {
        let identifiers =
            request.comparable.url == request.sent.url
            ? [] : ["the recorded identifiers make it \(request.comparable.method) \(request.comparable.url)"]
        return identifiers
            + RequestDifference(
                recorded[ordinal], request.comparable, rules: rules.matching, masking: scanner, shown: shown(ordinal)
            ).disagreements.flatMap { rule, lines in ["\(rule)  differs"] + lines.map { "  \($0)" } }
    }

    private func nearest(to request: UnrecordedRequest, of candidates: [Int]) -> Int? {
        let keys = rules.matching.map { $0.key(request.comparable) }
        let nearness = candidates.map { ordinal in
            RequestDifference.nearness(recorded[ordinal], request.comparable, rules: rules.matching, keys: keys)
        }
        let index = candidates.indices.max { (nearness[$0], $1) < (nearness[$1], $0) }
        return index.map { candidates[$0] }
    }

    private func agrees(_ ordinal: Int, _ request: UnrecordedRequest) -> Bool {
        rules.matching.allSatisfy { rule in
            KeyTemplates.agree(recorded: rule.key(recorded[ordinal]), rule.key(request.comparable))
        }
    }

    private func hasPath(of request: UnrecordedRequest, _ ordinal: Int) -> Bool {
        URLNearness.address(of: recorded[ordinal].url) == URLNearness.address(of: request.comparable.url)
    }

    /// Whether a request may be a recorded one that has changed: it has the same path, or else the same method, and where the
    /// test has failed also the same query, content or last part of the path.
    private func isLike(_ ordinal: Int, _ request: UnrecordedRequest) -> Bool {
        if hasPath(of: request, ordinal) { return true }
        let (old, new) = (recorded[ordinal], request.comparable)
        guard old.method == new.method else { return false }
        guard hasFailed else { return true }
        let queries = [old, new].map { $0.url.drop { $0 != "?" } }
        let names = [old, new].map { URLNearness.address(of: $0.url).split(separator: "/").last }
        return !queries[0].isEmpty && queries[0] == queries[1]
            || !old.body.bytes.isEmpty && old.body.bytes == new.body.bytes || names[0] == names[1]
    }
}
