import Decorum
import Foundation
import HTTPTypes
import Synchronization

// A recorded answer gives a placeholder in place of a secret, and a replayed client sends it on. Secrets are matched as one
// text, so a recording also answers a request with another one.

extension Cassette {
    /// The note for requests whose content lacks the secret that an answer before has given and that they were recorded with,
    /// and for those that have a given secret where another one was recorded which no answer gives; nil if there are none.
    ///
    /// A secret that the client has sent before any answer had it is its own, and any text may stand for it.
    func noteOfGivenSecrets(_ recorded: [Int: RecordedRequest]) -> String? {
        guard content.placeholders == nil else { return nil }
        let differences = secretsOfContent(recorded) + secretsOfCredentials(recorded)
        guard !differences.isEmpty, differences.count <= Self.differenceLimit else { return nil }
        let answered = state.withLock(\.answered)
        let answers = answers(in: answered)
        var isLost = false
        let lines = differences.sorted { $0.ordinal < $1.ordinal }.compactMap { difference -> String? in
            let number = answered[difference.ordinal] ?? 0
            let before = answers.prefix { answered[$0.ordinal] ?? 0 < number }
            if let giver = giver(lostIn: difference, among: answers, before: before, recorded) {
                isLost = true
                return shownRequest(at: difference.ordinal)
                    + " lacks the \(difference.words) that the recorded answer to "
                    + shownRequest(at: giver) + " gives, and has another one"
            }
            guard Pseudonym.isPseudonym(difference.sent),
                let giver = before.first(where: { $0.response.holds(difference.sent) })?.ordinal, isUnknown(difference)
            else { return nil }
            return shownRequest(at: difference.ordinal) + " has the \(difference.words) that the recorded answer to "
                + shownRequest(at: giver) + " gives, and was recorded with one that no recorded answer gives"
        }
        return noteOfDifferences(
            lines, in: "a secret", matchedWithout: "secrets",
            fix: (isLost ? "send the secret that the answer gives; " : "")
                + "if the file was edited, restore it; else")
    }

    /// The largest number of secrets that are sought in answers.
    private static var differenceLimit: Int { 20 }

    /// The answers that were played, in the order of their requests, which have numbers.
    private func answers(in answered: [Int: Int]) -> [(ordinal: Int, response: RecordedResponse)] {
        let order = answered.sorted { $0.value < $1.value }.map(\.key)
        return order.compactMap { ordinal -> (ordinal: Int, response: RecordedResponse)? in
            guard let response = (try? content.outcome(at: ordinal))?.response else { return nil }
            return (ordinal, response)
        }
    }

    /// The secrets of content that differ from the recorded placeholders of the same names.
    private func secretsOfContent(_ recorded: [Int: RecordedRequest]) -> [SecretDifference] {
        let (contents, fields) = state.withLock { ($0.sentContent, $0.sentFields) }
        return contents.flatMap { ordinal, sent -> [SecretDifference] in
            guard let request = recorded[ordinal], request.body.bytes != sent else { return [] }
            let old = secrets(in: request.body.bytes, request.fields[.contentType])
            let new = secrets(in: sent, fields[ordinal]?[.contentType])
            return old.compactMap { name, values -> SecretDifference? in
                guard values.count == 1, let value = values.first, Pseudonym.isPseudonym(value),
                    let others = new[name], others.count == 1, let other = others.first, other != value
                else { return nil }
                return SecretDifference(ordinal: ordinal, name: name, recorded: value, sent: other)
            }
        }
    }

    /// The placeholders of `Authorization` that differ from the recorded ones.
    private func secretsOfCredentials(_ recorded: [Int: RecordedRequest]) -> [SecretDifference] {
        state.withLock(\.sentFields).compactMap { ordinal, fields -> SecretDifference? in
            guard let value = fields[.authorization], let old = recorded[ordinal]?.fields[.authorization], old != value
            else { return nil }
            let (new, known) = (placeholders(in: value), placeholders(in: old))
            guard new.count == 1, known.count == 1, let sent = new.first, let recorded = known.first, sent != recorded
            else { return nil }
            return SecretDifference(ordinal: ordinal, name: nil, recorded: recorded, sent: sent)
        }
    }

    /// The first answer that gives a recorded secret of content which a request lacks; nil if none does, or if the one that
    /// the request has may be a later one of the same kind.
    private func giver(
        lostIn difference: SecretDifference, among answers: [(ordinal: Int, response: RecordedResponse)],
        before: ArraySlice<(ordinal: Int, response: RecordedResponse)>, _ recorded: [Int: RecordedRequest]
    ) -> Int? {
        guard let name = difference.name,
            let place = before.firstIndex(where: { $0.response.holds(difference.recorded) }),
            !before[...place].contains(where: { answer in
                recorded[answer.ordinal]?.placeholders(named: false).contains(difference.recorded) ?? true
            })
        else { return nil }
        let isOfSameKind =
            answers.contains { _, response in
                response.holds(difference.sent)
                    && secrets(in: response.body.bytes, response.fields[.contentType])[name]?
                        .contains(difference.sent) ?? false
            }
            || (0..<content.count).contains { ordinal in
                guard content.hasContent(at: ordinal), let request = try? content.request(at: ordinal) else {
                    return false
                }
                return secrets(in: request.body.bytes, request.fields[.contentType])[name]?
                    .contains(difference.sent) ?? false
            }
        return isOfSameKind ? nil : before[place].ordinal
    }

    /// Whether no recorded answer gives the recorded secret, and no recorded request has the one that was sent.
    private func isUnknown(_ difference: SecretDifference) -> Bool {
        !(0..<content.count).contains { ordinal in
            guard let interaction = try? content.interaction(at: ordinal) else { return true }
            return interaction.response?.holds(difference.recorded) ?? false
                || interaction.request.placeholders(named: false).contains(difference.sent)
        }
    }

    /// The values under the names of secrets in content, by their names.
    private func secrets(in bytes: Data, _ mediaType: String?) -> [String: Set<[UInt8]>] {
        // A value that was edited by hand may be a word.
        let noted = NotedSecrets(notesWords: true)
        _ = SecretRewriting(rules.redaction, by: noted, allowing: rules.allowedSecrets)
            .applied(to: bytes, mediaType: mediaType)
        return noted.secrets.reduce(into: [:]) { secrets, secret in
            secrets[String(decoding: secret.name, as: UTF8.self), default: []].insert(secret.bytes)
        }
    }
}

/// A secret of a request that is another one than the recorded placeholder.
private struct SecretDifference {
    let ordinal: Int
    /// The name in content; nil for `Authorization`.
    let name: String?
    let recorded: [UInt8]
    let sent: [UInt8]

    /// The words for the place.
    var words: String { name.map { "`\($0)`" } ?? "token in `Authorization`" }
}

extension RecordedResponse {
    /// Whether the content or a field has some bytes.
    fileprivate func holds(_ secret: [UInt8]) -> Bool {
        let text = String(decoding: secret, as: UTF8.self)
        return body.bytes.range(of: Data(secret)) != nil || fields.contains { $0.value.contains(text) }
    }
}
