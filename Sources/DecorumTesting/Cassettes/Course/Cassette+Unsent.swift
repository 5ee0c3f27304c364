import Foundation
import HTTPTypes
import Synchronization

extension Cassette {
    /// The note for a test that has failed although there is a recording of each request: the requests that the client sent
    /// by itself after an answer when the test was recorded, and has not sent now; nil if there are none.
    var noteOfUnsentRequests: String? {
        var hasStatus = false
        let lines = unsentRequests.compactMap { source, unsent, layer in
            (try? content.interaction(at: source)).map { interaction in
                hasStatus = hasStatus || interaction.failure == nil
                return
                    "after \(interaction.failureName) to \(shownRequest(at: source)): \(shownRequest(at: unsent)), which "
                    + "`\(layer)` sends"
            }
        }
        guard !lines.isEmpty else { return nil }
        let example = hasStatus ? ", such as `validatingStatus`, which turns a status into an error" : ""
        return
            "In the recording of \(file.relativePath), the client goes on after an answer, and has not done so now:"
            + "\(listed(lines))\nfix: if the test did not end before, put the layer back into the stack, or move it outside "
            + "of one that hides the answer from it\(example)"
    }

    /// The requests that were not sent, each with the played interaction whose answer they follow, and the layer that sends
    /// them; empty unless the test is replayed and no request has failed.
    ///
    /// They follow a redirection, repeat a request that has failed, or ask for a token after a refusal. A layer that is missing
    /// in the stack, or that does not see the answer, leaves them out.
    var unsentRequests: [(source: Int, unsent: Int, layer: String)] {
        let (answered, failures) = state.withLock { ($0.answered, $0.failures) }
        let left = unplayed.filter { !owners.foreign.contains($0) }
        guard mode == .replay, failures.isEmpty, !left.isEmpty else { return [] }
        let unsent = left.map { ordinal in (ordinal: ordinal, request: matchableRequest(at: ordinal)) }
        return answered.keys.sorted().compactMap { source -> (source: Int, unsent: Int, layer: String)? in
            guard let interaction = try? content.interaction(at: source),
                let (request, rules, layer) = consequence(of: interaction),
                let place = unsent.first(where: { other in
                    (opening != nil || other.ordinal > source)
                        && rules.allSatisfy { $0.key(other.request) == $0.key(request) }
                })
            else { return nil }
            return (source, place.ordinal, layer)
        }
    }

    /// The request by which a client goes on after an answer, the rules by which it is known, and the layer that sends it; nil
    /// if there is none.
    ///
    /// Of a request that follows a redirection, only the method and the URL are known.
    private func consequence(
        of interaction: Interaction
    ) -> (request: RecordedRequest, rules: [MatchingRule], layer: String)? {
        if let response = interaction.response, (300..<400).contains(response.status) {
            guard let target = FollowedField.location(in: response.fields)?.target(from: interaction.request.url) else {
                return nil
            }
            let request = RecordedRequest(method: "GET", url: redactor.matchable(url: target))
            let known = rules.matching.filter(\.readsTargetAlone)
            return known.contains { $0.subject == .url } ? (request, known, "followingRedirects") : nil
        }
        guard interaction.isTransientFailure else { return nil }
        return (
            redactor.matchable(interaction.request), rules.matching,
            interaction.isRefused ? "authenticating" : "retrying"
        )
    }

    private func matchableRequest(at ordinal: Int) -> RecordedRequest {
        (try? content.request(at: ordinal)).map { redactor.matchable($0) } ?? RecordedRequest(method: "", url: "")
    }
}
