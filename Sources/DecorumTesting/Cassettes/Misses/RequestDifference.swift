import Decorum
import Foundation

/// The differences between a request and a recorded one, rule by rule.
struct RequestDifference {
    /// The names of the rules that do not agree, each with lines that give the reason.
    let disagreements: [(rule: String, lines: [String])]
    let agreements: [String]

    init(
        _ recorded: RecordedRequest, _ live: RecordedRequest, rules: [MatchingRule], masking scanner: SecretScanner
    ) {
        let lines = RequestLines(scanner: scanner)
        var disagreements: [(String, [String])] = []
        var agreements: [String] = []
        // The contents of requests to two addresses have nothing in common to compare.
        let isElsewhere = recorded.url.prefix { $0 != "?" } != live.url.prefix { $0 != "?" }
        for rule in rules {
            let keys = (rule.key(recorded), rule.key(live))
            if KeyTemplates.agree(recorded: keys.0, keys.1) {
                agreements.append(rule.name)
            } else {
                let isCompared = !isElsewhere || rule.subject != .body
                disagreements.append((rule.name, isCompared ? lines.of(rule, recorded, live, keys) : []))
            }
        }
        self.disagreements = disagreements
        self.agreements = agreements
    }

    /// The similarity of the two requests; a rule that agrees counts more than the common prefix of the URLs.
    ///
    /// The keys are those of the rules for the live request.
    static func nearness(
        _ recorded: RecordedRequest, _ live: RecordedRequest, rules: [MatchingRule], keys: [[UInt8]]
    ) -> Int {
        nearness(recorded, live, keys, rules.map { $0.key(recorded) })
    }

    /// The similarity of two requests with their keys, one for each rule.
    static func nearness(
        _ recorded: RecordedRequest, _ live: RecordedRequest, _ keys: [[UInt8]], _ recordedKeys: [[UInt8]]
    ) -> Int {
        let agreeing = zip(keys, recordedKeys).count { KeyTemplates.agree(recorded: $1, $0) }
        let common = zip(recorded.url.utf8, live.url.utf8).prefix { $0 == $1 }.count
        return agreeing << 16 + min(common, 0xFFFF)
    }

    /// The number of lines that show differences.
    var lineCount: Int { disagreements.reduce(0) { $0 + $1.lines.count } }
}
