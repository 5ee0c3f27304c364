extension CompositionRule {
    /// Credentials that go too far or nowhere, and users who are not told apart.
    static let credentials = [
        CompositionRule(
            "credentialsForEveryOrigin", .error,
            "{layer} adds its credential also to requests that {others} sends to another server, which a response has named.",
            change:
                "Use `authenticating(with:for:)`, or declare the fact `bindsToOrigins` in a layer that compares the origin."
        ) {
            $0.has(.addsCredentials) && !$0.has(.bindsToOrigins)
        } others: { _, outer, _ in
            outer.filter { $0.layer.role == .redirection }.unlessEmpty
        },
        .init(
            "unencryptedCredentials", .error,
            "{layer} is for an origin over `http`, so that each request with its credentials is refused.",
            change: "Use `https`, or write `.allowingUnencryptedCredentials()` below its line."
        ) {
            $0.has(.sendsUnencryptedCredentials)
        } others: { _, outer, _ in
            outer.having(.allowsUnencryptedCredentials).isEmpty ? [] : nil
        },
        .init(
            "originSetTooLate", .error, { $0.has(.setsOrigin) }, .insideOf,
            {
                $0.has(.bindsToOrigins) || $0.has(.sharesResponses) || $0.role == .redirection || $0.role == .hostPolicy
            },
            "A relative request has no origin before it reaches {layer}, so {others} cannot tell which server it is for."
        ),
        .init(
            "originSetTooLate", .warning, { $0.has(.setsOrigin) }, .insideOf,
            { ($0.retries || $0.onlyWaits) && !$0.has(.bindsToOrigins) && !$0.has(.sharesResponses) },
            "A relative request has no origin before it reaches {layer}, so the failures and pauses of one server count "
                + "for all in {others}."),
        .init(
            "baseURLCut", .warning, "References replace the part of the URL of {layer} that is behind its last slash.",
            change: "End the URL with a slash, and leave out its query."
        ) {
            $0.has(.cutsBaseURL)
        },
        principalMissing(.error, ofManyUsers: false), principalMissing(.information, ofManyUsers: true),
        .init(
            "principalSetTooLate", .warning, { $0.has(.setsPrincipal) }, .insideOf, { $0.has(.sharesResponses) },
            "The principal that {layer} sets further in comes too late for {others}, so that nothing is stored or shared."
        ),
        .init(
            "principalOfChangingUsers", .warning,
            "{layer} names one user for all requests, and the credentials further in may be for another: {others}.",
            change: "Set `options.principal` of each request instead, or declare `servesOneUser` of the source."
        ) {
            $0.has(.setsPrincipal)
        } others: { _, _, inner in
            guard let sharing = inner.firstIndex(where: { $0.layer.has(.sharesResponses) }) else { return nil }
            return inner[sharing...].having(.changesUsers).unlessEmpty.map { [inner[sharing]] + $0 }
        },
        .init(
            "credentialsOutsideOfRetries", .warning,
            { $0.has(.addsCredentials) && $0.has(.variesPerSend) && !$0.has(.signs) }, .outsideOf,
            { $0.retries || $0.onlyWaits },
            "{layer} adds credentials once for all waits and attempts of {others}, so that they may have expired when they "
                + "are sent."),
    ]

    /// A source of several users serves requests that each name their principal, so that it is no error.
    private static func principalMissing(_ severity: Finding.Severity, ofManyUsers: Bool) -> CompositionRule {
        CompositionRule(
            "principalMissing", severity,
            "{layer} stores and shares nothing for a request without a principal, because credentials are added by {others}.",
            change:
                "Write `.acting(for: Principal(…))` below the line of {layer}, or set `options.principal` of each request."
        ) {
            $0.has(.sharesResponses)
        } others: { _, outer, inner in
            let credentials = inner.having(.addsCredentials)
            guard !outer.contains({ $0.has(.sharesResponses) }), !(outer + inner).contains({ $0.has(.setsPrincipal) }),
                credentials.contains({ $0.has(.changesUsers) }) == ofManyUsers
            else { return nil }
            return credentials.unlessEmpty
        }
    }

    /// Host policies, cookies and refreshes that do not see the requests that they are about.
    static let hosts = [
        CompositionRule(
            "hostPolicyOutsideOfRedirections", .error, { $0.role == .hostPolicy }, .outsideOf,
            { $0.role == .redirection },
            "{layer} sees the first request of a call alone, so that the redirections that {others} follows lead to any host."
        ),
        .init(
            "hostChangedTooLate", .error, { $0.has(.addsCredentials) || $0.has(.sharesResponses) }, .outsideOf,
            { $0.role == .hostPolicy && $0.has(.changesSignedParts) },
            "{layer} chooses a credential or a stored response before {others} changes the origin of the request."),
        .init(
            "cookiesOutsideOfRedirections", .error, { $0.role == .cookies }, .outsideOf, { $0.role == .redirection },
            "{layer} does not see the hops of {others}: the cookies that they set are lost, and each hop gets the cookies of "
                + "the first URL."),
        .init(
            "cookiesInsideOfCache", .warning, { $0.role == .cookies }, .insideOf, { $0.has(.sharesResponses) },
            "{layer} adds cookies too late for {others}: a stored response that varies by them is not found."),
        .init { tree in
            tree.nodes.compactMap { node in
                let state = node.layer.memory.state
                let inner = tree.ownRequests(of: node).filter {
                    $0.layer.role == .authentication && !$0.layer.memory.state.isDisjoint(with: state)
                }
                guard node.layer.role == .authentication, !inner.isEmpty else { return nil }
                let names = inner.map(\.name).listed
                return Finding(
                    "refreshThroughItself", .error, [node.place] + inner,
                    "A refresh of \(node.place.name) waits for itself, because it sends through \(names).",
                    change: "Remove \(names) from the stack that the refresh sends through.")
            }
        },
    ]

    /// Signatures that do not fit the request that is sent.
    static let signatures = [
        CompositionRule(
            "signatureOutsideOfRetries", .error, { $0.has(.signs) }, .outsideOf, \.retries,
            "All attempts of {others} carry one signature of {layer}, so that a server refuses them for their old date or for "
                + "their nonce."),
        .init(
            "signatureOutsideOfRedirections", .error, { $0.has(.signs) }, .outsideOf, { $0.role == .redirection },
            "The signature that {layer} made for one URL is sent by {others} to another URL, where it is wrong."),
        .init(
            "signatureOutsideOfWaits", .error, { $0.has(.signs) }, .outsideOf, \.onlyWaits,
            "The signature of {layer} grows old while the request waits in {others}."),
        // A redirection has a hazard of its own; another credential stands beside the signature.
        .init(
            "signatureOutsideOfChanges", .error, { $0.has(.signs) }, .outsideOf,
            {
                ($0.has(.changesSignedParts) || $0.has(.changesContent)) && !$0.isTransport && $0.role != .redirection
                    && $0.role != .authentication
            },
            "The request is changed by {others} after {layer} has signed it, so that the signature does not cover what is sent."
        ),
    ]

    /// Retries that never run, or that repeat what must not be repeated.
    static let retries = [
        CompositionRule(
            "retriesOutsideOfRedirections", .warning, \.retries, .outsideOf, { $0.role == .redirection },
            "After a failure at a later hop, {layer} begins again at the first URL, with all hops of {others}."),
        .init(
            "retriesOutsideOfCache", .error, \.retries, .outsideOf, { $0.role == .caching },
            "If a stale response of {others} stands in for a failure, {layer} never sees the failure."),
        .init(
            "retriesOutsideOfAnswers", .error, \.retries, .outsideOf,
            {
                ($0.has(.answers) || $0.has(.inventsAnswers)) && !$0.isTransport && $0.role != .caching
                    && !$0.has(.sharesResponses)
            },
            "{others} may answer in place of a failure, which {layer} then never sees."),
        .init(
            "retriesOutsideOfSharing", .warning, \.retries, .outsideOf,
            { $0.role != .caching && $0.has(.sharesResponses) },
            "Each caller who gets the failure of one request from {others} sends it again by {layer} on its own."),
        .init { tree in
            tree.nodes.filter { $0.layer.has(.repeatsUnsafeMethods) }.compactMap { node in
                let keyed = tree.layers(outsideOf: node).having(.makesIdempotent)
                    .reduce(into: Set()) { $0.formUnion($1.layer.sending.methods) }
                let methods = node.layer.sending.methods.subtracting(keyed).map { "`\($0.rawValue)`" }.sorted()
                guard !methods.isEmpty else { return nil }
                return Finding(
                    "unsafeMethodsRepeated", .error, [node.place],
                    "\(node.place.name) sends requests with \(methods.listed) again although the server may have carried "
                        + "them out.",
                    change:
                        "Remove \(methods.listed) from `RetryPolicy.methods`, or write `.addingIdempotencyKey(to:)` "
                        + "below the line of \(node.place.name).")
            }
        },
        .init(
            "retriesWithoutBudget", .warning,
            "{layer} sends again as often as its policy allows, so that many clients keep an overloaded server down.",
            change: "Leave out `budget: .unlimited`, or write `budget: .perCall(2)` for a command that runs once."
        ) {
            $0.has(.resendsWithoutBudget)
        },
        .init("manySends", .warning, "{layer} may send one request very often.", change: "Lower its limit.") {
            // Up to 48 redirections, or 10 retries, are usual.
            !$0.isTransport && $0.has(.resends) && $0.sending.times.upperBound > ($0.role == .redirection ? 50 : 11)
        },
        .init(
            "keyForEachAttempt", .error, { $0.has(.makesIdempotent) }, .insideOf, \.retries,
            "{layer} adds another key to each attempt of {others}, so that the server cannot tell that they are one call."
        ),
        .init(
            "valueForEachAttempt", .warning,
            { $0.has(.identifiesCalls) && $0.has(.variesPerSend) && !$0.has(.makesIdempotent) }, .insideOf, \.retries,
            "{layer} gives each attempt of {others} an identifier of its own, so that the server cannot tell that they are one "
                + "call."),
        .init(
            "statusErrorTooEarly", .error, { $0.role == .validation }, .insideOf,
            { $0.has(.readsStatus) || $0.has(.decodesContent) },
            "{layer} throws before the response reaches {others}, so that nothing reacts to its status."),
    ]

    /// Calls that last too long, and waits at the wrong place.
    static let deadlines = [
        CompositionRule { tree in
            tree.nodes.filter(\.layer.retries).compactMap { node in
                let (outer, inner) = (tree.layers(outsideOf: node), tree.layers(insideOf: node))
                guard !outer.contains(\.retries), !outer.contains(\.limitsTime), !inner.contains(\.limitsCalls) else {
                    return nil
                }
                let outermost = outer.first { $0.layer.has(.resends) || $0.layer.has(.sharesResponses) } ?? node.place
                return Finding(
                    "unlimitedCall", .warning, [node.place],
                    "Nothing limits the time of a call: \(node.place.name) waits and sends again however long it takes.",
                    change: "Write `.limitingTime()` below the line of \(outermost.name).")
            }
        },
        .init(
            "callLimitTooFarIn", .warning, \.limitsCalls, .insideOf, { $0.retries || $0.role == .redirection },
            unless: { $0.contains(\.limitsCalls) },
            "The time of {layer} begins anew with each request of {others}, so that a call may take many times as long."
        ),
        .init(
            "callLimitTooFarIn", .warning, \.limitsCalls, .insideOf, { $0.has(.sharesResponses) },
            unless: { $0.contains { $0.limitsCalls || $0.retries || $0.role == .redirection } },
            "The time of {layer} ends a request for which other callers of {others} may still wait."),
        .init(
            "longWait", .warning, "{layer} may let a call wait for more than five minutes.",
            change: "Write `.limitingTime()` below the line of {layer}, or lower its longest wait."
        ) {
            // A wait of five minutes needs no further limit.
            ($0.retries || $0.onlyWaits) && $0.time.waiting.allows(.seconds(300) + .nanoseconds(1))
        } others: { _, outer, _ in
            outer.contains(\.limitsTime) ? nil : []
        },
        .init(
            "attemptLimitOutsideOfRetries", .warning, { $0.has(.limitsAttempts) }, .outsideOf, \.retries,
            "The time that {layer} gives to an attempt limits the whole call, with all attempts and waits of {others}."),
        .init(
            "attemptLimitAboveCall", .warning, "{layer} never ends an attempt, because {others} ends no later.",
            change: "Give an attempt less time than the call."
        ) {
            $0.has(.limitsAttempts)
        } others: { place, outer, _ in
            guard let time = place.layer.time.limit.value?.bounded else { return nil }
            return outer.first { $0.layer.limitsTime && !$0.layer.time.limit.allows(time + .nanoseconds(1)) }.map {
                [$0]
            }
        },
        // Another layer of this kind may hold the attempts back already; then one of the two is too many.
        .init { tree in
            tree.nodes.filter(\.layer.onlyWaits).compactMap { node in
                let inner = tree.layers(insideOf: node)
                let others = inner.filter(\.layer.retries)
                guard let last = others.last,
                    !inner.contains(where: { $0.number > last.number && $0.layer.name == node.layer.name })
                else { return nil }
                return Finding(
                    "pausesOutsideOfRetries", .warning, moving: node.place, to: .inside(of: last), because: others,
                    "Only the first attempt of \(others.map(\.name).listed) waits in \(node.place.name); the others are "
                        + "sent into the pause that the server asks for.")
            }
        },
        .init(
            "pausesOutsideOfCache", .warning, \.onlyWaits, .outsideOf, { $0.role == .caching },
            "Requests that {others} could answer without the server wait in {layer} too."),
    ]

    /// Changes of requests that a layer further out has to know.
    static let fields = [
        CompositionRule(
            "fieldsInsideOfCache", .warning,
            {
                // Changes on which the response for the same user may depend.
                $0.role == .preparation && $0.has(.changesSignedParts)
                    && $0.facts.isDisjoint(with: [
                        .changesContent, .decodesContent, .identifiesCalls, .setsOrigin, .addsCredentials,
                    ])
            }, .insideOf, { $0.has(.sharesResponses) },
            "{layer} adds fields too late for {others}: a stored response that varies by them is not found, or is the wrong one."
        ),
        .init(
            "contentChangedOutsideOfCache", .information, { $0.has(.changesContent) }, .outsideOf,
            { $0.has(.sharesResponses) },
            "Requests with content, such as a `QUERY`, are kept apart in {others} by what {layer} has made of it."),
    ]

    /// Responses in a cache that the server has not given like that.
    static let caching = [
        CompositionRule(
            "cacheOutsideOfRedirections", .error, { $0.role == .caching }, .outsideOf, { $0.role == .redirection },
            "{layer} stores the response to which {others} was redirected under the first URL, also after the redirection has "
                + "ended."),
        .init(
            "sharingOutsideOfCache", .information, { $0.has(.sharesResponses) && $0.role != .caching }, .outsideOf,
            { $0.role == .caching },
            "All callers of {layer} wait for one response and its body, although {others} could answer each of them at once."
        ),
        .init(
            "cacheOutsideOfDecoding", .warning, { $0.role == .caching }, .outsideOf,
            { $0.has(.decodesContent) && !$0.isTransport },
            "{layer} stores the content as decoded by {others}, with the `ETag` and the ranges of the coded content."),
        .init(
            "cacheOutsideOfChanges", .warning, { $0.role == .caching }, .outsideOf,
            {
                $0.has(.changesResponse) && !$0.isTransport && $0.role != .caching && !$0.has(.decodesContent)
                    && !$0.has(.inventsAnswers)
            },
            "{layer} stores the responses as changed by {others}, and may keep what the server forbids to keep."),
        .init(
            "cacheOutsideOfInvention", .error, { $0.role == .caching }, .outsideOf,
            { $0.has(.inventsAnswers) && !$0.isTransport && $0.role != .caching },
            "{layer} stores the answers invented by {others}, and gives them when the server can be reached again."),
        .init(
            "stateUsedTwice", .warning,
            "{others} uses the store of {layer}, and answers in place of the server whether a response has changed.",
            change: "Remove one of them, or give it a store of its own."
        ) {
            $0.role == .caching
        } others: { place, _, inner in
            inner.filter {
                $0.layer.role == .caching && !$0.layer.memory.state.isDisjoint(with: place.layer.memory.state)
            }.unlessEmpty
        },
    ]

    /// Secrets that are written down, content that is held without a limit, and calls that are not seen.
    static let observation = [
        secretsRecorded(.error, ofFields: true), secretsRecorded(.warning, ofFields: false),
        .init(
            "unboundedMemory", .warning,
            "{layer} holds content in memory without a limit, so that one long response fills the memory.",
            change: "Give {layer} a limit."
        ) {
            !$0.isTransport && $0.memory.bytes == .unbounded
        },
        .init(
            "attemptsUnseen", .warning, { $0.has(.observesAttempts) }, .outsideOf,
            { $0.retries || $0.role == .redirection || $0.role == .caching },
            "{layer} stands outside of {others}, and takes each call for one attempt, however often it is sent."),
        .init { tree in
            let observers = tree.nodes.filter { $0.layer.role == .observation }
            let hiding = observers.compactMap { observer in
                tree.layers(outsideOf: observer).first { $0.layer.retries || $0.layer.role == .caching }
            }
            guard let observer = observers.first?.place, let outermost = hiding.first, hiding.count == observers.count
            else { return [] }
            return [
                Finding(
                    "callsUnseen", .information, [observer, outermost],
                    "\(observer.name) sees each request that \(outermost.name) sends, and nothing shows the calls.",
                    change: "Observe the calls too, as by `.observing(…)` below the line of \(outermost.name).")
            ]
        },
    ]

    private static func secretsRecorded(_ severity: Finding.Severity, ofFields: Bool) -> CompositionRule {
        CompositionRule(
            "secretsRecorded", severity, "{layer} writes secrets down as they are.",
            change: "Leave out `redacting: .none`, or declare the fact `redacts` in a layer that hides secrets."
        ) {
            $0.has(.records) && !$0.has(.redacts) && $0.has(.recordsFields) == ofFields
        }
    }

    /// Recordings that leave layers out, and tests that wait.
    static let testing = [
        CompositionRule(
            "layersRecorded", .warning,
            "{layer} records the answers of {others} in place of the answers of the server.",
            change: "Put the cassette in the place of the transport, with {others} outside of it."
        ) {
            $0.isTransport && $0.has(.records)
        } others: { _, _, inner in
            inner.filter {
                !$0.layer.isTransport
                    && ($0.layer.has(.resends) || $0.layer.has(.answers) || $0.layer.role == .redirection)
            }.unlessEmpty
        },
        .init(
            "testWaits", .information,
            "{layer} sends nothing, and the waits of {others} go by the clock of the system.",
            change: "Pass `clock:`, such as a `VirtualClock`, to {others}, or to `composed` of a `StandardStack`."
        ) {
            $0.isTransport && $0.sending.times.upperBound == 0
        } others: { _, outer, _ in
            outer.filter { ($0.layer.retries || $0.layer.onlyWaits) && $0.layer.has(.readsClock) }.unlessEmpty
        },
    ]

    /// Layers that do the same work one inside of the other.
    static let repetition = [
        CompositionRule { tree in
            tree.nodes.filter(\.layer.retries).compactMap { node in
                let inner = tree.layers(insideOf: node).filter(\.layer.retries)
                guard !inner.isEmpty, !tree.layers(outsideOf: node).contains(\.retries) else { return nil }
                // One budget for all of them ends the multiplication soon.
                let state = inner.reduce(node.layer.memory.state) { $0.intersection($1.layer.memory.state) }
                return Finding(
                    "retriesMultiply", state.isEmpty ? .warning : .information, [node.place] + inner,
                    tree.product(of: [node.place] + inner), change: "Keep one of them.")
            }
        },
        .init { tree in
            tree.nodes.filter(\.layer.multiplies).compactMap { node in
                let all = [node.place] + tree.layers(insideOf: node).filter(\.layer.multiplies)
                let count = Worst<Int>.requests(of: tree.layers[...], counting: \.multiplies).value
                guard all.count > 1, !all.allSatisfy(\.layer.retries), count ?? .max > 30,
                    !tree.layers(outsideOf: node).contains(\.multiplies)
                else { return nil }
                return Finding(
                    "manySends", .warning, all, tree.product(of: all), change: "Lower the limit of one of them.")
            }
        },
        twice(
            .warning, { $0.role == .redirection && $0.has(.resends) },
            "{others} follows redirections before {layer} sees them, so that the limit and the policy of {layer} do not apply."
        ),
        twice(.warning, \.onlyWaits, "A request waits in {layer}, and may have to wait again in {others}."),
        twice(
            .information, { !$0.isTransport && $0.has(.decodesContent) },
            "{others} decodes the content before {layer} sees it."),
        twice(
            .information, { $0.role == .validation },
            "{others} throws for a status before {layer} sees the response, so that only statuses that both accept are returned."
        ),
        twice(
            .warning, { $0.role == .resilience && $0.has(.sharesResponses) },
            "{layer} has made one request of equal ones before they reach {others}."),
        // Two layers with one store have a hazard of their own.
        twice(
            .information, { $0.role == .caching && $0.has(.sharesResponses) }, mayShareState: false,
            "{layer} and {others} store each response twice, and {others} answers only if {layer} has nothing."),
    ]

    private static func twice(
        _ severity: Finding.Severity, _ isOfKind: @escaping Test, mayShareState: Bool = true, _ consequence: String
    ) -> CompositionRule {
        CompositionRule("layerTwice", severity, consequence, change: "Keep one of them.") {
            isOfKind($0)
        } others: { place, _, inner in
            inner.first {
                $0.layer.name == place.layer.name && isOfKind($0.layer)
                    && (mayShareState || $0.layer.memory.state.isDisjoint(with: place.layer.memory.state))
            }.map { [$0] }
        }
    }
}

extension LayerTree {
    /// The sentence about layers that send often, one inside of the other.
    fileprivate func product(of places: [LayerPlace]) -> String {
        let count = Worst<Int>.requests(of: layers[...]) { !$0.isTransport }.value
        return "\(places.map(\.name).listed) multiply: one call may be sent "
            + "\(count.map { "\($0) times" } ?? "without a limit")."
    }
}
