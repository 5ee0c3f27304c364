import Decorum
import Foundation
import Synchronization

extension Cassette {
    /// Takes the interaction that answers a request.
    ///
    /// - Throws: ``CassetteMissError`` if no interaction does.
    func play(_ request: RecordedRequest) throws -> RecordedOutcome {
        let request = matchable(request)
        let (finding, number) = try take { try $0.take(request, recorded: $1) }
        return try outcome(of: finding, for: request, number: number)
    }

    /// Takes the interaction that answers one of several versions of a request; of several, the first in the file.
    ///
    /// - Throws: ``CassetteMissError`` if no interaction does.
    func play(anyOf versions: [RecordedRequest]) throws -> RecordedOutcome {
        let versions = versions.map(matchable)
        let (finding, number) = try take { try $0.take(anyOf: versions, recorded: $1) }
        return try outcome(of: finding, for: versions.first ?? RecordedRequest(method: "", url: ""), number: number)
    }

    /// Takes the interaction that answers a request; nil if there is none.
    func playIfRecorded(_ request: RecordedRequest) throws -> RecordedOutcome? {
        let request = matchable(request)
        guard case .interaction(let ordinal) = try take({ try $0.take(request, recorded: $1) }).finding else {
            return nil
        }
        return try content.outcome(at: ordinal)
    }

    private func matchable(_ request: RecordedRequest) -> RecordedRequest {
        redactor.matchable(rules.rewritten(request))
    }

    private func take(
        _ take: (_ index: inout PlaybackIndex, _ recorded: (Int) throws -> RecordedRequest) throws ->
            PlaybackIndex.Finding
    ) throws -> (finding: PlaybackIndex.Finding, number: Int) {
        try state.withLock { state in
            state.requestCount += 1
            let finding = try take(&state.index) {
                redactor.matchable(try content.request(at: $0, for: rules.matching))
            }
            return (finding, state.requestCount)
        }
    }

    private func outcome(
        of finding: PlaybackIndex.Finding, for request: RecordedRequest, number: Int
    ) throws -> RecordedOutcome {
        guard case .interaction(let ordinal) = finding else {
            let miss = try CassetteMissError(
                request, number: number, finding: finding, unplayed: Set(unplayed), in: self)
            switch rules.onMiss?(miss, request) ?? .fail {
            case .fail: keep(miss)
            case .tolerate: break
            case .answer(let response): return RecordedOutcome(response: response, failure: nil)
            }
            throw miss
        }
        return try content.outcome(at: ordinal)
    }

    /// Keeps the failure of a request, so that ``Cassette/finish()`` throws it whatever became of it.
    func keep(_ failure: any Error) {
        state.withLock { $0.failures.append(failure) }
    }

    /// The response of an interaction, or its failure.
    func played(_ outcome: RecordedOutcome, for request: RecordedRequest) async throws -> Response {
        guard let response = outcome.response else {
            try await outcome.failure?.play()
            throw CassetteError(file: file.relativePath, reason: "an interaction has neither a response nor an error")
        }
        guard let failure = outcome.failure else {
            return Response(playing: response, timing: rules.timing, clock: clock, fail: nil)
        }
        return Response(playing: response, timing: rules.timing, clock: clock) { [self] in
            guard failure.isCut else { return try await failure.play() }
            throw ended(response, for: request)
        }
    }

    /// The error of a test that reads more than is recorded, which is kept.
    private func ended(_ response: RecordedResponse, for request: RecordedRequest) -> RecordingEndedError {
        let request = matchable(request)
        let error = RecordingEndedError(
            request: SecretScanner(rules).masked("\(request.method) \(request.url)"),
            length: response.body.bytes.count, file: file.relativePath,
            advice: adviceToRecord(or: "CASSETTE=append records it again"))
        keep(error)
        return error
    }
}
