import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// The differences between a request and a recorded one, rule by rule.
struct RequestDifference {
    /// The names of the rules that do not agree, each with lines that give the reason.
    let disagreements: [(rule: String, lines: [String])]
    let agreements: [String]
    /// The value that differs and looks as if a client made it anew for each run; nil if there is none.
    let random: RandomDifference?
    /// Whether the requests have too little in common for one to be the other before it changed: most rules do not agree,
    /// and either the methods and the paths differ, or neither the paths nor the contents are similar.
    let isUnrelated: Bool

    /// Compares two requests, redacted as for matching; `shown` is the recorded one with the placeholders of its file.
    init(
        _ recorded: RecordedRequest, _ live: RecordedRequest, rules: [MatchingRule], masking scanner: SecretScanner,
        shown: RecordedRequest? = nil
    ) {
        let lines = RequestLines(scanner: scanner, shown: shown)
        var disagreements: [(String, [String])] = []
        var agreements: [String] = []
        var random: RandomDifference?
        // The contents of requests to two addresses often have nothing in common to compare, except where both are uploads or
        // have members of the same names.
        let isElsewhere = URLNearness.address(of: recorded.url) != URLNearness.address(of: live.url)
        let areAlike = recorded.method == live.method && Self.haveLikeContents(recorded, live)
        for rule in rules {
            let keys = (rule.key(recorded), rule.key(live))
            if KeyTemplates.agree(recorded: keys.0, keys.1) {
                agreements.append(rule.name)
            } else {
                let found = RandomDifference(rule, recorded, live, keys, masking: scanner)
                // Two values that look random tell more than one.
                if random == nil || random?.isRecorded == false && found?.isRecorded == true { random = found }
                let isCompared = !isElsewhere || areAlike || rule.subject != .body
                disagreements.append((rule.name, isCompared ? lines.of(rule, recorded, live, keys) : []))
            }
        }
        self.disagreements = disagreements
        self.agreements = agreements
        self.random = random
        let isApart =
            recorded.method == live.method
            ? isElsewhere && !URLNearness.haveSimilarPaths(recorded.url, live.url)
            : isElsewhere || agreements.isEmpty
        isUnrelated = 2 * agreements.count < rules.count && !areAlike && isApart
    }

    private static func haveLikeContents(_ recorded: RecordedRequest, _ live: RecordedRequest) -> Bool {
        let requests = [recorded, live]
        if requests.allSatisfy({ ContentKind(mediaType: $0.fields[.contentType]) == .multipart }) { return true }
        let names = requests.map { request -> Set<String> in
            guard case .object(let members) = try? JSONValue(parsing: Array(request.body.bytes)) else { return [] }
            return Set(members.map(\.name))
        }
        let shared = names[0].intersection(names[1]).count
        return shared > 0 && 2 * shared >= max(names[0].count, names[1].count)
    }

    /// The similarity of two requests: the number of rules that agree, and then the similarity of the URLs.
    struct Nearness: Comparable {
        let agreeing: Int
        let url: URLNearness

        static func < (one: Self, other: Self) -> Bool {
            one.agreeing == other.agreeing ? one.url < other.url : one.agreeing < other.agreeing
        }
    }

    /// The similarity of the two requests.
    ///
    /// The keys are those of the rules for the live request.
    static func nearness(
        _ recorded: RecordedRequest, _ live: RecordedRequest, rules: [MatchingRule], keys: [[UInt8]]
    ) -> Nearness {
        nearness(recorded, live, keys, rules.map { $0.key(recorded) })
    }

    /// The similarity of two requests with their keys, one for each rule.
    static func nearness(
        _ recorded: RecordedRequest, _ live: RecordedRequest, _ keys: [[UInt8]], _ recordedKeys: [[UInt8]]
    ) -> Nearness {
        let agreeing = zip(keys, recordedKeys).count { KeyTemplates.agree(recorded: $1, $0) }
        return Nearness(agreeing: agreeing, url: URLNearness(recorded.url, live.url))
    }

    /// The number of lines that show differences.
    var lineCount: Int { disagreements.reduce(0) { $0 + $1.lines.count } }
}
