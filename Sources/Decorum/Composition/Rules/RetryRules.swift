extension CompositionRule {
    /// Retries that never run, or that repeat what must not be repeated.
    static let retries = [
        tooFarOut(.retriesOutsideOfRedirections, .warning) { layer, other in
            layer.retries && other.role == .redirection
        } consequence: { layer, others in
            "After a failure at a later hop, \(layer) begins again at the first URL, with all hops of \(others)."
        },
        tooFarOut(.retriesOutsideOfCache, .error) { layer, other in
            layer.retries && other.role == .caching
        } consequence: { layer, others in
            "Where a stale response of \(others) stands in for a failure, \(layer) never sees the failure."
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
                let keyed = outer.having(.makesIdempotent).reduce(into: Set()) { $0.formUnion($1.layer.methods) }
                let methods = place.layer.methods.subtracting(keyed).map(\.rawValue).sorted()
                guard !methods.isEmpty else { return nil }
                let names = methods.map { "`\($0)`" }.listed
                let cases = methods.map { ["POST": ".post", "PATCH": ".patch"][$0] ?? ".init(\"\($0)\")!" }
                    .joined(separator: ", ")
                let key = methods.contains { $0 != "POST" && $0 != "PATCH" } ? "to: [\(cases)]" : ""
                return Fault(
                    severity: .error,
                    consequence:
                        "\(place.quotedName) sends requests with \(names) again although the server may have carried them "
                        + "out, so that an order is placed twice.",
                    change:
                        "Remove \(names) from `RetryPolicy.methods`, or write `.addingIdempotencyKey(\(key))` below the "
                        + "line of \(place.quotedName) if the server knows the field.")
            }),
        anywhere(.retriesWithoutBudget, .warning) {
            $0.has(.resendsWithoutBudget)
        } consequence: { layer in
            "\(layer) sends again as often as its policy allows, so that many clients keep an overloaded server down."
        } change: { _ in
            "Leave out `budget: .unlimited`, or write `budget: .perCall(2)` for a command that runs once."
        },
        each(
            .manySends, where: { !$0.isTransport && $0.has(.resends) },
            fault: { place, _, _ in
                let sends = place.layer.sends.upperBound
                let limit = place.layer.usualSends
                guard sends > limit else { return nil }
                return Fault(
                    severity: .warning,
                    consequence: "\(place.quotedName) may send one request "
                        + "\(sends == .max ? "without a limit" : "\(sends) times").",
                    change: "Lower its limit, so that it sends \(limit) times at most\(place.layer.advisedLimit).")
            }),
        tooFarIn(.keyForEachAttempt, .error) { layer, other in
            layer.has(.makesIdempotent) && other.retries
        } consequence: { layer, others in
            "\(layer) adds another key to each attempt of \(others), so that the server cannot tell that they are one call."
        },
        tooFarIn(.valueForEachAttempt, .warning) { layer, other in
            layer.has(.identifiesCalls) && layer.has(.variesPerSend) && !layer.has(.makesIdempotent) && other.retries
        } consequence: { layer, others in
            "\(layer) gives each attempt of \(others) an identifier of its own, so that the server cannot tell that they are "
                + "one call."
        },
        tooFarIn(.statusErrorTooEarly, .error) { layer, other in
            layer.role == .validation && (other.has(.readsStatus) || other.has(.decodesContent))
        } consequence: { layer, others in
            "\(layer) throws before the response reaches \(others), so that nothing reacts to its status or decodes the "
                + "words of the server."
        },
    ]
}

extension Layer {
    /// The number of times that one request may be sent without a warning: 48 redirections, or 10 retries.
    fileprivate var usualSends: Int { role == .redirection ? 50 : 12 }

    /// The setting of a layer of this package that keeps to the usual number.
    fileprivate var advisedLimit: String {
        switch name {
        case "followingRedirects": sharedState.isEmpty ? ": `upTo: 49` or less" : ": `upTo: 24` or less"
        case "retrying": ": `retries: 10` or less"
        default: ""
        }
    }
}
