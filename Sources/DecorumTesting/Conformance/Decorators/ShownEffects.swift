import Decorum
import Foundation
import HTTPTypes

/// The effects of a decorator that an exchange shows, as the facts that declare them.
struct ShownEffects {
    /// The facts that behaviour can show, so that a declaration of one can be checked in both directions;
    /// `refuses` is checked where it is declared.
    static let observable: Set<Layer.Fact> = [
        .answers, .refuses, .resends, .inventsAnswers, .changesSignedParts, .changesContent, .changesResponse,
        .decodesContent,
        .setsPrincipal, .setsOrigin, .makesIdempotent, .sharesResponses, .addsCredentials, .signs,
    ]

    /// The facts of one exchange along a path.
    static func of(
        _ subject: DecoratorSubject, on path: ActivePath, conditions: DecoratorConditions = .init()
    ) async throws -> Set<Layer.Fact> {
        let request = try path.request()
        let record = Monitor(Record())
        let result = try await path.provoke(subject, with: request, on: conditions, recording: record)
        let forwarded = result.sent.filter { !subject.isOwnRequest($0.head) }
        var facts = facts(of: forwarded, asked: request, secrets: result.own.secretFields)
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
        let answers = record.state.answers
        guard let last = answers.last else { return facts.union([.answers, .inventsAnswers]) }
        if result.sent.isEmpty || record.state.hasFailedLast { facts.insert(.answers) }
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
        let added = sent.map { $0.credentials(addedTo: asked, secrets: secrets) }
        if added.contains(where: { !$0.isEmpty }) { facts.insert(.addsCredentials) }
        for request in sent {
            let changes = request.head.changes(from: asked.head)
            if changes.hasTarget || !changes.fields.isEmpty { facts.insert(.changesSignedParts) }
            if asked.head.authority == nil, request.head.authority != nil { facts.insert(.setsOrigin) }
            if request.head.hasIdempotencyKey, !asked.head.hasIdempotencyKey { facts.insert(.makesIdempotent) }
            if request.options.principal != asked.options.principal { facts.insert(.setsPrincipal) }
        }
        return facts
    }

    /// The answers of a base to all requests along a path.
    struct Record: Sendable {
        /// The heads of the responses, in order.
        var answers: [HTTPResponse] = []
        /// Whether the last request got none.
        var hasFailedLast = false

        mutating func add(_ outcome: Result<Response, any Error>) {
            hasFailedLast = true
            guard case .success(let response) = outcome else { return }
            answers.append(response.head)
            hasFailedLast = false
        }
    }

    /// Returns whether the credentials of requests depend on their target, their method or their content.
    static func signs(_ subject: DecoratorSubject) async throws -> Bool {
        let requests = [
            try Request.get("\(DecoratorLaw.origin)/resource"), try .get("\(DecoratorLaw.origin)/other?page=2"),
            try .put("\(DecoratorLaw.origin)/resource", body: "content"),
        ]
        var shown: Set<[String]> = []
        for request in requests {
            let probe = Probe { _, _ in Response(status: .ok) }
            _ = try? await subject.connection(over: probe).send(request)
            let secrets = try subject.ownLayers(over: probe).secretFields
            shown.insert(probe.requests.first?.credentials(addedTo: request, secrets: secrets) ?? [])
        }
        return shown.count > 1
    }

    /// Returns whether two equal requests at the same time are sent once.
    static func sharesRequests(_ subject: DecoratorSubject) async throws -> Bool {
        // A second request that comes after the end of the first is sent, also by a layer that shares.
        for _ in 0..<5 {
            if try await sharesTwo(subject) { return true }
        }
        return false
    }

    private static func sharesTwo(_ subject: DecoratorSubject) async throws -> Bool {
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
        return probe.requests.count == 1
    }
}

extension Request {
    /// The credentials that layers have added to a request: the values of secret fields and of secret query items.
    fileprivate func credentials(addedTo original: Request, secrets: Set<HTTPField.Name>) -> [String] {
        let changes = head.changes(from: original.head)
        let fields = changes.fields.intersection(secrets.union(options.secretFields).union(HTTPField.Name.credentials))
        let items = secretItems(named: options.secretQueryItems)
        let added = items.filter { !original.secretItems(named: options.secretQueryItems).contains($0) }
        return fields.sorted { $0.canonicalName < $1.canonicalName }.flatMap { head.headerFields[values: $0] } + added
    }

    /// The items of the query with these names, as they are sent.
    private func secretItems(named names: Set<String>) -> [String] {
        guard !names.isEmpty, let query = head.path?.split(separator: "?", maxSplits: 1).dropFirst().first else {
            return []
        }
        return query.split(separator: "&").filter { names.contains(String($0.prefix { $0 != "=" })) }.map(String.init)
    }
}

extension [Layer] {
    /// The fields that the layers declare as secret.
    fileprivate var secretFields: Set<HTTPField.Name> { reduce(into: []) { $0.formUnion($1.secretFields) } }
}

extension ActivePath {
    /// The paths on which declarations show, beside those that the decorator's author knows.
    static let shows = [
        confirmed, neverReached, onlyIfCached, onlyIfCachedWithoutOrigin, coded, upload, refusedCoding, relative,
    ]

    private static let confirmed = ActivePath(ofLaws: "a 304", calls: 2) { _, request in
        HTTPResponse(
            status: request.headerFields.contains(.ifNoneMatch) ? .notModified : .ok,
            headerFields: [.cacheControl: "no-cache", .eTag: #""1""#])
    }
    private static let neverReached = ActivePath(ofLaws: "a server that is never reached") { _, _ in
        throw TransportError(.unreachable, at: .connecting)
    }
    private static let onlyIfCached = ActivePath(
        "only-if-cached", sending: request(.get, fields: [.cacheControl: "only-if-cached"])
    ) { _, _ in Response(status: .ok) }
    private static let onlyIfCachedWithoutOrigin = ActivePath(
        "only-if-cached without an origin",
        sending: Request(
            head: HTTPRequest(
                method: .get, scheme: nil, authority: nil, path: "/resource",
                headerFields: [.cacheControl: "only-if-cached"]))
    ) { _, _ in Response(status: .ok) }
    private static let coded = ActivePath("content in gzip") { _, _ in
        let content =
            "H4sIAAAAAAACAxXLwQ2AMAwDwFU8AGIaFkDgNIjioKbdH/q/25w4Qp3qCMOOxnxDyQU1VEDFKA6Lhozntz5056TnZcY2X6VK9/UD+Zo2lUsAAAA="
        return Response(
            status: .ok, fields: [.contentEncoding: "gzip"], body: Body(Data(base64Encoded: content) ?? Data()))
    }
    private static let upload = ActivePath("an upload", sending: request(.put, body: repetitive)) { _, _ in
        Response(status: .ok)
    }
    private static let refusedCoding = ActivePath(
        "a coding that is refused", sending: request(.put, body: repetitive)
    ) { request, _ in
        request.headerFields.contains(.contentEncoding)
            ? Response(status: .unsupportedMediaType, fields: [.acceptEncoding: "identity"])
            : Response(status: .ok)
    }
    private static let relative = ActivePath(
        "a relative request",
        sending: Request(head: HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/resource"))
    ) { _, _ in Response(status: .ok) }

    private static let repetitive = Body(String(repeating: "the same line\n", count: 200))

    private static func request(
        _ method: HTTPRequest.Method, fields: HTTPFields = [:], body: Body = .empty
    ) -> Request {
        Request(
            head: HTTPRequest(
                method: method, scheme: "https", authority: "origin.example", path: "/resource", headerFields: fields),
            body: body)
    }

    /// Sends the request of the path through a decorator, and records each answer of the base.
    fileprivate func provoke(
        _ subject: DecoratorSubject, with request: Request, on conditions: DecoratorConditions,
        recording record: Monitor<ShownEffects.Record>
    ) async throws -> Provoked {
        let recorded = ActivePath(
            description, sending: self.request, times: calls, adding: addedFields, changing: changedParts
        ) { request, number in
            let outcome = Result { try answer(request, number) }
            if !subject.isOwnRequest(request) { record.update { $0.add(outcome) } }
            return try outcome.get()
        }
        return try await recorded.provoke(subject, with: request, on: conditions) { _, _, outcome in try outcome.get() }
    }
}
