public import Decorum
import Foundation
import HTTPTypes
import Synchronization

extension Cassette {
    /// Takes the interaction that answers a request.
    ///
    /// - Throws: ``CassetteMissError`` if no interaction does.
    func play(_ request: RecordedRequest) throws -> RecordedOutcome {
        let matched = matchedAsWhole(request)
        let (finding, number) = try take(request, matched: matched.map { [$0] }, orElse: .missed)
        if case .interaction(let ordinal) = finding { return try outcome(at: ordinal, for: request) }
        return try missed(matched ?? matchable(request), finding, number: number)
    }

    /// Takes the interaction that answers one of several versions of a request; of several, the first in the file.
    ///
    /// - Throws: ``CassetteMissError`` if no interaction does.
    func play(anyOf versions: [RecordedRequest]) throws -> RecordedOutcome {
        let versions = versions.map(matchable)
        let first = versions.first ?? RecordedRequest(method: "", url: "")
        let (finding, number) = try take(first, matched: versions, orElse: .missed)
        if case .interaction(let ordinal) = finding { return try content.outcome(at: ordinal) }
        return try missed(first, finding, number: number)
    }

    /// Takes the interaction that answers a request; returns nil if no interaction does.
    func playIfRecorded(_ request: RecordedRequest) throws -> RecordedOutcome? {
        let matched = matchedAsWhole(request)
        let finding = try take(request, matched: matched.map { [$0] }, orElse: .sent).finding
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

    /// Takes the interaction that answers a request.
    ///
    /// `matched` are its versions as they are matched; nil for one whose target alone matters.
    private func take(
        _ request: RecordedRequest, matched: [RecordedRequest]?, orElse outcome: RequestExplanation.Outcome
    ) throws -> (finding: PlaybackIndex.Finding, number: Int) {
        let isOne = matched.map { $0.count == 1 } ?? true
        func recorded(_ ordinal: Int) throws -> RecordedRequest? {
            // The target is in the index already, so a request without content has nothing else to match.
            guard readsFields || content.hasContent(at: ordinal) else { return nil }
            return redactor.matchable(try content.request(at: ordinal))
        }
        func find(in index: inout PlaybackIndex) throws -> PlaybackIndex.Finding {
            if let matched, !isOne { return try index.take(anyOf: matched, recorded: recorded) }
            let preference = PlaceholderPreference(request: request, content: content)
            if let only = matched?.first { return try index.take(only, recorded: recorded, preferring: preference) }
            if let finding = try index.take(written: request, recorded: recorded, preferring: preference) {
                return finding
            }
            let target = RecordedRequest(method: request.method, url: redactor.matchable(url: request.url))
            return try index.take(target, recorded: recorded, preferring: preference)
        }
        let (finding, number, played) = try state.withLock { state in
            state.requestCount += 1
            let played = explainer == nil ? [] : state.index.played
            let finding = try find(in: &state.index)
            if case .interaction(let ordinal) = finding {
                state.replayCount += 1
                if state.answered[ordinal] == nil {
                    let isKept = isOne && request.body.bytes.count <= Self.keptLength
                    let content = isKept ? request.body.bytes : Data()
                    state.answered[ordinal] = (state.requestCount, request.fields, content)
                }
            }
            return (finding, state.requestCount, played)
        }
        if let explainer {
            let answer: RequestExplanation.Outcome? =
                if case .interaction(let ordinal) = finding { .answered(by: ordinal + 1) } else { nil }
            try explainer.explain(
                matched?.first ?? matchable(request), number: number, answer ?? outcome,
                played: played, in: self)
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

/// The change of a recorded answer for a request to another origin than the recorded one, as ``MatchingRule/pathAndQuery`` allows.
///
/// A client that follows a URL of the answer must stay at the server that it has asked. So a URL of the recorded origin gets
/// the origin of the request where a client follows it: in `Location`, `Content-Location` (RFC 9110) and `Link` (RFC 8288).
struct MovedOrigin {
    private static let fields = [.location, .contentLocation, HTTPField.Name("Link")].compactMap(\.self)

    private let recorded: Substring
    private let asked: Substring

    /// The change from the recorded URL to the live one; nil if their origins are the same.
    init?(from recorded: String, to asked: String) {
        // Nearly every URL is the recorded one, and to find an origin takes far longer than to compare.
        guard recorded != asked else { return nil }
        (self.recorded, self.asked) = (Self.origin(of: recorded), Self.origin(of: asked))
        guard !self.recorded.isEmpty, !self.asked.isEmpty, self.recorded != self.asked else { return nil }
    }

    func applied(to fields: HTTPFields) -> HTTPFields {
        var fields = fields
        for index in fields.indices where Self.fields.contains(fields[index].name) {
            fields[index].value = applied(to: fields[index].value)
        }
        return fields
    }

    /// A value in which each URL of the recorded origin has the other one; such a URL begins the value, or stands in `<` and `>`.
    private func applied(to value: String) -> String {
        var moved = ""
        var rest = value[...]
        while let found = rest.firstRange(of: recorded) {
            let (before, after) = (value[..<found.lowerBound].last, value[found.upperBound...].first)
            let isURL = before.map { $0 == "<" } ?? true
            let isWhole = after.map { "/?#>".contains($0) } ?? true
            moved += rest[..<found.lowerBound] + (isURL && isWhole ? asked : recorded)
            rest = rest[found.upperBound...]
        }
        return moved + rest
    }

    /// The scheme and the authority of a URL; empty for another text.
    static func origin(of url: String) -> Substring {
        guard let scheme = url.firstRange(of: "://") else { return "" }
        return url[..<(url[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? url.endIndex)]
    }
}

/// A test has played recordings that are older than the rules allow.
///
/// See ``CassetteRules/Expiry``.
public struct OutdatedRecordingsError: Error, Hashable, Sendable {
    /// The path of the cassette.
    public let file: String
    /// The day of each recording, with the method and the URL, redacted.
    public let recordings: [String]
    /// How to fix the cassette.
    let advice: String
}

extension OutdatedRecordingsError: DescribableError {
    /// Their number, their days and requests, and how to record them anew.
    public var description: String {
        "Of the cassette \(file), \(recordings.count) recording\(recordings.count == 1 ? " is" : "s are") older than the rules "
            + "allow:\(listed(recordings))\n"
            + "fix: \(advice); or raise `rules.expiry`"
    }
}

extension Cassette {
    /// Throws if recordings were played that are older than the rules allow.
    func checkAge() throws {
        let outdated = outdated
        guard !outdated.isEmpty else { return }
        let scanner = SecretScanner(rules)
        throw OutdatedRecordingsError(
            file: file.relativePath,
            recordings: try outdated.map { ordinal in
                let request = redactor.matchable(try content.request(at: ordinal))
                let day = content.recordedAt(ordinal).map(RecordedDay.text) ?? ""
                return scanner.masked("\(day)  \(request.method) \(request.url)")
            },
            advice: adviceToRecord(or: "`CASSETTE=rewrite` records it anew"))
    }
}
