extension CompositionRule {
    /// Responses in a cache that are not those of the server.
    static let caching = [
        tooFarOut(.cacheOutsideOfRedirections, .error) { layer, other in
            layer.role == .caching && other.role == .redirection
        } consequence: { layer, others in
            "\(layer) takes the response to which a redirection has led \(others) for that of the first URL, also after the "
                + "redirection has ended, and remembers no permanent redirection."
        },
        tooFarOut(.sharingOutsideOfCache, .information) { layer, other in
            layer.has(.sharesResponses) && layer.role != .caching && other.role == .caching
        } consequence: { layer, others in
            "All callers of \(layer) wait for one response and its body, where \(others) could answer each of them at once."
        },
        tooFarOut(.cacheOutsideOfDecoding, .warning) { layer, other in
            layer.role == .caching && other.has(.decodesContent) && !other.isTransport
        } consequence: { layer, others in
            "\(layer) stores the content as decoded by \(others): it takes more room, and has the `ETag` and the ranges of the "
                + "coded content."
        },
        tooFarOut(.cacheOutsideOfChanges, .warning) { layer, other in
            layer.role == .caching && other.has(.changesResponse)
                && !other.isTransport && other.role != .caching && !other.has(.decodesContent)
                && !other.has(.inventsAnswers)
        } consequence: { layer, others in
            "\(layer) stores the responses as changed by \(others), so that a change of the fields may let it keep what the "
                + "server forbids to keep."
        },
        tooFarOut(.cacheOutsideOfInvention, .error) { layer, other in
            layer.role == .caching && other.has(.inventsAnswers) && !other.isTransport && other.role != .caching
        } consequence: { layer, others in
            "\(layer) stores the answers invented by \(others), and gives them when the server can be reached again."
        },
        each(
            .stateUsedTwice, where: { $0.role == .caching },
            fault: { place, _, inner in
                let others = inner.filter { other in
                    other.layer.role == .caching
                        && !other.layer.sharedState.isDisjoint(with: place.layer.sharedState)
                }
                guard !others.isEmpty else { return nil }
                let names = ([place] + others).map(\.quotedName).listed
                return Fault(
                    severity: .warning, others: others,
                    consequence:
                        "\(names) use the same store, or stores over one directory, so that the inner one answers the "
                        + "outer one's question whether a response has changed, in place of the server.",
                    change: others.contains { $0.layer.name == place.layer.name }
                        ? "Remove one of them." : "Remove one of them, or give it a store of its own.")
            }),
    ]
}
