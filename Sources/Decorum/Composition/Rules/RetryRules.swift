extension CompositionRule {
    /// Retries that multiply, that never run, or that repeat what must not be repeated.
    static let retries = [
        each(
            .retriesMultiply, where: \.retries,
            fault: { place, _, inner in
                let others = inner.filter { $0.layer.retries }
                guard !others.isEmpty else { return nil }
                let layers = [place] + others
                let sends = layers.reduce(1) { product, place in
                    let (next, overflows) = product.multipliedReportingOverflow(by: place.layer.sends.upperBound)
                    return overflows ? .max : next
                }
                // One budget for all of them ends the multiplication soon.
                let state = others.reduce(place.layer.sharedState) { $0.intersection($1.layer.sharedState) }
                return Fault(
                    severity: state.isEmpty ? .warning : .information, others: others,
                    consequence: "\(layers.map(\.layer.quotedName).listed) multiply: one call may be sent "
                        + "\(sends == .max ? "without a limit" : "\(sends) times").",
                    change: "Remove all but one of them.")
            }),
        tooFarOut(.retriesOutsideOfRedirections, .warning) { layer, other in
            layer.retries && other.role == .redirection
        } consequence: { layer, others in
            "After a failure at a later hop, \(layer) begins again at the first URL, and \(others) repeats all hops."
        },
        tooFarOut(.retriesOutsideOfCache, .error) { layer, other in
            layer.retries && other.role == .caching
        } consequence: { layer, others in
            "Where \(others) answers with a stale response in place of a failure, \(layer) never sees the failure."
        },
        tooFarOut(.retriesOutsideOfAnswers, .error) { layer, other in
            layer.retries && (other.has(.answers) || other.has(.inventsAnswers))
                && !other.isTransport && other.role != .caching && !other.has(.sharesResponses)
        } consequence: { layer, others in
            "\(others) may answer in place of a failure, which \(layer) then never sees."
        },
        tooFarOut(.retriesOutsideOfSharing, .warning) { layer, other in
            layer.retries && other.role != .caching && other.has(.sharesResponses)
        } consequence: { layer, others in
            "Each caller who gets the failure of one request from \(others) sends it again by \(layer) on its own."
        },
        each(
            .unsafeMethodsRepeated, where: { $0.has(.repeatsUnsafeMethods) },
            fault: { place, outer, _ in
                guard !outer.contains({ $0.has(.makesIdempotent) }) else { return nil }
                return Fault(
                    severity: .error,
                    consequence:
                        "\(place.layer.quotedName) sends requests such as a `POST` again although the server may have "
                        + "carried them out, so that an order is placed twice.",
                    change:
                        "Remove the unsafe methods from `RetryPolicy.methods`, or write `.addingIdempotencyKey()` below the "
                        + "line of \(place.layer.quotedName) if the server knows the field.")
            }),
        each(
            .retriesWithoutBudget, where: { $0.has(.resendsWithoutBudget) },
            fault: { place, _, _ in
                Fault(
                    severity: .warning,
                    consequence:
                        "\(place.layer.quotedName) sends again as often as its policy allows, so that many clients keep "
                        + "an overloaded server down.",
                    change:
                        "Leave out `budget: .unlimited`, or write `budget: .perCall(2)` for a command that runs once.")
            }),
        each(
            .manySends, where: { !$0.isTransport && $0.has(.resends) },
            fault: { place, _, _ in
                let limit = place.layer.role == .redirection ? 50 : 12
                guard place.layer.sends.upperBound > limit else { return nil }
                let bound = place.layer.sends.upperBound
                return Fault(
                    severity: .warning,
                    consequence: "\(place.layer.quotedName) may send one call "
                        + "\(bound == .max ? "without a limit" : "\(bound) times").",
                    change: "Lower its limit to \(limit) or less.")
            }),
        tooFarIn(.keyForEachAttempt, .error) { layer, other in
            layer.has(.makesIdempotent) && other.retries
        } consequence: { layer, others in
            "\(layer) adds another key to each attempt of \(others), so that the server cannot tell that they are one call."
        },
        tooFarIn(.valueForEachAttempt, .warning) { layer, other in
            layer.role == .preparation && layer.has(.variesPerSend)
                && !layer.has(.makesIdempotent) && !layer.has(.addsCredentials) && other.retries
        } consequence: { layer, others in
            "\(layer) gives each attempt of \(others) a value of its own, so that the server cannot tell that they are one "
                + "call."
        },
        each(
            .statusErrorTooEarly, where: { $0.role == .validation },
            fault: { place, outer, _ in
                let others = outer.filter { $0.layer.has(.readsStatus) || ($0.layer.has(.decodesContent)) }
                guard let outermost = others.first else { return nil }
                let name = place.layer.quotedName
                return Fault(
                    severity: .error, others: others,
                    consequence:
                        "\(name) throws before the response reaches \(others.map(\.layer.quotedName).listed), so that "
                        + "nothing reacts to its status or decodes the words of the server.",
                    move: .outside(of: outermost))
            }),
    ]
}
