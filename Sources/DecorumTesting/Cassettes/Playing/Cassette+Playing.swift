import Decorum
import Foundation
import Synchronization

extension Cassette {
    /// Takes the interaction that answers a request.
    ///
    /// - Throws: ``CassetteMissError`` if no interaction does.
    func play(_ request: RecordedRequest) throws -> RecordedOutcome {
        let matched = matchedAsWhole(request)
        let (finding, number) = try take(request, matched: matched, orElse: .missed)
        if case .interaction(let ordinal) = finding { return try outcome(at: ordinal, for: request) }
        return try missed(matched ?? matchable(request), finding, number: number)
    }

    /// Takes the interaction that answers one of several versions of a request; of several, the first in the file.
    ///
    /// - Throws: ``CassetteMissError`` if no interaction does.
    func play(anyOf versions: [RecordedRequest]) throws -> RecordedOutcome {
        let versions = versions.map(matchable)
        let first = versions.first ?? RecordedRequest(method: "", url: "")
        let (finding, number) = try take(
            first, isMatchable: true, with: first.fields, sending: Data(), orElse: .missed
        ) {
            try $0.take(anyOf: versions, recorded: $1)
        }
        if case .interaction(let ordinal) = finding { return try content.outcome(at: ordinal) }
        return try missed(first, finding, number: number)
    }

    /// Takes the interaction that answers a request; nil if there is none.
    func playIfRecorded(_ request: RecordedRequest) throws -> RecordedOutcome? {
        let finding = try take(request, matched: matchedAsWhole(request), orElse: .sent).finding
        guard case .interaction(let ordinal) = finding else { return nil }
        return try outcome(at: ordinal, for: request)
    }

    /// The outcome of an interaction, whose answer leads to the origin of the live request in place of the recorded one.
    private func outcome(at ordinal: Int, for request: RecordedRequest) throws -> RecordedOutcome {
        var outcome = try content.outcome(at: ordinal)
        if let fields = outcome.response?.fields,
            let move = MovedOrigin(from: content.url(at: ordinal), to: request.url)
        {
            outcome.response?.fields = move.applied(to: fields)
        }
        return outcome
    }

    /// The request as it is matched; a closure of the rules sees each request once.
    private func matchable(_ request: RecordedRequest) -> RecordedRequest {
        redactor.matchable(rules.rewritten(request))
    }

    /// The request as it is matched; nil if neither a rule nor its content needs the fields.
    private func matchedAsWhole(_ request: RecordedRequest) -> RecordedRequest? {
        let isTargetAlone = request.body.bytes.isEmpty && !readsFields && rules.beforeMatching == nil
        return isTargetAlone ? nil : matchable(request)
    }

    private func take(
        _ request: RecordedRequest, matched: RecordedRequest?, orElse outcome: RequestExplanation.Outcome
    ) throws -> (finding: PlaybackIndex.Finding, number: Int) {
        try take(
            matched ?? request, isMatchable: matched != nil, with: request.fields, sending: request.body.bytes,
            orElse: outcome
        ) { index, recorded in
            let preference = PlaceholderPreference(request: request, content: content)
            if let matched { return try index.take(matched, recorded: recorded, preferring: preference) }
            // Most URLs are those of a recording.
            if let finding = try index.take(written: request, recorded: recorded, preferring: preference) {
                return finding
            }
            let target = RecordedRequest(method: request.method, url: redactor.matchable(url: request.url))
            return try index.take(target, recorded: recorded, preferring: preference)
        }
    }

    private func take(
        _ request: RecordedRequest, isMatchable: Bool, with fields: HTTPFields, sending sent: Data,
        orElse outcome: RequestExplanation.Outcome,
        _ take: (_ index: inout PlaybackIndex, _ recorded: PlaybackIndex.Recorded) throws -> PlaybackIndex.Finding
    ) throws -> (finding: PlaybackIndex.Finding, number: Int) {
        let (finding, number, played) = try state.withLock { state in
            state.requestCount += 1
            let played = explainer == nil ? [] : state.index.played
            let finding = try take(&state.index) { ordinal in
                // The target is in the index already, so a request without content has nothing else to match.
                if !readsFields, !content.hasContent(at: ordinal) { return nil }
                return redactor.matchable(try content.request(at: ordinal))
            }
            if case .interaction(let ordinal) = finding {
                state.replayCount += 1
                if state.answered[ordinal] == nil {
                    state.answered[ordinal] = state.requestCount
                    state.sentFields[ordinal] = fields
                    if (1...Self.keptLength).contains(sent.count) { state.sentContent[ordinal] = sent }
                }
            }
            return (finding, state.requestCount, played)
        }
        if let explainer {
            let answer: RequestExplanation.Outcome? =
                if case .interaction(let ordinal) = finding { .answered(by: ordinal + 1) } else { nil }
            try explainer.explain(
                isMatchable ? request : matchable(request), number: number, answer ?? outcome,
                before: .init(played: played, mended: mended, foreign: owners.foreign), in: self)
        }
        return (finding, number)
    }

    /// The most bytes of content that are kept to the end of the test, for its notes.
    private static var keptLength: Int { 1 << 16 }

    /// The reaction to a request without a recording.
    private func missed(
        _ request: RecordedRequest, _ finding: PlaybackIndex.Finding, number: Int
    ) throws -> RecordedOutcome {
        let miss = try CassetteMissError(request, number: number, finding: finding, in: self)
        switch rules.onMiss?(miss, request) ?? .fail {
        case .fail: keep(miss)
        case .tolerate: break
        case .answer(let response): return RecordedOutcome(response: response, failure: nil)
        }
        throw miss
    }

    /// Keeps the failure of a request, so that ``Cassette/finish()`` throws it whatever became of it.
    func keep(_ failure: any Error) {
        state.withLock { $0.failures.append(failure) }
    }

    /// The response of an interaction, or its failure, to a request whose limits end the waits of the replay.
    func played(
        _ outcome: RecordedOutcome, for request: RecordedRequest, to sent: borrowing Request
    ) async throws -> Response {
        var waits: PlayedWait?
        if rules.timing.mayWait || outcome.failure != nil { waits = try PlayedWait(for: sent, on: clock) }
        guard let response = outcome.response else {
            try await outcome.failure?.play(waiting: waits)
            throw CassetteError(file: file.relativePath, reason: "an interaction has neither a response nor an error")
        }
        var metadata = ResponseMetadata(answering: sent, from: .cassette)
        if let ordinal = outcome.ordinal {
            // A stored response outlives the test, whose cassette ends with it.
            metadata.recordingPlace = { [content, file] in
                InteractionPlace.address(in: file, line: content.line(of: ordinal))
            }
        }
        guard let failure = outcome.failure else {
            return Response(playing: response, metadata, timing: rules.timing, waits: waits, fail: nil)
        }
        let ordinal = outcome.ordinal
        return Response(playing: response, metadata, timing: rules.timing, waits: waits) { [self, waits] in
            guard failure.isCut else { return try await failure.play(waiting: waits) }
            throw ended(response, at: ordinal, for: request)
        }
    }

    /// The error of a test that reads more than is recorded, which is kept.
    private func ended(
        _ response: RecordedResponse, at ordinal: Int?, for request: RecordedRequest
    ) -> RecordingEndedError {
        let request = matchable(request)
        let scanner = SecretScanner(rules)
        let recording = ordinal.flatMap { ordinal in
            (try? content.interaction(at: ordinal)).map { interaction in
                MissReport(scanner: scanner).text(
                    redactor.shown(interaction), name: "interaction \(ordinal + 1) of \(file.lastPathComponent)")
            }
        }
        let error = RecordingEndedError(
            request: scanner.masked("\(request.method) \(request.url)"),
            length: response.body.bytes.count, file: file.relativePath,
            advice: adviceToRecord(or: "`CASSETTE=append` records it again"), report: recording ?? "")
        keep(error)
        return error
    }
}
