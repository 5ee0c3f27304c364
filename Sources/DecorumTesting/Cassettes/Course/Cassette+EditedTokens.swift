import Decorum
import Foundation
import HTTPTypes
import Synchronization

// A recorded answer gives a placeholder in place of a token, and the requests behind it have the same one. If it is edited
// in the answer alone, a replayed client sends another token than the recorded requests have.

extension Cassette {
    /// The note for requests that were recorded with a placeholder in `Authorization`, and have there a token that is none,
    /// which an answer before has given; nil if there are none.
    ///
    /// A token that no answer gives is one of the test itself, and any text may stand for it. So may a short word, which an
    /// answer may have by chance.
    func noteOfEditedTokens(_ recorded: [Int: HTTPFields]) -> String? {
        let (answered, sent) = state.withLock { ($0.answered, $0.sentFields.compactMapValues { $0[.authorization] }) }
        let tokens = sent.filter { placeholders(in: $0.value).isEmpty && isRecordedWithPlaceholder(recorded[$0.key]) }
            .compactMapValues(Self.token(of:)).filter { !Self.isShortWord($0.value) }
        let distinct = Set(tokens.values)
        // Many values are signatures, one for each request, and no tokens.
        guard !distinct.isEmpty, distinct.count <= Self.tokenLimit else { return nil }
        let order = answered.sorted { $0.value < $1.value }.map(\.key)
        let givers = answers(giving: distinct, among: order)
        let lines = tokens.keys.sorted().compactMap { ordinal -> String? in
            guard let giver = tokens[ordinal].flatMap({ givers[$0] }), let given = answered[giver],
                let number = answered[ordinal], given < number
            else { return nil }
            return shownRequest(at: ordinal) + " has a value that the recorded answer to " + shownRequest(at: giver)
                + " gives, which is no placeholder"
        }
        return noteOfDifferences(
            lines, in: "the token of `Authorization`", matchedWithout: "credentials",
            fix: "if the recorded answer was edited, write the placeholder of the recorded requests in it; else")
    }

    /// The largest number of tokens that are sought in answers.
    private static var tokenLimit: Int { 20 }

    private static func isShortWord(_ token: String) -> Bool {
        token.count < 12 && PlainWord.isPlain(Array(token.utf8))
    }

    private func isRecordedWithPlaceholder(_ recorded: HTTPFields?) -> Bool {
        recorded?[.authorization].map { !placeholders(in: $0).isEmpty } ?? false
    }

    /// The first of some answers that gives each token, as the value of a name of secrets.
    private func answers(giving tokens: Set<String>, among ordinals: [Int]) -> [String: Int] {
        var left = tokens
        var givers: [String: Int] = [:]
        for ordinal in ordinals where !left.isEmpty {
            guard let response = (try? content.outcome(at: ordinal))?.response else { continue }
            let held = left.filter { response.body.bytes.range(of: Data($0.utf8)) != nil }
            guard !held.isEmpty else { continue }
            // A token that was edited by hand may be a word.
            let noted = NotedSecrets(notesWords: true)
            let search = SecretRewriting(rules.redaction, by: noted, allowing: rules.allowedSecrets)
            _ = search.applied(to: response.body.bytes, mediaType: response.fields[.contentType])
            let given = Set(noted.secrets.map(\.bytes))
            for token in held where given.contains(Array(token.utf8)) {
                givers[token] = ordinal
                left.remove(token)
            }
        }
        return givers
    }

    /// The part of credentials behind their scheme; nil if there is none.
    private static func token(of credentials: String) -> String? {
        credentials.split(separator: " ", maxSplits: 1).last.map(String.init)
    }
}
