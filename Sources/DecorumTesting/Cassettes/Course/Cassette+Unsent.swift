import Foundation
import HTTPTypes
import Synchronization

extension Cassette {
    /// The note for a test that has failed although there is a recording of each request: the requests that the client sent
    /// by itself after an answer when the test was recorded, and has not sent now; nil if there are none.
    ///
    /// They follow a redirection, repeat a request that has failed, or ask for a token after a refusal. A layer that is missing
    /// in the stack, or that does not see the answer, leaves them out.
    var noteOfUnsentRequests: String? {
        let (answered, failures) = state.withLock { ($0.answered, $0.failures) }
        let left = unplayed.filter { !owners.foreign.contains($0) }
        guard mode == .replay, failures.isEmpty, !left.isEmpty else { return nil }
        let unsent = Dictionary(grouping: left) { shownTarget(at: $0) }
        var hasStatus = false
        let lines = answered.keys.sorted().compactMap { source -> String? in
            guard let interaction = try? content.interaction(at: source),
                let (target, layer) = consequence(of: interaction, at: source),
                let ordinal = unsent[target]?.first(where: { opening != nil || $0 > source })
            else { return nil }
            hasStatus = hasStatus || interaction.failure == nil
            return
                "after \(interaction.failureName) to \(shownRequest(at: source)): \(shownRequest(at: ordinal)), which "
                + "`\(layer)` sends"
        }
        guard !lines.isEmpty else { return nil }
        let example = hasStatus ? ", such as `validatingStatus`, which turns a status into an error" : ""
        return
            "In the recording of \(file.relativePath), the client goes on after an answer, and has not done so now:"
            + "\(listed(lines))\nfix: if the test did not end before, put the layer back into the stack, or move it outside "
            + "of one that hides the answer from it\(example)"
    }

    /// The request by which a client goes on after an answer, and the layer that sends it; nil if there is none.
    private func consequence(of interaction: Interaction, at ordinal: Int) -> (target: String, layer: String)? {
        if let response = interaction.response, (300..<400).contains(response.status) {
            let target = FollowedField.location(in: response.fields)?.target(from: interaction.request.url)
            return target.map { ("GET \(redactor.matchable(url: $0))", "followingRedirects") }
        }
        guard interaction.isTransientFailure else { return nil }
        return (shownTarget(at: ordinal), interaction.isRefused ? "authenticating" : "retrying")
    }

    private func shownTarget(at ordinal: Int) -> String {
        (try? content.target(at: ordinal)).map { redactor.matchable($0) }.map { "\($0.method) \($0.url)" } ?? ""
    }
}
