import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// The notes of a test: facts about its run that fail nothing by themselves.
extension Cassette {
    package var notesOfPassedTest: [String] {
        [noteOfLeftRecordings, mode == .append ? noteOfNoRequest : nil, noteOfImportLosses, noteOfSecrets]
            .compactMap(\.self)
    }

    var notesOfFailedTest: [String] {
        [noteOfFailedTest, noteOfNoRequest, noteOfImportLosses, noteOfSecrets, noteOfUnsentRequests].compactMap(\.self)
    }

    /// The note that a finished test has got while its answers were compared or written; nil if it has none.
    package var noteOfFinishedTest: String? { state.withLock(\.noteOfEnd) }

    /// The note for a test that has failed while the cassette sent its requests: nothing was recorded, and a failure of the
    /// connection needs a server.
    ///
    /// A test in ``CassetteMode/verify`` has the note only if the server has not answered.
    package var noteOfFailedTest: String? {
        let recordings = state.withLock { $0.recordings }
        let failure = recordings.lazy.compactMap(\.failureKind).first
        guard !recordings.isEmpty, [.append, .rewrite].contains(mode) || mode == .verify && failure != nil else {
            return nil
        }
        let purpose = mode == .verify ? "compare the answers with" : "record them in"
        let absence =
            stamp == nil && FileStamp(of: file) == nil
            ? ", which does not exist" : owners.isNewTest ? ", which has no recording of this test" : ""
        let outcome = failure.map { "; one was not answered (\($0))" } ?? ""
        return "The requests of this test were sent to \(purpose) \(file.relativePath)\(absence)\(outcome)."
            + (mode == .verify ? "" : " Nothing was written, since the test has failed.")
    }

    /// The note for a test that has sent no request to its cassette, whose client may have a transport of its own.
    private var noteOfNoRequest: String? {
        let isSilent = state.withLock { $0.requestCount == 0 && $0.recordings.isEmpty && $0.failures.isEmpty }
        let recorded = (0..<content.count).count(where: owners.areOf)
        let isUnexpected =
            mode == .replay
            ? recorded > 0 && rules.unused != .allow && (opening == nil || owners.hasOwn)
            : mode == .append && stamp == nil && opening == nil
        guard isSilent, isUnexpected else { return nil }
        return "The test has sent no request to its cassette \(file.relativePath), which has \(recorded) recorded."
    }

    /// The note for a test in ``CassetteMode/append`` that has left recordings of its own.
    ///
    /// They stay in the file, and the next run that replays it fails with them.
    private var noteOfLeftRecordings: String? {
        guard mode == .append, rules.unused != .allow else { return nil }
        let left = unplayed.filter { ordinal in
            (test.map { content.tests(of: ordinal).contains($0) } ?? true) && !mended.contains(ordinal)
        }
        guard !left.isEmpty else { return nil }
        return
            "This test no longer plays \(left.count) of its recordings in \(file.relativePath), so its next replay fails:"
            + "\(listed(left.map { shownTarget(at: $0, of: content) }))\nfix: record it anew with `\(rewriteCommand)`"
    }

    /// The note for a replayed file of another tool, of which its reader had to guess, change or leave out parts.
    ///
    /// The tests of a suite tell it once for a file, and rules that do not report losses accept them.
    private var noteOfImportLosses: String? {
        let losses = opened.losses
        guard mode == .replay, rules.reportsLosses, !losses.isEmpty,
            shared?.isFirst("losses of \(file.path)") ?? true
        else { return nil }
        let scanner = SecretScanner(rules)
        return
            "\(losses.count == 1 ? "1 part" : "\(losses.count) parts") of the foreign cassette \(file.relativePath) had to be "
            + "guessed, changed or left out:"
            + listed(losses.map { scanner.masked("\($0)").withoutControls }, upTo: 3)
            + "\nfix: record it anew on another file, or accept them with `rules.reportsLosses = false`"
    }

    private var noteOfSecrets: String? {
        guard mode == .replay else { return nil }
        let lines = SecretComparison(of: self).lines
        guard !lines.isEmpty else { return nil }
        let count = lines.count == 1 ? "1 request differs" : "\(lines.count) requests differ"
        return "\(count) in a secret from the recording of \(file.relativePath), which matches all the same:"
            + listed(lines, upTo: 3)
            + "\nfix: send the recorded secrets, for which any text may stand that the test gives, or "
            + adviceToRecord(or: "record the test anew with `\(rewriteCommand)`")
    }

    /// The note for a replayed test that has failed without a miss, and before it sent all recorded requests.
    ///
    /// A client sends some by itself: it follows a redirection, or repeats a request.
    private var noteOfUnsentRequests: String? {
        let left = unplayed.filter { !owners.foreign.contains($0) }
        guard mode == .replay, !left.isEmpty, state.withLock({ $0.failures.isEmpty && $0.requestCount > 0 }) else {
            return nil
        }
        return "The failed test has not sent these recorded requests of \(file.relativePath):"
            + "\(listed(left.map(shownRequest), upTo: 3))\nfix: if the client sends them by itself, put the layer that follows "
            + "redirections, or repeats requests, back into the stack"
    }

    /// The method, the URL and the line of a recorded request, as a note shows them.
    fileprivate func shownRequest(at ordinal: Int) -> String {
        shownTarget(at: ordinal, of: content) + InteractionPlace.suffix(line: content.line(of: ordinal))
    }
}

/// The secrets of replayed requests, compared with the recorded ones.
///
/// Requests are matched without their secrets, since those differ between two runs. So a recording also answers a request that
/// has lost its credentials, or that has another secret than the one that an answer before has given.
private struct SecretComparison {
    /// The values by their places: `Authorization`, and the names of secrets in content.
    private typealias Secrets = [String: Set<[UInt8]>]

    private static let authorization = "Authorization"
    /// The number of differences from which on the values are signatures of requests, and no secrets that an answer gives.
    private static let limit = 20

    private let cassette: Cassette
    private let answered: [Int: (number: Int, fields: HTTPFields, content: Data)]
    /// The places of the interactions that have answered, in the order of their requests.
    private let order: [Int]

    init(of cassette: Cassette) {
        self.cassette = cassette
        let answered = cassette.state.withLock(\.answered)
        self.answered = answered
        order = answered.sorted { $0.value.number < $1.value.number }.map(\.key)
    }

    var lines: [String] {
        var differences: [(index: Int, place: String, recorded: [UInt8], sent: [UInt8])] = []
        var lines: [(index: Int, line: String)] = []
        for (index, ordinal) in order.enumerated() {
            guard let sent = answered[ordinal], let recorded = try? cassette.content.request(at: ordinal) else {
                continue
            }
            let credentials = recorded.fields[.authorization]
            if credentials != nil, sent.fields[.authorization] == nil {
                lines.append((index, "\(cassette.shownRequest(at: ordinal)) lacks its `\(Self.authorization)`"))
            }
            let isSame = recorded.body.bytes == sent.content || sent.content.isEmpty
            guard !isSame || credentials != sent.fields[.authorization] else { continue }
            let new = secrets(of: sent.fields, sent.content)
            let old = secrets(of: recorded.fields, isSame ? Data() : recorded.body.bytes)
            for (place, values) in old.sorted(by: { $0.key < $1.key }) {
                guard values.count == 1, let value = values.first, Pseudonym.isPseudonym(value),
                    let others = new[place], others.count == 1, let other = others.first, other != value
                else { continue }
                differences.append((index, place, value, other))
            }
        }
        for (index, place, old, new) in differences.count <= Self.limit ? differences : [] {
            guard let giver = giver(of: old, replacedBy: new, at: place, before: order[..<index]) else { continue }
            let request = cassette.shownRequest(at: order[index])
            lines.append(
                (index, "\(request) lacks the secret that the answer to \(cassette.shownRequest(at: giver)) gives"))
        }
        return lines.sorted { $0.index < $1.index }.map(\.line)
    }

    private func secrets(of fields: HTTPFields, _ content: Data) -> Secrets {
        var secrets: Secrets = [:]
        if let value = fields[.authorization] {
            let found = RecordedRequest(method: "", url: "", fields: [.authorization: value])
                .placeholders(named: cassette.content.placeholders != nil)
            let token = value.split(separator: " ", maxSplits: 1).last.map { Array($0.utf8) }
            secrets[Self.authorization] = found.isEmpty ? token.map { [$0] } : found
        }
        // Another tool has names in place of secrets, which match any value.
        guard !content.isEmpty, cassette.content.placeholders == nil else { return secrets }
        // A value that was edited by hand may be a word.
        let noted = Pseudonyms(for: .noting(words: true))
        _ = cassette.rules.rewriting(by: noted).applied(to: content, mediaType: fields[.contentType])
        for secret in noted.noted {
            secrets[String(decoding: secret.name, as: UTF8.self), default: []].insert(secret.bytes)
        }
        return secrets
    }

    /// The interaction before a request whose answer gives the recorded secret, for which the request has another one.
    ///
    /// It is nil if the client has sent the secret before it was given, or if recorded messages have the other one in the same
    /// place: a token may be refreshed a little earlier or later.
    private func giver(
        of recorded: [UInt8], replacedBy sent: [UInt8], at place: String, before: ArraySlice<Int>
    ) -> Int? {
        let text = String(decoding: recorded, as: UTF8.self)
        for ordinal in before {
            guard let interaction = try? cassette.content.interaction(at: ordinal) else { continue }
            guard !interaction.request.placeholders(named: false).contains(recorded) else { return nil }
            guard let response = interaction.response,
                response.body.bytes.range(of: Data(recorded)) != nil
                    || response.fields.contains(where: { $0.value.contains(text) })
            else { continue }
            let given = names(of: recorded, response.fields, response.body)
            let isKnown = (0..<cassette.content.count).contains { index in
                guard let other = try? cassette.content.interaction(at: index) else { return false }
                return names(of: sent, other.request.fields, other.request.body).contains(place)
                    || other.response.map { !names(of: sent, $0.fields, $0.body).isDisjoint(with: given) } ?? false
            }
            return isKnown ? nil : ordinal
        }
        return nil
    }

    /// The places of a secret in a message; only content with its bytes is searched.
    private func names(of secret: [UInt8], _ fields: HTTPFields, _ body: RecordedBody) -> Set<String> {
        let content = body.bytes.range(of: Data(secret)) == nil ? Data() : body.bytes
        return Set(secrets(of: fields, content).filter { $0.value.contains(secret) }.keys)
    }
}
