import Decorum
import Foundation

extension CassetteMissError {
    /// Finds the recorded request that is nearest to one without a recording, and the differences.
    ///
    /// A recording of the test itself is nearer than one of another test, which answers it only if the test has none with the
    /// path of the request. To a test that has recorded nothing, none is near.
    init(
        _ live: RecordedRequest, number: Int, finding: PlaybackIndex.Finding, in cassette: Cassette,
        holdsPlaceholder: Bool
    ) throws {
        let rules = cassette.rules.matching
        let owners = cassette.owners
        let unplayed = Set(cassette.unplayed)
        let recorded = try (0..<cassette.content.count).map { ordinal in
            cassette.redactor.matchable(try cassette.content.request(at: ordinal))
        }
        var live = live
        // A secret without a name is recognized by its place in recorded requests.
        live.url = KeyTemplates.hiding(live.url, as: recorded.lazy.map(\.url))
        let keys = rules.map { $0.key(live) }
        let scanner = SecretScanner(cassette.rules)
        let address = URLNearness.address(of: live.url)
        let onPath = recorded.indices.filter { URLNearness.address(of: recorded[$0].url) == address }
        let own = recorded.indices.filter { !owners.foreign.contains($0) }
        let isOwn = onPath.isEmpty ? !own.isEmpty : onPath.contains { !owners.foreign.contains($0) }
        let candidates = owners.answerNothing ? [] : isOwn ? own : onPath.isEmpty ? Array(recorded.indices) : onPath
        // If several are equally near, one that has not been played is more likely to be the intended one.
        func likelihood(_ ordinal: Int) -> (RequestDifference.Nearness, Int, Int) {
            let nearness = RequestDifference.nearness(recorded[ordinal], live, rules: rules, keys: keys)
            return (nearness, unplayed.contains(ordinal) ? 1 : 0, -ordinal)
        }
        let likelihoods = candidates.map(likelihood)
        let nearest = candidates.indices.max { likelihoods[$0] < likelihoods[$1] }.map { candidates[$0] }
        let shown = try nearest.map { cassette.redactor.shown(try cassette.content.request(at: $0)) }
        let difference = nearest.map { nearest in
            RequestDifference(recorded[nearest], live, rules: rules, masking: scanner, shown: shown)
        }
        // A recording of this test that is left is that of this request before it changed.
        let isLeft = nearest.map { unplayed.contains($0) && !owners.foreign.contains($0) } ?? false
        let words = MissWords(cassette: cassette, recorded: recorded, scanner: scanner)
        let isRepeat = difference?.disagreements.isEmpty == true && finding.isPlayed
        let random = cassette.forgottenSuite == nil && difference?.isUnrelated != true ? difference?.random : nil
        let cause = MissCause(
            of: live, onPath: onPath.map { recorded[$0] }, nearest: nearest.map { recorded[$0] }, difference,
            isLeft: isLeft)
        let fault = words.fault(of: live, hasPath: !onPath.isEmpty)
        let restoring = cause == .loss || !fault.isEmpty ? MissWords.restoringAdvice : ""
        let recording = cassette.adviceForMiss(
            holdsPlaceholder: holdsPlaceholder, hasChanged: isLeft && cause != .loss)
        // Without a recorded request there is no change, and other advice has a condition of its own.
        let isChange = random?.isRecorded != true && nearest != nil
        let condition = restoring + (isChange ? MissWords.meantAdvice : "")
        let remedy =
            isRepeat
            ? MissWords.repeatAdvice(
                after: nearest.flatMap { try? cassette.content.interaction(at: $0) }, recording: recording)
            : condition + recording + (isLeft && isChange && restoring.isEmpty ? MissWords.editedAdvice : "")
        self.init(
            request: scanner.masked("\(live.method) \(live.url)"), number: number,
            file: InteractionPlace.address(
                in: cassette.file, line: cause == .loss ? nil : nearest.flatMap { cassette.content.line(of: $0) }),
            explanation: fault
                + words.explanation(
                    nearest, difference, finding, isPlayed: nearest.map { !unplayed.contains($0) } ?? false,
                    cause: cause, behind: fault),
            report: MissReport(scanner: scanner).text(
                live, number: number, nearest: nearest.map { recorded[$0] }, shown: shown,
                name: "interaction \((nearest ?? 0) + 1) of \(cassette.file.lastPathComponent)"),
            advice: (random.map(MissWords.randomAdvice) ?? "")
                + cassette.adviceToRecordOrShare(or: remedy))
    }
}

extension PlaybackIndex.Finding {
    /// Whether recordings match, all of which have been played.
    fileprivate var isPlayed: Bool { if case .played = self { true } else { false } }
}
