import Foundation
import HTTPTypes
import Synchronization

extension Cassette {
    /// The note for a test that has failed although there is a recording of each request: the requests that the client sent
    /// by itself after an answer when the test was recorded, and has not sent now; nil if there are none.
    func noteOfUnsentRequests(_ requests: [UnsentRequest]) -> String? {
        var (hasStatus, lacksToken) = (false, false)
        let lines = requests.compactMap { source, unsent, layer in
            (try? content.interaction(at: source)).map { interaction in
                hasStatus = hasStatus || interaction.failure == nil
                let token = layer == Self.authenticating ? unsentRequestForToken(behind: source) : nil
                lacksToken = lacksToken || token != nil
                return
                    "after \(interaction.failureName) to \(shownRequest(at: source)): "
                    + (token.map { "\(shownRequest(at: $0)), which asks for a token, and " } ?? "")
                    + "\(shownRequest(at: unsent)), which `\(layer)` sends"
            }
        }
        guard !lines.isEmpty else { return nil }
        let example = hasStatus ? ", such as `validatingStatus`, which turns a status into an error" : ""
        return
            "In the recording of \(file.relativePath), the client goes on after an answer, and has not done so now:"
            + "\(listed(lines))\nfix: if the test did not end before, put the layer back into the stack, or move it outside "
            + "of one that hides the answer from it\(example)"
            + (lacksToken ? "; if the layer is there, find out why the source of its tokens asks for none" : "")
    }

    private static let authenticating = "authenticating"

    /// The first recorded request of the test behind a refusal that gets a token, and was not sent; nil if there is none.
    ///
    /// A shared file does not tell the order.
    private func unsentRequestForToken(behind source: Int) -> Int? {
        unplayed.first { ordinal in
            !owners.foreign.contains(ordinal) && (opening != nil || ordinal > source)
                && (try? content.interaction(at: ordinal))?.givesToken == true
        }
    }

    /// A request that was not sent, with the played interaction whose answer it follows, and the layer that sends it.
    typealias UnsentRequest = (source: Int, unsent: Int, layer: String)

    /// The requests that were not sent; empty unless the test is replayed and no request has failed.
    ///
    /// They follow a redirection, repeat a request that has failed, or ask for a token after a refusal. A layer that is missing
    /// in the stack, or that does not see the answer, leaves them out.
    var unsentRequests: [UnsentRequest] {
        let (answered, failures) = state.withLock { ($0.answered, $0.failures) }
        let left = unplayed.filter { !owners.foreign.contains($0) }
        guard mode == .replay, failures.isEmpty, !left.isEmpty else { return [] }
        let leads = answered.keys.sorted().compactMap { source in
            (try? content.interaction(at: source)).flatMap { consequence(of: $0) }.map { (source: source, next: $0) }
        }
        guard !leads.isEmpty else { return [] }
        let unsent = left.map { ordinal in (ordinal: ordinal, request: matchableRequest(at: ordinal)) }
        var byRequest = RequestIndex(unsent, by: rules.matching)
        var byTarget = RequestIndex(unsent, by: rules.matching.filter(\.readsTargetAlone))
        return leads.compactMap { source, next -> UnsentRequest? in
            // A shared file does not tell the order.
            let start = opening == nil ? source + 1 : 0
            let place =
                next.isTarget
                ? byTarget.first(like: next.request, from: start) : byRequest.first(like: next.request, from: start)
            return place.map { (source, $0, next.layer) }
        }
    }

    /// The request by which a client goes on after an answer, and the layer that sends it; nil if there is none.
    ///
    /// Of a request that follows a redirection, only the target is known: the method and the URL.
    private func consequence(
        of interaction: Interaction
    ) -> (request: RecordedRequest, isTarget: Bool, layer: String)? {
        if let response = interaction.response, (300..<400).contains(response.status) {
            guard let target = interaction.location else { return nil }
            let request = RecordedRequest(method: "GET", url: redactor.matchable(url: target))
            return rules.matching.contains { $0.subject == .url } ? (request, true, "followingRedirects") : nil
        }
        guard interaction.isTransientFailure else { return nil }
        return (
            redactor.matchable(interaction.request), false,
            interaction.isRefused ? Self.authenticating : "retrying"
        )
    }

    private func matchableRequest(at ordinal: Int) -> RecordedRequest {
        (try? content.request(at: ordinal)).map { redactor.matchable($0) } ?? RecordedRequest(method: "", url: "")
    }
}
