extension CompositionRule {
    /// Host policies, cookies and refreshes that do not see the requests that they are about.
    static let hosts = [
        tooFarOut(.hostPolicyOutsideOfRedirections, .error) { layer, other in
            layer.role == .hostPolicy && other.role == .redirection
        } consequence: { layer, others in
            "\(layer) sees the first request of a call alone, so that the redirections that \(others) follows lead to any "
                + "host, also over http."
        },
        tooFarOut(.hostChangedTooLate, .error) { layer, other in
            (layer.has(.addsCredentials) || layer.has(.sharesResponses))
                && other.role == .hostPolicy && other.has(.changesSignedParts)
        } consequence: { layer, others in
            "\(layer) chooses a credential or a stored response for the origin that the request has before \(others) changes "
                + "it, so that another server gets the credential."
        },
        tooFarOut(.cookiesOutsideOfRedirections, .error) { layer, other in
            layer.role == .cookies && other.role == .redirection
        } consequence: { layer, others in
            "\(layer) does not see the hops of \(others): the cookies that they set are lost, as at many a login, and each hop "
                + "gets the cookies of the first URL."
        },
        tooFarIn(.cookiesInsideOfCache, .warning) { layer, other in
            layer.role == .cookies && other.has(.sharesResponses)
        } consequence: { layer, others in
            "\(layer) adds cookies too late for \(others): a stored response that varies by them is not found, and nothing is "
                + "stored or shared for a request with a cookie."
        },
        CompositionRule(hazard: .refreshThroughItself) { tree in
            tree.nodes.compactMap { node in
                guard node.layer.role == .authentication, !node.layer.sharedState.isEmpty else { return nil }
                let inner = tree.ownRequests(of: node).filter {
                    $0.layer.role == .authentication && !$0.layer.sharedState.isDisjoint(with: node.layer.sharedState)
                }
                guard let first = inner.first else { return nil }
                return Finding(
                    hazard: .refreshThroughItself, severity: .error, places: [node.place] + inner,
                    consequence:
                        "A refresh of \(node.place.quotedName) sends through \(first.quotedName), which uses the same "
                        + "credentials: it waits for itself, or begins a refresh of its own without end.",
                    change: "Remove \(first.quotedName) from the stack that the refresh sends through.", move: nil)
            }
        },
    ]
}
