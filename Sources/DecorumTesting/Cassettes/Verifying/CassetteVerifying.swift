import Decorum
import Foundation
import Synchronization

extension Cassette {
    /// Throws if the live answers differ from the recorded ones.
    ///
    /// - Returns: The recorded interactions whose requests were not made; other tests of the suite may make them.
    func verify() throws -> Set<Int> {
        var (drifts, unmade) = try drifts(ofFailedTest: false)
        if !isShared, rules.unused == .fail {
            let scanner = SecretScanner(rules)
            drifts += try unmade.sorted().map { ordinal in
                let request = redactor.matchable(try content.request(at: ordinal))
                return .init(
                    request: scanner.masked("\(request.method) \(request.url)"),
                    changes: ["is recorded, and no longer requested"], line: content.line(of: ordinal), cause: .request)
            }
        }
        if let error = error(of: drifts, ofFailedTest: false) { throw error }
        return isShared ? unmade : []
    }

    /// The differences of the live answers in ``CassetteMode/verify``, for a test that has failed and so does not finish
    /// its cassette; nil if there are none.
    ///
    /// A request that was not made is no difference then, since the test may have ended early, and neither is a failure of
    /// the connection, which the test tells itself. Differences that fail no test by themselves are told too, since they may
    /// be the reason.
    func driftOfFailedTest() async -> CassetteDriftError? {
        guard mode == .verify else { return nil }
        await endRecordings()
        return (try? drifts(ofFailedTest: true)).flatMap { error(of: $0.drifts, ofFailedTest: true) }
    }

    /// The error for differences, which are kept for the report of the run; nil if there are none that fail the test.
    private func error(of drifts: [CassetteDriftError.Drift], ofFailedTest: Bool) -> CassetteDriftError? {
        guard !drifts.isEmpty else { return nil }
        let causes = Set(drifts.map(\.cause)).subtracting([.accepted])
        let isAccepted = causes.isSubset(of: [.recovery, .transient])
        let advice =
            !causes.isEmpty && isAccepted
            ? advice(forAccepted: causes)
            : advice(
                for: causes, hasTokenLife: drifts.contains(where: \.hasTokenLife), ofFailedTest: ofFailedTest,
                sharing: !causes.isDisjoint(with: [.request, .addition]))
        let error = CassetteDriftError(
            file: file.relativePath, drifts: drifts, advice: advice,
            isOfFailedTest: ofFailedTest)
        guard ofFailedTest || !isAccepted else {
            state.withLock { $0.noteOfEnd = "\(error)" }
            return nil
        }
        state.withLock { $0.drifts = drifts.filter { $0.cause != .accepted } }
        return error
    }

    /// The advice for some causes; whether tests share the file by mistake is a question only of their requests.
    private func advice(
        for causes: Set<CassetteDriftError.Cause>, hasTokenLife: Bool, ofFailedTest: Bool, sharing isShared: Bool
    ) -> String {
        let advice = advice(for: causes, hasTokenLife: hasTokenLife, ofFailedTest: ofFailedTest)
        return adviceToRecord(or: advice)
    }

    private func advice(forAccepted causes: Set<CassetteDriftError.Cause>) -> String {
        "keep the recording; "
            + (causes.contains(.recovery)
                ? "a new one would lose the failure, which the test needs"
                : "a new one would hold a failure that this one does not need")
    }

    private func advice(
        for causes: Set<CassetteDriftError.Cause>, hasTokenLife: Bool, ofFailedTest: Bool
    ) -> String {
        let loss = ", but loses the failure that the server does not have now"
        let rewriting =
            "`\(rewriteCommand)` records the test anew" + (causes.contains(.recovery) ? loss : "")
        let sending = "sends the requests; if the change is meant, \(rewriting)"
        func serverFirst(if fault: String) -> String {
            "mend the server if \(fault); else change the code that reads it, or that \(sending)"
        }
        let reading =
            ofFailedTest
            ? "change the code that reads the answer, or what the test expects, then "
            : "look whether the code that reads the answer has to change, then "
        if causes.contains(.outage) {
            let again = "`\(Self.command(.verify, for: testName))` asks the server again when it is well"
            return "\(again); a new recording would hold its failure"
        }
        if causes.contains(.request) || causes.contains(.addition) {
            return hasTokenLife
                ? serverFirst(if: "its tokens are not meant to have this life") : "change the code that \(sending)"
        }
        if causes.contains(.repetition), causes.isDisjoint(with: [.refusal, .otherError]) {
            return serverFirst(if: "its answer is not meant to change")
        }
        if causes.contains(.refusal) {
            return
                "mend the server or its data if it is meant to accept the request; else change the code that sends it, then "
                + "\(rewriting); without that, a new recording would hold the refusal"
        }
        if causes.contains(.renewal) {
            return "mend the server if it is meant to accept the first credentials; else \(rewriting); the code of the "
                + "client needs no change, since it got an answer with others"
        }
        if causes == [.otherError] {
            return
                "if the error is still the one that the test is about, \(reading)\(rewriting); else change "
                + "the code that sends the request, or mend the server"
        }
        let meant = "if the change is meant, " + reading + rewriting
        return causes.contains(.lead) || ofFailedTest ? "mend the server; \(meant)" : meant
    }

    private func drifts(
        ofFailedTest: Bool
    ) throws -> (drifts: [CassetteDriftError.Drift], unmade: Set<Int>) {
        let (interactions, _, _) = try self.recorded()
        let live = interactions.map(redactor.matchable)
        let recorded = try content.interactions().map(redactor.matchable)
        // An identifier of this run may by chance be that of another recorded item, so both readings are tried.
        var reading = try Verification(of: live, against: recorded, in: self, hasFailed: ofFailedTest)
        if reading.findingCount > 0 {
            let other = try Verification(
                of: live, against: recorded, in: self, hasFailed: ofFailedTest, preferringRecordedValues: true)
            if other.findingCount < reading.findingCount { reading = other }
        }
        let answered = reading.answered
        state.withLock { state in
            state.answered = answered.mapValues { $0 + 1 }
        }
        return (reading.drifts, reading.unmade)
    }
}
