import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that a decorator's own layer, with a name, stands before the layers of its base.
    ///
    /// Layers learn from `Connection.layers` about the inner layers, such as whether they add credentials.
    public static let layerOrder = DecoratorLaw("layerOrder") { subject in
        let probe = Probe { _, _ in Response(status: .ok) }
        let layers = try subject.connection(over: probe).layers
        try expect(Array(layers.suffix(probe.layers.count)), is: probe.layers, "layers of the base")
        try expect(layers.count > probe.layers.count, "an own layer")
        try expect(layers.allSatisfy { !$0.name.isEmpty }, "a name")
        try expect(layers.dropLast().allSatisfy { $0.role != .transport }, "one transport")
    }

    /// Demands that a layer which sends more than once for a call says so by the fact `.resends`, and how often.
    public static let declaredResending = DecoratorLaw("declaredResending") { subject in
        try await subject.each(subject.provocations) { path in
            let provoked = try await path.provoke(subject)
            let count = provoked.requests.count
            try expect(count <= 1 || provoked.own.facts.contains(.resends), "the fact resends for \(count) sendings")
            let most = provoked.own.reduce(1) { most, layer in
                let (product, overflows) = most.multipliedReportingOverflow(by: layer.sending.times.upperBound)
                return overflows ? .max : product
            }
            try expect(count <= max(most, 0), "\(most) declared sendings, got \(count)")
        }
    }

    /// Demands that a layer which changes a request says so, and names the fields that hold its secrets.
    ///
    /// A layer that adds fields has the fact `.changesSignedParts`, or names all of them in `Layer.secretFields`. It always
    /// names a field that carries credentials by definition, such as `Authorization`, and has the fact `.addsCredentials`.
    public static let declaredChanges = DecoratorLaw("declaredChanges") { subject in
        try await subject.each(subject.provocations) { path in
            let originals = try path.isOfLaws ? [path.request(), Request(head: .relative)] : [path.request()]
            for original in originals {
                let provoked = try await path.provoke(subject, with: original)
                for request in provoked.requests {
                    try expectDeclared(request.head.changes(from: original.head), by: provoked.own)
                }
            }
        }
    }

    private static func expectDeclared(
        _ changes: (hasTarget: Bool, fields: Set<HTTPField.Name>), by layers: [Layer]
    ) throws(ConformanceFailure) {
        let (secretFields, facts) = (layers.secretFields, layers.facts)
        let unnamed = changes.fields.intersection(HTTPField.Name.credentials).subtracting(secretFields)
        try expect(unnamed, is: [], "undeclared secret fields")
        let addsSecret = !changes.fields.isDisjoint(with: secretFields)
        try expect(!addsSecret || facts.contains(.addsCredentials), "the fact addsCredentials")
        guard !facts.contains(.changesSignedParts) else { return }
        try expect(!changes.hasTarget, "the fact changesSignedParts")
        try expect(changes.fields.subtracting(secretFields), is: [], "undeclared fields")
    }

    /// Demands that a layer which changes content, responses, the origin or the principal, or which gives, invents or shares
    /// answers, says so.
    ///
    /// A digest is made of the content that is sent, and a cache keeps no answer that no server gave. A layer also answers if
    /// it has sent the request and got only a failure from the base.
    public static let declaredEffects = DecoratorLaw("declaredEffects") { subject in
        let declared = try subject.ownLayers().facts
        let checked: Set<Layer.Fact> = [
            .answers, .inventsAnswers, .changesContent, .changesResponse, .decodesContent, .setsPrincipal, .setsOrigin,
            .makesIdempotent, .sharesResponses,
        ]
        try await subject.each(subject.provocations + ActivePath.shows) { path in
            let writes = Monitor(0)
            let log = LogSink { _ in _ = writes.increment() }
            let shown = try await shownEffects(of: subject, on: path, conditions: .init(log: log))
            try expect(names(shown.intersection(checked).subtracting(declared)), is: [], "undeclared facts")
            try expect(writes.state == 0 || declared.contains(.records), "the fact records")
        }
        let heads = try await [firstHead(sentBy: subject), firstHead(sentBy: subject)]
        try expect(heads[0] == heads[1] || declared.contains(.variesPerSend), "the fact variesPerSend")
    }

    private static func firstHead(sentBy subject: DecoratorSubject) async throws -> HTTPRequest? {
        let probe = Probe { _, _ in Response(status: .ok) }
        _ = try? await subject.connection(over: probe).send(.lawful())
        return probe.requests.first?.head
    }

    private static func names(_ facts: Set<Layer.Fact>) -> [String] { facts.map(\.name).sorted() }

    /// Demands that a layer has each effect that it declares.
    ///
    /// Describe by an ``ActivePath`` the exchange on which the layer has the effect; exclude the law for an effect that needs
    /// more than one exchange. Bind a layer of credentials to ``DecoratorLaw/origin``.
    ///
    /// A layer adds credentials if it sets a field that is secret by definition or by a declaration, or a query item that the
    /// options name as secret. It signs if these depend on the request. A layer that binds to origins sends requests to other
    /// origins as they are. A fact about what may happen, such as `.variesPerSend`, need not be shown.
    public static let shownDeclarations = DecoratorLaw("shownDeclarations") { subject in
        let declared = try subject.ownLayers().facts
        // The facts that behaviour can show; `.refuses` is checked where it is declared.
        var missing = declared.intersection([
            .answers, .refuses, .resends, .inventsAnswers, .changesSignedParts, .changesContent, .changesResponse,
            .decodesContent, .setsPrincipal, .setsOrigin, .makesIdempotent, .sharesResponses, .addsCredentials, .signs,
        ])
        for path in subject.provocations + ActivePath.shows where !missing.isEmpty {
            missing.subtract(try await shownEffects(of: subject, on: path))
        }
        if missing.contains(.signs), try await signs(subject) { missing.remove(.signs) }
        let answering: Set<Layer.Fact> = [.answers, .sharesResponses]
        if !missing.isDisjoint(with: answering), try await sharesRequests(subject) { missing.subtract(answering) }
        try expect(names(missing), is: [], "facts without an effect")
        if declared.contains(.bindsToOrigins) { try await expectBinding(subject) }
    }

    /// Demands that a request to another origin carries no credentials of the layer.
    ///
    /// A credential that the layer names nowhere is found by the change that it makes, unless the decorator consists of
    /// other layers too, which may have changed the request.
    private static func expectBinding(_ subject: DecoratorSubject) async throws {
        let probe = Probe { _, _ in Response(status: .ok) }
        let original = try Request.get("https://foreign.example/")
        _ = try? await subject.connection(over: probe).send(original)
        let own = try subject.ownLayers(over: probe)
        let binding = own.filter { $0.facts.contains(.bindsToOrigins) }
        let bindsAlone = own.count == binding.count
        let secret = binding.secretFields.union(HTTPField.Name.credentials)
        for request in probe.requests {
            let changes = request.head.changes(from: original.head)
            let sent = bindsAlone ? changes.fields : changes.fields.intersection(secret)
            try expect(sent, is: [], "fields for another origin")
            try expect(!bindsAlone || !changes.hasTarget, "the target of another origin")
        }
    }

    /// The effects that one exchange along a path shows, as the facts that declare them.
    private static func shownEffects(
        of subject: DecoratorSubject, on path: ActivePath, conditions: DecoratorConditions = .init()
    ) async throws -> Set<Layer.Fact> {
        let request = try path.request()
        let answers = Monitor<[HTTPResponse?]>([])
        // Of all calls along the path.
        let recorded = ActivePath(
            path.description, sending: path.request, times: path.calls, adding: path.addedFields,
            changing: path.changedParts
        ) { request, number in
            let outcome = Result { try path.answer(request, number) }
            if !subject.isOwnRequest(request) { answers.update { $0.append((try? outcome.get())?.head) } }
            return try outcome.get()
        }
        let result = try await recorded.provoke(subject, with: request, on: conditions)
        var facts = facts(of: result.requests, asked: request, secrets: result.own.secretFields)
        if result.sent.count > 1 { facts.insert(.resends) }
        for sent in result.requests where !sent.body.isEmpty {
            let content = try? await sent.body.collectAll().data
            if content != request.body.bytes { facts.insert(.changesContent) }
        }
        guard case .success(let response) = result.result else {
            return result.sent.isEmpty ? facts.union([.refuses]) : facts
        }
        // A 304 may carry the shared response in its metadata.
        let content = response.metadata.storedResponse?.body ?? response.body
        let isPrimed = (try? await content.collectAll().data) == Data(Response.primedText.utf8)
        if path.calls > 1, isPrimed { facts.insert(.sharesResponses) }
        let hasFailedLast = answers.state.last.map { $0 == nil } ?? false
        guard let last = answers.state.compactMap(\.self).last else { return facts.union([.answers, .inventsAnswers]) }
        if result.sent.isEmpty || hasFailedLast { facts.insert(.answers) }
        if response.head != last { facts.insert(.changesResponse) }
        if last.headerFields.contains(.contentEncoding), !response.head.headerFields.contains(.contentEncoding) {
            facts.insert(.decodesContent)
        }
        return facts
    }

    /// The facts that the heads and the options of sent requests show.
    private static func facts(
        of sent: [Request], asked: Request, secrets: Set<HTTPField.Name>
    ) -> Set<Layer.Fact> {
        var facts: Set<Layer.Fact> = []
        for request in sent {
            let changes = request.head.changes(from: asked.head)
            if !request.credentials(addedTo: asked, secrets: secrets).isEmpty { facts.insert(.addsCredentials) }
            if changes.hasTarget || !changes.fields.isEmpty { facts.insert(.changesSignedParts) }
            if asked.head.authority == nil, request.head.authority != nil { facts.insert(.setsOrigin) }
            if request.head.hasIdempotencyKey, !asked.head.hasIdempotencyKey { facts.insert(.makesIdempotent) }
            if request.options.principal != asked.options.principal { facts.insert(.setsPrincipal) }
        }
        return facts
    }

    /// Returns whether the credentials of requests depend on their target, their method or their content.
    private static func signs(_ subject: DecoratorSubject) async throws -> Bool {
        var shown: Set<[String]> = []
        for request in [
            try Request.get("\(origin)/resource"), try .get("\(origin)/other?page=2"),
            try .put("\(origin)/resource", body: "content"),
        ] {
            let probe = Probe { _, _ in Response(status: .ok) }
            _ = try? await subject.connection(over: probe).send(request)
            let secrets = try subject.ownLayers(over: probe).secretFields
            shown.insert(probe.requests.first?.credentials(addedTo: request, secrets: secrets) ?? [])
        }
        return shown.count > 1
    }

    /// Returns whether two equal requests at the same time are sent once.
    private static func sharesRequests(_ subject: DecoratorSubject) async throws -> Bool {
        // A second request that comes after the end of the first is sent, also by a layer that shares.
        for _ in 0..<5 {
            let gate = Gate()
            let probe = Probe { _, _ in
                try await gate.wait()
                return Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: "shared")
            }
            let connection = try subject.connection(over: probe)
            let calls = (0..<2).map { _ in
                CallInProgress { try await connection.send(.lawful()).body.collectAll().data.count }
            }
            guard (try? await gate.waitForWaiting(1)) != nil else { return false }
            for _ in 0..<500 where probe.requests.count < 2 { await Task.yield() }
            gate.open()
            for call in calls { _ = try? await call.value() }
            if probe.requests.count == 1 { return true }
        }
        return false
    }
}

extension HTTPField.Name {
    /// The fields of requests that carry credentials by definition (RFC 9110, section 11; RFC 6265, section 4.2).
    fileprivate static let credentials: Set<HTTPField.Name> = [.authorization, .proxyAuthorization, .cookie]
}

extension Request {
    /// The credentials that layers have added to a request: the values of secret fields and of secret query items.
    fileprivate func credentials(addedTo original: Request, secrets: Set<HTTPField.Name>) -> [String] {
        let changes = head.changes(from: original.head)
        let fields = changes.fields.intersection(secrets.union(options.secretFields).union(HTTPField.Name.credentials))
        let known = original.secretItems(named: options.secretQueryItems)
        return fields.sorted { $0.canonicalName < $1.canonicalName }.flatMap { head.headerFields[values: $0] }
            + secretItems(named: options.secretQueryItems).filter { !known.contains($0) }
    }

    /// The items of the query with these names, as they are sent.
    private func secretItems(named names: Set<String>) -> [String] {
        guard !names.isEmpty, let query = head.path?.split(separator: "?", maxSplits: 1).dropFirst().first else {
            return []
        }
        return query.split(separator: "&").filter { names.contains(String($0.prefix { $0 != "=" })) }.map(String.init)
    }
}

extension HTTPRequest {
    fileprivate static let relative = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/resource")
}

extension ActivePath {
    /// The paths on which declarations show, beside the ones that the author of the decorator knows.
    fileprivate static let shows = [
        ActivePath(ofLaws: "a 304", calls: 2) { _, request in
            HTTPResponse(
                status: request.headerFields.contains(.ifNoneMatch) ? .notModified : .ok,
                headerFields: [.cacheControl: "no-cache", .eTag: #""1""#])
        },
        ActivePath(ofLaws: "an unreachable server") { _, _ in throw TransportError(.unreachable, at: .connecting) },
        showing("only-if-cached", request(.get, fields: [.cacheControl: "only-if-cached"])),
        showing("only-if-cached without an origin", onlyIfCached),
        ActivePath("content in gzip") { _, _ in
            Response(status: .ok, fields: [.contentEncoding: "gzip"], body: Body(.gzippedHello))
        },
        showing("an upload", request(.put, body: repetitive)),
        ActivePath("a refused coding", sending: request(.put, body: repetitive)) { request, _ in
            request.headerFields.contains(.contentEncoding)
                ? Response(status: .unsupportedMediaType, fields: [.acceptEncoding: "identity"])
                : Response(status: .ok)
        },
        showing("a relative request", Request(head: .relative)),
    ]

    private static func showing(_ description: String, _ request: Request) -> ActivePath {
        ActivePath(description, sending: request) { _, _ in Response(status: .ok) }
    }

    private static var onlyIfCached: Request {
        var head = HTTPRequest.relative
        head.headerFields[.cacheControl] = "only-if-cached"
        return Request(head: head)
    }

    private static let repetitive = Body(String(repeating: "the same line\n", count: 200))

    private static func request(
        _ method: HTTPRequest.Method, fields: HTTPFields = [:], body: Body = .empty
    ) -> Request {
        Request(
            head: HTTPRequest(
                method: method, scheme: "https", authority: "origin.example", path: "/resource", headerFields: fields),
            body: body)
    }
}
