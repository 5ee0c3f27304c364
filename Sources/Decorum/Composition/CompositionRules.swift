extension CompositionRule {
    /// Credentials that go too far or nowhere, and users who are not told apart.
    static let credentials: [CompositionRule] = [
        .init(
            "credentialsForEveryOrigin", .error, Kind([.addsCredentials], none: [.bindsToOrigins]), .insideOf,
            [.changesServer],
            "{layer} adds its credential also to requests that {others} sends to another server.",
            change:
                "Use `authenticating(with:for:)`, or declare the fact `bindsToOrigins` in a layer that compares the origin."
        ),
        .init(
            "unencryptedCredentials", .error, [.sendsUnencryptedCredentials], unless: [.allowsUnencryptedCredentials],
            "{layer} is for an origin over `http`, so that each request with its credentials is refused.",
            change: "Use `https`, or write `.allowingUnencryptedCredentials()` below its line."),
        .init(
            "originSetTooLate", .error, [.setsOrigin], .insideOf,
            Kind(any: [.bindsToOrigins, .sharesResponses, .changesServer, .hostPolicy]),
            "A relative request has no origin before it reaches {layer}, so {others} cannot tell which server it is for."
        ),
        .init(
            "originSetTooLate", .warning, [.setsOrigin], .insideOf,
            Kind(any: [.repeats, .onlyWaits, .breaksCircuits], none: [.bindsToOrigins, .sharesResponses]),
            "A relative request has no origin before it reaches {layer}, so the failures and pauses of one server count "
                + "for all in {others}."),
        .init(
            "baseURLCut", .warning, [.cutsBaseURL],
            "References replace the part of the URL of {layer} that is behind its last slash.",
            change: "End the URL with a slash."),
        principalMissing(.error, ofManyUsers: false), principalMissing(.information, ofManyUsers: true),
        .init(
            "principalSetTooLate", .warning, [.setsPrincipal], .insideOf, [.sharesResponses],
            "The principal that {layer} sets further in comes too late for {others}, so that nothing is stored or shared."
        ),
        .init([.setsPrincipal]) { node, tree in
            let inner = tree.nodes(insideOf: node)
            guard let sharing = inner.firstIndex(where: { $0.has(.sharesResponses) }) else { return nil }
            let others = inner[sharing...].having(.changesUsers)
            guard !others.isEmpty else { return nil }
            return Finding(
                "principalOfChangingUsers", .warning, node, [inner[sharing]] + others,
                "{layer} names one user for all requests, and the credentials further in may be for another: {others}.",
                change: "Set `options.principal` of each request instead, or declare `servesOneUser` of the source.")
        },
        .init(
            "credentialsOutsideOfRetries", .warning, Kind([.addsCredentials, .variesPerSend], none: [.signs]),
            .outsideOf,
            Kind(any: [.retries, .onlyWaits]),
            "{layer} adds credentials once for all waits and attempts of {others}, so that they may have expired when they "
                + "are sent."),
    ]

    /// A source of several users serves requests that each name their principal, so that it is no error.
    private static func principalMissing(_ severity: Finding.Severity, ofManyUsers: Bool) -> CompositionRule {
        .init([.sharesResponses]) { node, tree in
            let (outer, inner) = (tree.nodes(outsideOf: node), tree.nodes(insideOf: node))
            let others = inner.having(.addsCredentials)
            guard !outer.contains(.sharesResponses), !outer.contains(.setsPrincipal), !inner.contains(.setsPrincipal),
                others.contains(.changesUsers) == ofManyUsers, !others.isEmpty
            else { return nil }
            return Finding(
                "principalMissing", severity, node, others,
                "{layer} stores and shares nothing for a request without a principal, because credentials are added by "
                    + "{others}.",
                change:
                    "Write `.acting(for: Principal(…))` below the line of {layer}, or set `options.principal` of each "
                    + "request.")
        }
    }

    /// Host policies, cookies and refreshes that do not see the requests that they are about.
    static let hosts: [CompositionRule] = [
        .init(
            "hostPolicyOutsideOfRedirections", .error, [.hostPolicy], .outsideOf, [.redirection],
            "{layer} sees the first request of a call alone, so that the redirections that {others} follows lead to any host."
        ),
        .init(
            "hostChangedTooLate", .error, Kind(any: [.addsCredentials, .sharesResponses]), .outsideOf,
            [.hostPolicy, .changesSignedParts],
            "{layer} chooses a credential or a stored response before {others} changes the origin of the request."),
        .init(
            "cookiesOutsideOfRedirections", .error, [.cookies], .outsideOf, [.redirection],
            "{layer} does not see the hops of {others}: the cookies that they set are lost, and each hop gets the cookies of "
                + "the first URL."),
        .init(
            "cookiesInsideOfCache", .warning, [.cookies], .insideOf, [.sharesResponses],
            "{layer} adds cookies too late for {others}: a stored response that varies by them is not found."),
        // A request that waits for a refresh may have the last place of a limit further out.
        .init([.authentication]) { node, tree in
            let outer = tree.nodes(outsideOf: node).having(.limitsRequests) + [node]
            let inner = tree.ownRequests(of: node).filter { outer.contains(where: $0.sharesState) }
            guard !inner.isEmpty else { return nil }
            return Finding(
                "refreshThroughItself", .error, node, inner,
                "A refresh of {layer} waits for itself, because it sends through {others}.",
                change: "Remove {others} from the stack that the refresh sends through.")
        },
    ]

    /// Signatures that do not fit the request that is sent.
    static let signatures: [CompositionRule] = [
        .init(
            "signatureOutsideOfRetries", .error, [.signs], .outsideOf, [.repeats],
            "All attempts of {others} carry one signature of {layer}, so that a server refuses them for their old date or for "
                + "their nonce."),
        .init(
            "signatureOutsideOfRedirections", .error, [.signs], .outsideOf, [.redirection],
            "The signature that {layer} made for one URL is sent by {others} to another URL, where it is wrong."),
        .init(
            "signatureOutsideOfWaits", .error, [.signs], .outsideOf, [.onlyWaits],
            "The signature of {layer} grows old while the request waits in {others}."),
        // A redirection has a hazard of its own; another credential stands beside the signature.
        .init(
            "signatureOutsideOfChanges", .error, [.signs], .outsideOf,
            Kind(any: [.changesSignedParts, .changesContent], none: [.transport, .redirection, .authentication]),
            "The request is changed by {others} after {layer} has signed it, so that the signature does not cover what is sent."
        ),
        .init(
            "digestOutsideOfChanges", .error, [.digestsContent], .outsideOf,
            Kind([.changesContent], none: [.transport]),
            "The content is changed by {others} after {layer} has made its digest, so that a server refuses it."),
        // A transport that declares nothing, or sends nothing, is not known to lose them.
        .init([.needsTrailers]) { node, tree in
            let others = tree.nodes(insideOf: node).filter {
                $0.has(.transport) && !$0.has(.sendsTrailers) && $0.layer.isDeclared
                    && $0.layer.branches.isEmpty && $0.layer.sending.times.upperBound > 0
            }
            guard !others.isEmpty else { return nil }
            return Finding(
                "trailersNotSent", .error, node, others,
                "{others} sends no trailer fields, in which {layer} puts the digest or the signature of a stream.",
                change: "Use `CurlConnection` over HTTP/1.1, or leave out `streams: .trailers`.")
        },
    ]

    /// Retries that never run, or that repeat what must not be repeated.
    static let retries: [CompositionRule] = [
        .init(
            "retriesOutsideOfRedirections", .warning, [.retries], .outsideOf, [.redirection],
            "After a failure at a later hop, {layer} begins again at the first URL, with all hops of {others}."),
        .init(
            "retriesOutsideOfCache", .error, [.retries], .outsideOf, [.caching],
            "If a stale response of {others} stands in for a failure, {layer} never sees the failure."),
        .init(
            "retriesOutsideOfAnswers", .error, [.retries], .outsideOf,
            Kind(
                any: [.answers, .inventsAnswers, .fallsBack],
                none: [.transport, .caching, .sharesResponses, .injectsFaults]),
            "{others} may answer in place of a failure, which {layer} then never sees."),
        .init(
            "retriesOutsideOfSharing", .warning, [.retries], .outsideOf, Kind([.sharesResponses], none: [.caching]),
            "Each caller who gets the failure of one request from {others} sends it again by {layer} on its own."),
        .init([.repeatsUnsafeMethods]) { node, tree in
            let keyed = tree.nodes(outsideOf: node).having(.makesIdempotent)
                .reduce(into: Set()) { $0.formUnion($1.layer.sending.methods) }
            let methods = node.layer.sending.methods.subtracting(keyed).map { "`\($0.rawValue)`" }.sorted()
            guard !methods.isEmpty else { return nil }
            return Finding(
                "unsafeMethodsRepeated", .error, node, [],
                "{layer} sends requests with \(methods.listed) again although the server may have carried them out.",
                change:
                    "Remove \(methods.listed) from `RetryPolicy.methods`, or write `.addingIdempotencyKey(to:)` "
                    + "below the line of {layer}.")
        },
        .init(
            "retriesWithoutBudget", .warning, [.resendsWithoutBudget],
            "{layer} sends again as often as its policy allows, so that many clients keep an overloaded server down.",
            change: "Leave out `budget: .unlimited`, or write `budget: .perCall(2)` for a command that runs once."),
        // Up to 48 redirections, or 10 retries, are usual.
        .init(
            "manySends", .warning, Kind([.resends], none: [.transport]),
            where: { $0.sending.times.upperBound > ($0.role == .redirection ? 50 : 11) },
            "{layer} may send one request very often.", change: "Lower its limit."),
        .init(
            "keyForEachAttempt", .error, [.makesIdempotent], .insideOf, [.repeats],
            "{layer} adds another key to each attempt of {others}, so that the server cannot tell that they are one call."
        ),
        .init(
            "valueForEachAttempt", .warning, Kind([.identifiesCalls, .variesPerSend], none: [.makesIdempotent]),
            .insideOf, [.repeats],
            "{layer} gives each attempt of {others} an identifier of its own, so that the server cannot tell that they are one "
                + "call."),
        .init(
            "statusErrorTooEarly", .error, [.validation], .insideOf, Kind(any: [.readsStatus, .decodesContent]),
            "{layer} throws before the response reaches {others}, so that nothing reacts to its status."),
    ]

    /// Limits and circuits that count something else than requests to one server.
    static let traffic: [CompositionRule] = [
        .init(
            "limitOutsideOfRetries", .warning, [.limitsRequests], .outsideOf, [.repeats],
            "{layer} counts a call once: the further attempts of {others} are not limited, and a call keeps its place while it "
                + "waits for one."),
        .init(
            "circuitOutsideOfRetries", .warning, [.breaksCircuits], .outsideOf, [.repeats],
            "{layer} sees only the last of the attempts of {others}, and one probe of a broken server is sent several times."
        ),
        .init(
            "circuitOutsideOfCache", .warning, [.breaksCircuits], .outsideOf, [.caching],
            "Answers that {others} has stored count in {layer} as answers of the server, and an open circuit keeps them back."
        ),
        .init([.breaksCircuits]) { node, tree in
            let others = (tree.nodes(outsideOf: node) + tree.nodes(insideOf: node)).filter { other in
                guard other.has(.limitsAttempts), let time = other.layer.time.limit.value else { return false }
                return node.layer.time.window.map { $0.bounded < time.bounded * 2 } ?? false
            }
            guard !others.isEmpty else { return nil }
            return Finding(
                "circuitWindowTooShort", .warning, node, others,
                "{layer} forgets the first timeouts before enough have ended by the time that {others} gives to an attempt.",
                change: "Let {layer} count for at least twice the time of an attempt.")
        },
        // A limit belongs further in, since it counts both requests.
        .init(
            "hedgeOutsideOfWaits", .warning, [.hedges], .outsideOf,
            Kind(any: [.retries, .onlyWaits, .sharesResponses, .fallsBack], none: [.limitsRequests]),
            "{layer} measures the waits and the answers of {others} in place of the time that the server takes."),
        .init(
            "circuitOfAllServers", .warning, [.breaksCircuits, .spansOrigins],
            "{layer} has one circuit for all servers, so that a broken one takes the others with it.",
            change: "Break the circuits by origin or by group."),
        .init(
            "limitOfNothing", .error, Kind(any: [.letsNothingPass, .limitsTime]),
            where: { $0.has(.letsNothingPass) || $0.time.limit == .atMost(.zero) },
            "{layer} lets no request through, because one of its limits is zero or less.",
            change: "Give it limits of one or more, or remove it."),
        .init(
            "unsoundSettings", .error, [.unsoundSettings],
            "{layer} has settings with which it does not work, such as a share below zero or above one.",
            change: "Give it settings as its policy describes them."),
        .init(
            "faultsInjected", .information, [.injectsFaults], "{layer} breaks requests on purpose.",
            change: "Remove it from a stack that is no test and no drill."),
        .init(
            "faultsOutsideOfReactions", .warning, [.injectsFaults], .outsideOf,
            Kind(any: [.readsStatus, .repeats, .fallsBack], none: [.transport]),
            "{others} never meets the faults of {layer}, so that a drill tells nothing of it."),
        .init([.breaksCircuits]) { node, tree in
            guard !tree.nodes(insideOf: node).contains(.transport) else { return nil }
            return Finding(
                "circuitWithoutTransport", .warning, node, [],
                "{layer} stands around no transport, so that what it counts tells nothing of a server.",
                change: "Place it around the transport.")
        },
        .init(Kind(any: [.limitsRequests, .breaksCircuits])) { node, tree in
            let inner = tree.nodes(insideOf: node).filter(node.sharesState)
            guard !inner.isEmpty else { return nil }
            let isLimit = node.has(.limitsRequests)
            return Finding(
                isLimit ? "limitTwice" : "circuitTwice", isLimit ? .error : .warning, node, inner,
                isLimit
                    ? "A request needs two places of {layer}, and many that have one wait for the other for ever."
                    : "Each outcome counts twice in {layer}.",
                change: "Keep one of them, or give each its own state.")
        },
    ]

    /// Calls that last too long, and waits at the wrong place.
    static let deadlines: [CompositionRule] = [
        .init([.retries]) { node, tree in
            let outer = tree.nodes(outsideOf: node)
            guard !outer.contains(.retries), !outer.contains(.limitsTime),
                !tree.nodes(insideOf: node).contains(.limitsCalls)
            else { return nil }
            let outermost = outer.first { $0.has(.resends) || $0.has(.sharesResponses) } ?? node
            return Finding(
                "unlimitedCall", .warning, node, [],
                "Nothing limits the time of a call: {layer} waits and sends again however long it takes.",
                change: "Write `.limitingTime()` below the line of \(outermost.name).")
        },
        .init(
            "callLimitTooFarIn", .warning, [.limitsCalls], .insideOf, Kind(any: [.retries, .redirection]),
            unless: [.limitsCalls],
            "The time of {layer} begins anew with each request of {others}, so that a call may take many times as long."
        ),
        .init(
            "callLimitTooFarIn", .warning, [.limitsCalls], .insideOf, [.sharesResponses],
            unless: Kind(any: [.limitsCalls, .retries, .redirection]),
            "The time of {layer} ends a request for which other callers of {others} may still wait."),
        // A wait of five minutes needs no further limit.
        .init(
            "longWait", .warning, Kind(any: [.retries, .onlyWaits]), unless: [.limitsTime],
            where: { $0.time.waiting.allows(.seconds(300) + .nanoseconds(1)) },
            "{layer} may let a call wait for more than five minutes.",
            change: "Write `.limitingTime()` below the line of {layer}, or lower its longest wait."),
        .init(
            "attemptLimitOutsideOfRetries", .warning, [.limitsAttempts], .outsideOf, [.retries],
            "The time that {layer} gives to an attempt limits the whole call, with all attempts and waits of {others}."),
        .init([.limitsAttempts]) { node, tree in
            guard let time = node.layer.time.limit.value?.bounded,
                let other = tree.nodes(outsideOf: node).having(.limitsTime).first(where: {
                    !$0.layer.time.limit.allows(time + .nanoseconds(1))
                })
            else { return nil }
            return Finding(
                "attemptLimitAboveCall", .warning, node, [other],
                "{layer} never ends an attempt, because {others} ends no later.",
                change: "Give an attempt less time than the call.")
        },
        // Another layer of this kind may hold the attempts back already; then one of the two is too many.
        .init(Kind([.onlyWaits], none: [.limitsRequests])) { node, tree in
            let inner = tree.nodes(insideOf: node)
            let others = inner.having(.retries)
            guard let last = others.last?.place,
                !inner.contains(where: { $0.place.number > last.number && $0.layer.name == node.layer.name })
            else { return nil }
            return Finding(
                "pausesOutsideOfRetries", .warning, moving: node, to: .inside(of: last), because: others,
                "Only the first attempt of {others} waits in {layer}; the others go into the pause or the outage.")
        },
        .init(
            "pausesOutsideOfCache", .warning, [.onlyWaits], .outsideOf, [.caching],
            "Requests that {others} could answer without the server wait in {layer} too."),
    ]

    /// Changes of requests that a layer further out has to know.
    static let fields: [CompositionRule] = [
        // Changes on which the response for the same user may depend.
        .init(
            "fieldsInsideOfCache", .warning,
            Kind(
                [.preparation, .changesSignedParts],
                none: [.changesContent, .decodesContent, .identifiesCalls, .setsOrigin, .addsCredentials]), .insideOf,
            [.sharesResponses],
            "{layer} adds fields too late for {others}: a stored response that varies by them is not found, or is the wrong one."
        ),
        .init(
            "contentChangedOutsideOfCache", .information, [.changesContent], .outsideOf, [.sharesResponses],
            "Requests with content, such as a `QUERY`, are kept apart in {others} by what {layer} has made of it."),
    ]

    /// Responses in a cache that the server has not given like that.
    static let caching: [CompositionRule] = [
        .init(
            "cacheOutsideOfRedirections", .error, [.caching], .outsideOf, [.redirection],
            "{layer} stores the response to which {others} was redirected under the first URL, also after the redirection has "
                + "ended."),
        .init(
            "sharingOutsideOfCache", .information, Kind([.sharesResponses], none: [.caching]), .outsideOf, [.caching],
            "All callers of {layer} wait for one response and its body, although {others} could answer each of them at once."
        ),
        .init(
            "cacheOutsideOfDecoding", .warning, [.caching], .outsideOf, Kind([.decodesContent], none: [.transport]),
            "{layer} stores the content as decoded by {others}, with the `ETag` and the ranges of the coded content."),
        .init(
            "cacheOutsideOfChanges", .warning, [.caching], .outsideOf,
            Kind([.changesResponse], none: [.transport, .caching, .decodesContent, .inventsAnswers, .injectsFaults]),
            "{layer} stores the responses as changed by {others}, and may keep what the server forbids to keep."),
        .init(
            "cacheOutsideOfInvention", .error, [.caching], .outsideOf,
            Kind([.inventsAnswers], none: [.transport, .caching, .injectsFaults]),
            "{layer} stores the answers invented by {others}, and gives them when the server can be reached again."),
        .init([.caching]) { node, tree in
            let others = tree.nodes(insideOf: node).having(.caching).filter(node.sharesState)
            guard !others.isEmpty else { return nil }
            return Finding(
                "stateUsedTwice", .warning, node, others,
                "{others} uses the store of {layer}, and answers in place of the server whether a response has changed.",
                change: "Remove one of them, or give it a store of its own.")
        },
    ]

    /// Secrets that are written down, content that is held without a limit, and calls that are not seen.
    static let observation: [CompositionRule] = [
        secretsRecorded(.error, Kind([.records, .recordsFields], none: [.redacts])),
        secretsRecorded(.warning, Kind([.records], none: [.redacts, .recordsFields])),
        .init(
            "unboundedMemory", .warning, Kind(none: [.transport]), where: { $0.memory.bytes == .unbounded },
            "{layer} holds content in memory without a limit, so that one long response fills the memory.",
            change: "Give {layer} a limit."),
        .init(
            "attemptsUnseen", .warning, [.observesAttempts], .outsideOf,
            Kind(any: [.repeats, .changesServer, .caching]),
            "{layer} stands outside of {others}, and takes each call for one attempt, however often it is sent."),
        .init([.observation]) { node, tree in
            let observers = tree.nodes.having(.observation)
            let hiding = observers.compactMap { observer in
                tree.nodes(outsideOf: observer).first { $0.has(.retries) || $0.has(.caching) }
            }
            guard observers.first?.place.number == node.place.number, let outermost = hiding.first,
                hiding.count == observers.count
            else { return nil }
            return Finding(
                "callsUnseen", .information, node, [outermost],
                "{layer} sees each request that {others} sends, and nothing shows the calls.",
                change: "Observe the calls too, as by `.observing(…)` below the line of {others}.")
        },
    ]

    private static func secretsRecorded(_ severity: Finding.Severity, _ kind: Kind) -> CompositionRule {
        .init(
            "secretsRecorded", severity, kind, "{layer} writes secrets down as they are.",
            change: "Leave out `redacting: .none`, or declare the fact `redacts` in a layer that hides secrets.")
    }

    /// Recordings that leave layers out, and tests that wait.
    static let testing: [CompositionRule] = [
        .init(
            "layersRecorded", .warning, [.transport, .records], .outsideOf,
            Kind(any: [.resends, .answers, .redirection], none: [.transport]),
            "{layer} records the answers of {others} in place of the answers of the server.",
            change: "Put the cassette in the place of the transport, with {others} outside of it."),
        .init(
            "testWaits", .information, [.transport], .insideOf, Kind([.readsClock], any: [.repeats, .onlyWaits]),
            where: { $0.sending.times.upperBound == 0 },
            "{layer} sends nothing, and the waits of {others} go by the clock of the system.",
            change: "Pass `clock:`, such as a `VirtualClock`, to {others}, or to `composed` of a `StandardStack`."),
    ]

    /// Layers that do the same work one inside of the other.
    static let repetition: [CompositionRule] = [
        .init([.retries]) { node, tree in
            let all = tree.nodes(insideOf: node)
            let retries = all.filter { $0.has(.retries) || $0.has(.transport) && $0.has(.multiplies) }
            // Second requests belong inside of retries, and one budget keeps both together small. The clock of a test has no
            // budget of the process.
            let hedges = all.filter { $0.has(.hedges) && $0.has(.readsClock) && !node.sharesState(with: $0) }
            let inner = retries.isEmpty ? hedges : retries
            guard !inner.isEmpty, !tree.nodes(outsideOf: node).contains(.retries) else { return nil }
            // One budget for all of them ends the multiplication soon.
            let state = inner.reduce(node.layer.memory.state) { $0.intersection($1.layer.memory.state) }
            return Finding(
                "retriesMultiply", state.isEmpty ? .warning : .information, node, inner,
                tree.product(of: [node] + inner),
                change: retries.isEmpty ? "Give them one budget, such as `RetryBudget.shared`." : "Keep one of them.")
        },
        .init([.multiplies]) { node, tree in
            let inner = tree.nodes(insideOf: node).having(.multiplies)
            let count = Worst<Int>.requests(of: tree.layers[...], counting: .multiplying).value
            guard !inner.isEmpty, !(node.has(.retries) && inner.allSatisfy { $0.has(.retries) }),
                count ?? .max > 30, !tree.nodes(outsideOf: node).contains(.multiplies)
            else { return nil }
            return Finding(
                "manySends", .warning, node, inner, tree.product(of: [node] + inner),
                change: "Lower the limit of one of them.")
        },
        twice(
            .warning, [.redirection, .resends],
            "{others} follows redirections before {layer} sees them, so that the limit and the policy of {layer} do not apply."
        ),
        twice(.warning, [.hedges], "One slow answer is hedged by {layer} and by {others}."),
        twice(.warning, [.onlyWaits], "A request waits in {layer}, and may have to wait again in {others}."),
        twice(
            .information, Kind([.decodesContent], none: [.transport]),
            "{others} decodes the content before {layer} sees it."),
        twice(
            .information, [.validation],
            "{others} throws for a status before {layer} sees the response, so that only statuses that both accept are returned."
        ),
        twice(
            .warning, [.resilience, .sharesResponses],
            "{layer} has made one request of equal ones before they reach {others}."),
        // Two layers with one store have a hazard of their own.
        twice(
            .information, [.caching, .sharesResponses], mayShareState: false,
            "{layer} and {others} store each response twice, and {others} answers only if {layer} has nothing."),
    ]

    private static func twice(
        _ severity: Finding.Severity, _ kind: Kind, mayShareState: Bool = true, _ consequence: String
    ) -> CompositionRule {
        .init(kind) { node, tree in
            let other = tree.nodes(insideOf: node).first {
                $0.layer.name == node.layer.name && kind.contains($0) && (mayShareState || !node.sharesState(with: $0))
            }
            return other.map { Finding("layerTwice", severity, node, [$0], consequence, change: "Keep one of them.") }
        }
    }
}

extension LayerTree.Node {
    fileprivate func sharesState(with other: LayerTree.Node) -> Bool {
        !layer.memory.state.isDisjoint(with: other.layer.memory.state)
    }
}

extension LayerTree {
    /// The sentence about layers that send often, one inside of the other.
    fileprivate func product(of nodes: [Node]) -> String {
        let count = Worst<Int>.requests(of: layers[...], counting: .inside).value
        return "\(nodes.map(\.name).listed) multiply: one call may be sent "
            + "\(count.map { "\($0) times" } ?? "without a limit")."
    }
}
