import Decorum
import HTTPTypes

extension DecoratorLaw {
    /// Demands that a layer which waits says so, and how long at most.
    ///
    /// A request that waits may outlive a signature and a deadline. A decorator is held to this with the clock of
    /// ``DecoratorConditions``, by the first wait on each path.
    public static let declaredWaits = DecoratorLaw(
        "declaredWaits", "A layer that lets a request wait has the fact `.waits`, and keeps its bound."
    ) { subject in
        for path in subject.provocations {
            let clock = VirtualClock()
            let busy = Monitor(0)
            let call = CallInProgress {
                try await path.provoke(subject, with: path.request(), on: .init(clock: clock)) { _, _, outcome in
                    busy.update { $0 += 1 }
                    defer { busy.update { $0 -= 1 } }
                    return try outcome.get()
                }.result.get()
            }
            guard try await call.sleeps(on: clock, whileIdle: busy) else { continue }
            let wait = clock.pendingSleeps.min() ?? .zero
            _ = try await call.cancelled("After \(path), a call went on whose sleep was cancelled.")
            let own = try subject.ownLayers(over: Probe { _, _ in Response(status: .ok) })
            try require(
                own.contains { $0.facts.contains(.waits) }, "After \(path), a request waited, which no layer declares.")
            try require(
                own.contains { $0.time.waiting.allows(wait) && $0.facts.contains(.waits) },
                "After \(path), a request waited for \(wait), which is longer than any layer declares.")
        }
    }

    /// Demands that a layer which changes content, responses, the origin or the principal, or which invents or shares
    /// answers, says so.
    ///
    /// A digest has to be made of the content that is sent, and verified over the content that came; a cache must not keep
    /// an answer that no server gave.
    public static let declaredEffects = DecoratorLaw(
        "declaredEffects", "A layer declares each effect on content, responses and principals that it has."
    ) { subject in
        let declared = try subject.declaredFacts()
        let checked: Set<Layer.Fact> = [
            .inventsAnswers, .changesContent, .changesResponse, .decodesContent, .setsPrincipal, .setsOrigin,
            .makesIdempotent, .sharesResponses,
        ]
        for path in subject.provocations + ActivePath.shows {
            let writes = Monitor(0)
            let log = LogSink { _ in writes.update { $0 += 1 } }
            let shown = try await ShownEffects.of(subject, on: path, conditions: .init(log: log))
            let undeclared = shown.intersection(checked).subtracting(declared)
            try require(undeclared.isEmpty, "After \(path), no layer declares what it did: \(names(undeclared)).")
            try require(
                writes.state == 0 || declared.contains(.records),
                "After \(path), something was written, which no layer declares.")
        }
        try require(
            try await sendsTheSame(subject) || declared.contains(.variesPerSend),
            "Two new connections sent an equal request differently, which no layer declares.")
    }

    /// Demands that a layer does what it declares.
    ///
    /// A declared effect that does not exist causes needless warnings, and keeps other layers out of places that would
    /// be correct for them. Describe by an ``ActivePath`` the exchange on which the layer has the effect; an effect
    /// that needs more than one exchange is excluded with that reason.
    ///
    /// A layer adds credentials if it sets a field that is secret by definition or by a declaration, or a query item that the
    /// options name as secret. It signs if these depend on the request. A layer that binds to origins sends requests to other
    /// origins as they are. A fact about what may happen, such as `.variesPerSend`, need not be shown.
    public static let shownDeclarations = DecoratorLaw(
        "shownDeclarations", "A layer has each effect that it declares, and sends as often as it says."
    ) { subject in
        let declared = try subject.declaredFacts()
        var missing = declared.intersection(ShownEffects.observable)
        for path in subject.provocations + ActivePath.shows where !missing.isEmpty {
            missing.subtract(try await ShownEffects.of(subject, on: path))
        }
        if missing.contains(.signs), try await ShownEffects.signs(subject) { missing.remove(.signs) }
        let answering: Set<Layer.Fact> = [.answers, .sharesResponses]
        if !missing.isDisjoint(with: answering), try await ShownEffects.sharesRequests(subject) {
            missing.subtract(answering)
        }
        let advice =
            declared.contains(.bindsToOrigins) ? " Bind it to `DecoratorLaw.origin`, to which the laws send." : ""
        try require(missing.isEmpty, "A layer declares what no exchange has shown: \(names(missing)).\(advice)")
        if declared.contains(.bindsToOrigins) { try await requireBinding(subject) }
    }

    private static func names(_ facts: Set<Layer.Fact>) -> String {
        facts.map { "`.\($0.name)`" }.sorted().joined(separator: ", ")
    }

    private static func sendsTheSame(_ subject: DecoratorSubject) async throws -> Bool {
        var heads: [HTTPRequest?] = []
        for _ in 1...2 {
            let probe = Probe { _, _ in Response(status: .ok) }
            _ = try? await subject.connection(over: probe).send(.lawful())
            heads.append(probe.requests.first?.head)
        }
        return heads[0] == heads[1]
    }

    /// Demands that a request to another origin carries no credentials of the layer.
    ///
    /// A credential that the layer names nowhere is found by the change that it makes, unless the decorator consists of
    /// other layers too, which may have changed the request.
    private static func requireBinding(_ subject: DecoratorSubject) async throws {
        let probe = Probe { _, _ in Response(status: .ok) }
        let original = try Request.get("https://foreign.example/")
        _ = try? await subject.connection(over: probe).send(original)
        let own = try subject.ownLayers(over: probe)
        let bindsAlone = own.allSatisfy { $0.facts.contains(.bindsToOrigins) }
        let secret = own.filter { $0.facts.contains(.bindsToOrigins) }.reduce(into: HTTPField.Name.credentials) {
            $0.formUnion($1.secretFields)
        }
        for request in probe.requests {
            let changes = request.head.changes(from: original.head)
            let sent = bindsAlone ? changes.fields : changes.fields.intersection(secret)
            try require(sent.isEmpty, "A layer that binds its credentials sent \(sent) to another origin.")
            try require(
                !bindsAlone || !changes.hasTarget,
                "A layer that binds its credentials changed the target of a request to another origin.")
        }
    }
}

extension DecoratorSubject {
    /// The facts of all layers that the decorator is made of.
    func declaredFacts() throws -> Set<Layer.Fact> {
        try ownLayers(over: Probe { _, _ in Response(status: .ok) }).reduce(into: []) { $0.formUnion($1.facts) }
    }
}
