extension CompositionRule {
    /// Credentials that go too far or nowhere, and users who are not told apart.
    static let credentials = [
        each(
            .credentialsForEveryOrigin, where: { $0.has(.addsCredentials) && !$0.has(.bindsToOrigins) },
            fault: { place, outer, _ in
                let redirections = outer.filter { $0.layer.role == .redirection }
                guard let redirection = redirections.first else { return nil }
                return Fault(
                    severity: .error, others: redirections,
                    consequence: "\(place.quotedName) adds its credential to every request, also to those that "
                        + "\(redirection.quotedName) sends to another server, which a response has named.",
                    change:
                        "Add the credential with `authenticating(with:for:)`, which binds it to its origins. A layer of "
                        + "your own that compares the origin declares the fact `bindsToOrigins`.")
            }),
        each(
            .unencryptedCredentials, where: { $0.has(.sendsUnencryptedCredentials) },
            fault: { place, outer, _ in
                guard !outer.contains({ $0.has(.allowsUnencryptedCredentials) }) else { return nil }
                return Fault(
                    severity: .error,
                    consequence:
                        "\(place.quotedName) is for an origin over `http`, where anybody on the way could read the "
                        + "credentials, so each such request is refused.",
                    change: "Use `https`, or write `.allowingUnencryptedCredentials()` below its line.")
            }),
        tooFarIn(.originSetTooLate, .error) { layer, other in
            layer.has(.setsOrigin)
                && (other.has(.bindsToOrigins) || other.has(.sharesResponses) || other.role == .redirection
                    || other.role == .hostPolicy)
        } consequence: { layer, others in
            "A relative request has no origin before it reaches \(layer), so \(others) cannot tell which server it is for: "
                + "it gets no credentials, and no stored response."
        },
        tooFarIn(.originSetTooLate, .warning) { layer, other in
            layer.has(.setsOrigin) && other.role == .resilience && !other.has(.bindsToOrigins)
                && !other.has(.sharesResponses) && (other.retries || other.onlyWaits)
        } consequence: { layer, others in
            "A relative request has no origin before it reaches \(layer), so \(others) cannot tell servers apart: the "
                + "failures and the pauses of one count for all."
        },
        anywhere(.baseURLCut, .warning) {
            $0.has(.cutsBaseURL)
        } consequence: { layer in
            "References replace what is behind the last slash of the URL of \(layer): with `https://example.com/api/v3`, "
                + "`user` is `https://example.com/api/user`."
        } change: { _ in
            "End the URL with a slash, and leave out its query."
        },
        each(
            .principalMissing, where: { $0.has(.sharesResponses) },
            fault: { place, outer, inner in
                let credentials = inner.having(.addsCredentials)
                guard let first = credentials.first, !outer.contains({ $0.has(.sharesResponses) }),
                    !(outer + inner).contains({ $0.has(.setsPrincipal) })
                else { return nil }
                // A source of several users serves requests that each name their principal.
                return Fault(
                    severity: credentials.contains { $0.has(.changesUsers) } ? .information : .error,
                    others: credentials,
                    consequence:
                        "\(first.quotedName) adds credentials, so \(place.quotedName) stores and shares "
                        + "nothing for a request without a principal.",
                    change: "Write `.acting(for: Principal(…))` below the line of \(place.quotedName), pass "
                        + "`principal:` to `composed` of a `StandardStack`, or set `options.principal` of each request."
                )
            }),
        tooFarIn(.principalSetTooLate, .warning) { layer, other in
            layer.has(.setsPrincipal) && other.has(.sharesResponses)
        } consequence: { layer, others in
            "The principal that \(layer) sets further in comes too late for \(others), so that nothing is stored or shared."
        },
        each(
            .principalOfChangingUsers, where: { $0.has(.setsPrincipal) },
            fault: { place, _, inner in
                guard let sharing = inner.firstIndex(where: { $0.layer.has(.sharesResponses) }) else { return nil }
                let changing = inner[sharing...].having(.changesUsers)
                guard let credentials = changing.first else { return nil }
                return Fault(
                    severity: .warning, others: [inner[sharing]] + changing,
                    consequence:
                        "\(credentials.quotedName) may add the credentials of another user to each request, and "
                        + "\(inner[sharing].quotedName) gives a response to all requests of the one principal.",
                    change:
                        "Set `options.principal` of each request in place of \(place.quotedName), or declare that the "
                        + "credentials are of one user: `servesOneUser` of `Tokens` or of a `CredentialSource`.")
            }),
        tooFarOut(.credentialsOutsideOfRetries, .warning) { layer, other in
            layer.has(.addsCredentials) && layer.has(.variesPerSend) && !layer.has(.signs)
                && (other.retries || other.onlyWaits)
        } consequence: { layer, others in
            "\(layer) adds credentials once for all waits and attempts of \(others), so that they may have expired when they "
                + "are sent."
        },
    ]
}
