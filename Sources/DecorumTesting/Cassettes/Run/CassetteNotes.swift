import Decorum
import Foundation
import HTTPTypes
import Synchronization

// A note is a fact about the run of a test that fails nothing by itself.

extension Cassette {
    /// The notes for a test that has passed.
    package var notesOfPassedTest: [String] {
        [noteOfLeftRecordings, mode == .append ? noteOfNoRequest : nil, noteOfImportLosses, noteOfSecrets]
            .compactMap(\.self)
    }

    /// The notes for a test that has failed.
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

    /// The note for replayed requests that were recorded with other secrets.
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

    /// The method, the URL and the line of a recorded request, as a note shows them.
    fileprivate func shownRequest(at ordinal: Int) -> String {
        shownTarget(at: ordinal, of: content) + InteractionPlace.suffix(line: content.line(of: ordinal))
    }
}

// MARK: - Requests that were not sent

extension Cassette {
    /// The note for a replayed test without a miss: the requests that the client sent by itself after an answer when the test
    /// was recorded, and has not sent now.
    ///
    /// They follow a redirection, repeat a request that has failed, or repeat it with a token after a refusal. A layer that is
    /// missing in the stack, or that does not see the answer, leaves them out.
    var noteOfUnsentRequests: String? {
        let (answered, failures) = state.withLock { ($0.answered, $0.failures) }
        let left = unplayed.filter { !owners.foreign.contains($0) }
        guard mode == .replay, failures.isEmpty, !left.isEmpty else { return nil }
        let leads = answered.keys.sorted().compactMap { source in
            (try? content.interaction(at: source)).flatMap(lead).map { (source, $0) }
        }
        guard !leads.isEmpty else { return nil }
        func key(_ request: RecordedRequest, _ rules: [MatchingRule]) -> [[UInt8]] { rules.map { $0.key(request) } }
        let requests = left.compactMap { ordinal in
            (try? content.request(at: ordinal)).map { (ordinal, redactor.matchable($0)) }
        }
        let places = [rules.matching, rules.matching.filter(\.readsTargetAlone)].map { rules in
            (rules, Dictionary(grouping: requests) { key($0.1, rules) }.mapValues { $0.map(\.0)[...] })
        }
        var unsent = places.map(\.1)
        let lines = leads.compactMap { source, lead -> String? in
            let index = lead.isTarget ? 1 : 0
            let key = key(lead.request, places[index].0)
            // A shared file does not tell the order. The places before this one are not asked for again.
            while opening == nil, let first = unsent[index][key]?.first, first <= source {
                unsent[index][key]?.removeFirst()
            }
            return unsent[index][key]?.first.map { ordinal in
                "\(shownRequest(at: ordinal)), which `\(lead.layer)` sends after the answer to \(shownRequest(at: source))"
            }
        }
        guard !lines.isEmpty else { return nil }
        return
            "The recording of \(file.relativePath) has requests that the client sent by itself, and has not sent now:"
            + "\(listed(lines))\nfix: put the layer back into the stack, or outside of one that hides the answer from it"
    }

    /// The request by which a client goes on after an answer, and the layer that sends it.
    ///
    /// Of a request that follows a redirection, only the target is known: the method and the URL.
    private func lead(from interaction: Interaction) -> (request: RecordedRequest, isTarget: Bool, layer: String)? {
        if let response = interaction.response, (300..<400).contains(response.status) {
            let target = response.fields[.location].flatMap { location in
                URL(string: interaction.request.url).flatMap { URL(string: location, relativeTo: $0) }
            }
            guard let target, rules.matching.contains(where: { $0.subject == .url }) else { return nil }
            let url = String(target.absoluteString.prefix { $0 != "#" })
            return (RecordedRequest(method: "GET", url: redactor.matchable(url: url)), true, "followingRedirects")
        }
        guard interaction.isTransientFailure else { return nil }
        return (redactor.matchable(interaction.request), false, interaction.isRefused ? "authenticating" : "retrying")
    }
}

// MARK: - Secrets of requests

/// The secrets of replayed requests, compared with the recorded ones.
///
/// Requests are matched without their secrets, since those differ between two runs. So a recording also answers a request that
/// has lost its credentials, or that has another secret than the one that an answer before has given.
private struct SecretComparison {
    /// The values by their places: `Authorization`, and the names of secrets in content.
    typealias Secrets = [String: Set<[UInt8]>]

    private static let authorization = "Authorization"
    /// The number of differences from which on the values are signatures of requests, and no secrets that an answer gives.
    private static let limit = 20
    /// The least length of a value without the mark of a placeholder that is no word of the test itself.
    private static let leastLength = 12

    private let cassette: Cassette
    /// The places of the interactions that have answered, in the order of their requests.
    private let order: [Int]
    private let sent: [Int: (fields: HTTPFields, content: Data)]

    init(of cassette: Cassette) {
        self.cassette = cassette
        let (answered, fields, content) = cassette.state.withLock { ($0.answered, $0.sentFields, $0.sentContent) }
        order = answered.sorted { $0.value < $1.value }.map(\.key)
        sent = fields.reduce(into: [:]) { $0[$1.key] = ($1.value, content[$1.key] ?? Data()) }
    }

    /// A line for each request with a difference, in the order of the requests.
    var lines: [String] {
        var differences: [(index: Int, place: String, recorded: [UInt8], sent: [UInt8])] = []
        var lines: [(index: Int, line: String)] = []
        for (index, ordinal) in order.enumerated() {
            guard let sent = sent[ordinal], let recorded = try? cassette.content.request(at: ordinal) else { continue }
            let credentials = recorded.fields[.authorization]
            if credentials != nil, sent.fields[.authorization] == nil {
                lines.append((index, "\(cassette.shownRequest(at: ordinal)) lacks its `\(Self.authorization)`"))
            }
            let isSame = recorded.body.bytes == sent.content || sent.content.isEmpty
            guard !isSame || credentials != sent.fields[.authorization] else { continue }
            let (old, new) = (
                secrets(of: recorded.fields, isSame ? Data() : recorded.body.bytes),
                secrets(of: sent.fields, sent.content)
            )
            for (place, values) in old.sorted(by: { $0.key < $1.key }) {
                guard values.count == 1, let value = values.first, Pseudonym.isPseudonym(value),
                    let others = new[place], others.count == 1, let other = others.first, other != value
                else { continue }
                differences.append((index, place, value, other))
            }
        }
        for (index, place, old, new) in differences.count <= Self.limit ? differences : [] {
            guard let words = words(old, new, place, before: order[..<index]) else { continue }
            lines.append((index, "\(cassette.shownRequest(at: order[index])) \(words)"))
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
        _ = SecretRewriting(cassette.rules.redaction, by: noted, allowing: cassette.rules.allowedSecrets)
            .applied(to: content, mediaType: fields[.contentType])
        for secret in noted.noted {
            secrets[String(decoding: secret.name, as: UTF8.self), default: []].insert(secret.bytes)
        }
        return secrets
    }

    /// The words for a secret in place of a recorded one, behind the answers to earlier requests; nil if it tells nothing:
    /// a token may be refreshed a little earlier or later, and any text may stand for a secret of the test itself.
    private func words(_ recorded: [UInt8], _ sent: [UInt8], _ place: String, before: ArraySlice<Int>) -> String? {
        let answers = before.compactMap { ordinal in
            (try? cassette.content.outcome(at: ordinal))?.response.map { (ordinal, $0) }
        }
        let isMarked = Pseudonym.isPseudonym(sent)
        let giver = answers.first { Self.holds(recorded, $1.fields, $1.body) }
        let source =
            isMarked
            ? answers.first { Self.holds(sent, $1.fields, $1.body) }
            : sent.count < Self.leastLength ? nil : answers.first { !names(of: sent, $1.fields, $1.body).isEmpty }
        guard giver != nil || source != nil || isMarked else { return nil }
        let all = (0..<cassette.content.count).compactMap { try? cassette.content.interaction(at: $0) }
        guard !all.contains(where: { names(of: sent, $0.request.fields, $0.request.body).contains(place) }) else {
            return nil
        }
        if let (ordinal, response) = giver {
            let isOwn =
                before.prefix { $0 != ordinal }.contains { holds(recorded, at: $0) } || holds(recorded, at: ordinal)
            let known = names(of: recorded, response.fields, response.body)
            let isLater = all.contains { interaction in
                interaction.response.map { !names(of: sent, $0.fields, $0.body).isDisjoint(with: known) } ?? false
            }
            return isOwn || isLater
                ? nil : "lacks the secret that the answer to \(cassette.shownRequest(at: ordinal)) gives"
        }
        let isGiven = all.contains { $0.response.map { Self.holds(recorded, $0.fields, $0.body) } ?? false }
        if let (ordinal, _) = source, !isGiven {
            return
                "has the secret that the answer to \(cassette.shownRequest(at: ordinal)) gives, and not the recorded one"
        }
        let isKnown = isMarked && all.contains { $0.request.placeholders(named: false).contains(sent) }
        return isKnown ? "has a secret that recorded requests have in another place" : nil
    }

    /// Whether a recorded request has a placeholder.
    private func holds(_ placeholder: [UInt8], at ordinal: Int) -> Bool {
        (try? cassette.content.request(at: ordinal))?.placeholders(named: false).contains(placeholder) ?? false
    }

    /// The places of a secret in a message; only content with its bytes is searched.
    private func names(of secret: [UInt8], _ fields: HTTPFields, _ body: RecordedBody) -> Set<String> {
        let content = body.bytes.range(of: Data(secret)) == nil ? Data() : body.bytes
        return Set(secrets(of: fields, content).filter { $0.value.contains(secret) }.keys)
    }

    /// Whether the content or a field of a message has some bytes.
    private static func holds(_ secret: [UInt8], _ fields: HTTPFields, _ body: RecordedBody) -> Bool {
        let text = String(decoding: secret, as: UTF8.self)
        return body.bytes.range(of: Data(secret)) != nil || fields.contains { $0.value.contains(text) }
    }
}
