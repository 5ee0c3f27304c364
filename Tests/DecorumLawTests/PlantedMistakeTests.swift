import Decorum
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// The laws, held against the mistakes that authors of decorators make.
@Suite(.timeLimit(.minutes(5))) struct PlantedMistakeTests {
    @Test(arguments: PlantedMistake.all)
    func `A planted mistake is caught by the law against it`(mistake: PlantedMistake) async throws {
        let failure = await #expect(throws: ConformanceFailure.self) {
            try await mistake.decorator.check(mistake.law)
        }
        #expect(failure?.name == mistake.law.name)
    }

    @Test(arguments: PlantedMistake.plain)
    func `A plain mistake breaks no further law`(mistake: PlantedMistake) async {
        for law in DecoratorLaw.all where law != mistake.law && !mistake.others.contains(law) {
            await #expect(throws: Never.self, "\(law)") { try await mistake.decorator.check(law) }
        }
    }

    @Test(arguments: PlantedMistake.all.filter(\.isActiveAlone))
    func `A mistake in what a layer does is not seen while it does nothing`(mistake: PlantedMistake) async throws {
        try await mistake.decorator.check(mistake.law, isActive: false)
    }

    @Test func `Every law has a decorator that breaks it`() {
        #expect(Set(PlantedMistake.all.map(\.law)) == Set(DecoratorLaw.all))
    }
}

/// A mistake in a decorator, and the law that catches it.
struct PlantedMistake: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let law: DecoratorLaw
    /// Further laws that the same mistake breaks.
    var others: Set<DecoratorLaw> = []
    let decorator: ExaminedDecorator
    /// Whether an ordinary exchange does not show it.
    var isActiveAlone = false

    static let all = plain + samples

    static let plain = bodies + fields + exchanges + declarations

    private init(
        _ law: DecoratorLaw, and others: Set<DecoratorLaw> = [], _ name: String, adding: Set<HTTPField.Name> = [],
        decorate: @escaping @Sendable (AnyConnection) throws -> any Connection
    ) {
        testDescription = name
        self.law = law
        self.others = others
        decorator = ExaminedDecorator(name, adding: adding) { base, _ in try decorate(base) }
    }

    /// Creates a mistake in the way a request is sent.
    private init(
        _ law: DecoratorLaw, and others: Set<DecoratorLaw> = [], _ name: String, adding: Set<HTTPField.Name> = [],
        facts: Set<Layer.Fact> = [],
        _ sending: @escaping @Sendable (Request, AnyConnection) async throws -> Response
    ) {
        self.init(law, and: others, name, adding: adding) { Broken($0, facts: facts, sending) }
    }

    /// Creates a mistake in the request that is sent on.
    private init(
        _ law: DecoratorLaw, and others: Set<DecoratorLaw> = [], _ name: String, adding: Set<HTTPField.Name> = [],
        facts: Set<Layer.Fact> = [], request change: @escaping @Sendable (inout Request) async throws -> Void
    ) {
        self.init(law, and: others, name, adding: adding, facts: facts) { request, base in
            var request = request
            try await change(&request)
            return try await base.send(request)
        }
    }

    /// Creates a mistake in the response that is returned.
    private init(
        _ law: DecoratorLaw, and others: Set<DecoratorLaw> = [], _ name: String,
        response change: @escaping @Sendable (inout Response) async throws -> Void
    ) {
        self.init(law, and: others, name) { request, base in
            var response = try await base.send(request)
            try await change(&response)
            return response
        }
    }

    private static let bodies: [PlantedMistake] = [
        .init(
            .requestBodiesOnce, "reads the content to hash it, and forwards the body",
            request: { if $0.body.replay > .once { _ = try? await $0.body.data(upTo: 1 << 20) } }),
        .init(.requestStreaming, "reads an upload ahead", request: { $0.body = $0.body.read(ReadingAhead.init) }),
        .init(
            .requestTrailers, "forgets the trailers of a request",
            request: { $0.body = $0.body.read(WithoutTrailers.init) }),
        .init(
            .responseBodiesOnce, "loses what is behind 16 KiB",
            response: { $0.body = $0.body.read { Cut(reader: $0) } }),
        .init(.responseStreaming, "reads a download ahead", response: { $0.body = $0.body.read(ReadingAhead.init) }),
        .init(
            .responseTrailers, "forgets the trailers of a response",
            response: { $0.body = $0.body.read(WithoutTrailers.init) }),
        .init(
            .bodyErrors, "wraps the errors of bodies",
            response: { $0.body = $0.body.read { Mapping(reader: $0) { error in .failure(error.wrapped) } } }),
        .init(
            .bodyErrors, "ends a request's content where it fails",
            request: { $0.body = $0.body.read { Mapping(reader: $0) { _ in .success(nil) } } }),
        .init(
            .bodyCancellation, "takes a cancelled reading for the end",
            response: { response in
                response.body = response.body.read {
                    Mapping(reader: $0) { $0 is CancellationError ? .success(nil) : .failure($0) }
                }
            }),
        .init(.earlyDrop, "keeps the bodies of responses") { base in
            let bodies = Kept<Body>()
            return Broken(base) { request, base in
                let response = try await base.send(request)
                bodies.keep(response.body)
                return response
            }
        },
    ]

    private static let fields: [PlantedMistake] = [
        .init(
            .requestFields, "joins the fields of a request",
            request: { $0.head.headerFields = HTTPFields(joining: $0.head.headerFields) }),
        .init(
            .requestFields, and: [.idleness], "writes the names of fields in lower case",
            request: { request in
                request.head.headerFields = HTTPFields(
                    request.head.headerFields.compactMap { field in
                        HTTPField.Name(field.name.canonicalName).map { HTTPField(name: $0, value: field.value) }
                    })
            }),
        .init(
            .requestFields, and: [.idleness], "sorts fields",
            request: { $0.head.headerFields = HTTPFields($0.head.headerFields.sorted { $0.value < $1.value }) }),
        .init(
            .responseFields, "joins the fields of a response",
            response: { $0.head.headerFields = HTTPFields(joining: $0.head.headerFields) }),
        .init(
            .emptyResponses, "takes every answer of a type for one with content",
            response: { response in
                let isJSON = response.head.headerFields[.contentType] == "application/json"
                guard !isJSON || !response.body.isEmpty else { throw TransportError(.truncated, at: .body) }
            }),
        .init(
            .emptyResponses, "tells the length of a 204",
            response: { if $0.status == .noContent { $0.head.headerFields[.contentLength] = "0" } }),
        .init(
            .declaredSecrets, and: [.shownDeclarations], "adds credentials in a field that it does not name",
            adding: [.userAgent], facts: [.changesSignedParts, .addsCredentials],
            request: { $0.head.headerFields[.userAgent] = "broken; key=1" }),
        .init(
            .idleness, "adds an unrequested field", facts: [.changesSignedParts],
            request: { $0.head.headerFields[.userAgent] = "broken" }),
        .init(
            .declaredChanges, "adds a field in silence", adding: [.userAgent],
            request: { $0.head.headerFields[.userAgent] = "broken" }),
        .init(.metadata, "makes a new response", response: { $0 = Response(head: $0.head, body: $0.body) }),
        .init(
            .options, and: [.deadlines], "makes a new request", request: { $0 = Request(head: $0.head, body: $0.body) }),
    ]

    private static let exchanges: [PlantedMistake] = [
        .init(.idleness, and: [.shownDeclarations], "asks again behind the caller's back", facts: [.resends]) {
            request, base in
            let response = try await base.send(request)
            if request.body.length == 4 { Task { _ = try? await base.send(request) } }
            return response
        },
        .init(
            .idleness, and: [.shownDeclarations], "asks before it asks", adding: [.userAgent], facts: [.resends]
        ) { request, base in
            if request.body.length == 4 { _ = try await base.send(Request(head: request.head)) }
            return try await base.send(request)
        },
        .init(.concurrency, and: [.principals], "passes requests through one place") { base in
            let place = Kept<Request>()
            return Broken(base) { request, base in
                place.keep(request)
                await Task.yield()
                return try await base.send(place.all.last ?? request)
            }
        },
        .init(.deadlines, "forgets the deadline", request: { $0.options.deadline = nil }),
        .init(
            .deadlines, "gives a request more time than its caller",
            request: { $0.options.deadline = .now + .seconds(60) }),
        .init(.declaredTimes, "declares a time limit that it does not keep") { base in
            Broken(base, layer: Layer(name: "broken", time: .init(limit: .atMost(.seconds(1))))) { request, base in
                try await base.send(request)
            }
        },
        .init(
            .declaredTimes, and: [.release], "reads an error for as long as it comes",
            response: { response in
                guard response.status == .badGateway else { return }
                response.body = Body(try await response.body.data(upTo: 1 << 20))
            }),
    ]

    private static let declarations: [PlantedMistake] = [
        .init(.layerOrder, "names itself last") { base in MisplacedLayer(base: base) },
        .init(
            .declaredEffects, "names the user in silence",
            request: { $0.options.principal = $0.options.principal ?? Principal("broken") }),
        .init(
            .declaredEffects, and: [.errors], "answers with nothing, as if it had kept something", facts: [.answers]
        ) { request, base in
            do {
                return try await base.send(request)
            } catch let error as TransportError where error.code == .unreachable {
                return Response(status: .ok)
            }
        },
        .init(.shownDeclarations, "declares what it does not do", facts: [.changesContent], request: { _ in }),
        .init(
            .shownDeclarations, "declares credentials that it does not add", facts: [.addsCredentials],
            request: { _ in }),
        .init(
            .shownDeclarations, "declares a signature, and adds the same key to each request",
            adding: [.first, .second]
        ) { base in keyed(base, facts: [.addsCredentials, .signs]) },
        .init(
            .shownDeclarations, "binds the key that it declares, and not the other one", adding: [.first, .second]
        ) { base in
            let bound = keyed(base, facts: [.addsCredentials, .bindsToOrigins])
            return Broken(base, layer: bound.layer) { request, base in
                guard request.head.authority == "foreign.example" else { return try await bound.send(request) }
                var request = request
                request.head.headerFields[.second] = "second"
                return try await base.send(request)
            }
        },
    ]

    /// Adds the same two keys to each request, and declares one as secret.
    private static func keyed(_ base: AnyConnection, facts: Set<Layer.Fact>) -> Broken {
        let layer = Layer(name: "broken", facts: facts.union([.changesSignedParts]), secretFields: [.first])
        return Broken(base, layer: layer) { request, base in
            var request = request
            request.head.headerFields[.first] = "first"
            request.head.headerFields[.second] = "second"
            request.options.secretFields.insert(.first)
            return try await base.send(request)
        }
    }
}

private struct Broken: ComposedConnection {
    let base: AnyConnection
    let layer: Layer
    let sending: @Sendable (Request, AnyConnection) async throws -> Response

    init(
        _ base: AnyConnection, facts: Set<Layer.Fact> = [], layer: Layer? = nil,
        _ sending: @escaping @Sendable (Request, AnyConnection) async throws -> Response
    ) {
        self.base = base
        self.sending = sending
        self.layer = layer ?? Layer(name: "broken", facts: facts)
    }

    func send(_ request: consuming Request) async throws -> Response { try await sending(request, base) }
}

private struct MisplacedLayer: ComposedConnection {
    let base: AnyConnection

    var layers: [Layer] { base.layers + [layer] }

    func send(_ request: consuming Request) async throws -> Response { try await base.send(request) }
}

extension Error {
    /// The error wrapped in another one, unless it is a cancellation.
    fileprivate var wrapped: any Error {
        self is CancellationError ? self : TransportError(.other, at: .head, underlying: self)
    }
}

extension HTTPField.Name {
    fileprivate static let first = HTTPField.Name("X-First-Key") ?? .authorization
    fileprivate static let second = HTTPField.Name("X-Second-Key") ?? .authorization
}

private struct ReadingAhead: BodyReader {
    var reader: any BodyReader
    var chunks: [Data] = []

    init(reader: any BodyReader) {
        self.reader = reader
    }

    mutating func next() async throws -> Data? {
        while chunks.count < 8, let chunk = try await reader.next() {
            chunks.append(chunk)
        }
        return chunks.isEmpty ? nil : chunks.removeFirst()
    }

    var trailers: HTTPFields? { reader.trailers }
}

private struct WithoutTrailers: BodyReader {
    var reader: any BodyReader

    mutating func next() async throws -> Data? {
        try await reader.next()
    }

    var trailers: HTTPFields? { nil }
}

private struct Cut: BodyReader {
    var reader: any BodyReader
    var count = 0

    mutating func next() async throws -> Data? {
        guard let chunk = try await reader.next() else { return nil }
        count += chunk.count
        return count > 16 << 10 ? nil : chunk
    }

    var trailers: HTTPFields? { reader.trailers }
}

private struct Mapping: BodyReader {
    var reader: any BodyReader
    let map: @Sendable (any Error) -> Result<Data?, any Error>

    mutating func next() async throws -> Data? {
        do {
            return try await reader.next()
        } catch {
            return try map(error).get()
        }
    }

    var trailers: HTTPFields? { reader.trailers }
}

extension Body {
    /// The body as another reader reads it; an empty one stays as it is.
    fileprivate func read(_ wrap: @escaping @Sendable (any BodyReader) -> any BodyReader) -> Body {
        isEmpty ? self : read { reader, _ in wrap(reader) }
    }
}

extension PlantedMistake {
    private init(sample decorator: ExaminedDecorator, _ mistake: Any, _ law: DecoratorLaw, isActiveAlone: Bool) {
        testDescription = "\(decorator.testDescription): \(mistake)"
        self.law = law
        self.decorator = decorator
        self.isActiveAlone = isActiveAlone
    }

    /// The mistakes of a sample, by the laws that catch them; some show in an ordinary exchange, or all.
    private static func planted<Mistake: Hashable>(
        _ sample: (Mistake?) -> ExaminedDecorator, active: (Mistake) -> Bool,
        _ mistakes: KeyValuePairs<DecoratorLaw, [Mistake]>
    ) -> [PlantedMistake] {
        mistakes.flatMap { law, mistakes in
            mistakes.map { PlantedMistake(sample: sample($0), $0, law, isActiveAlone: active($0)) }
        }
    }

    private static let samples =
        planted(
            ExaminedDecorator.doubled, active: { _ in true },
            [
                .responseTrailers: [.dropsTrailers],
                .contentLengths: [.keepsContentLength, .keepsContentEncoding, .claimsCodedLength],
                .responseStreaming: [.collects], .responseBodiesOnce: [.takesAShortChunkForTheEnd, .opensTwice],
                .bodyErrors: [.endsAtAnError, .wrapsErrors], .metadata: [.makesNewResponse],
                .earlyDrop: [.keepsTransfer], .emptyResponses: [.decodesNothing],
                .bodyCancellation: [.endsAtCancellation], .responseFields: [.rewritesFields],
            ])
        + planted(
            ExaminedDecorator.again, active: { _ in false },
            [
                .effects: [.sendsPosts, .sendsPostsAfterLoss], .requestBodiesOnce: [.sendsOnceBodies],
                .cancelledSleep: [.swallowsTheSleep], .silenceAfterCancellation: [.ignoresCancellation],
                .cancellation: [.takesCancellation, .outlivesTheCaller], .release: [.holdsTheResponse, .readsAllOfIt],
                .declaredResending: [.isSilent], .declaredWaits: [.waitsInSilence], .options: [.forgetsOptions],
                .errors: [.wrapsErrors], .statuses: [.throwsStatus],
                .writtenSecrets: [.logsFields, .namesFieldsInErrors],
            ])
        + planted(
            ExaminedDecorator.refreshing, active: { [.sendsAgainAfterLoss, .swallowsCancellation].contains($0) },
            [
                .declaredSecrets: [.tellsNoOption], .options: [.replacesTheOption, .forgetsOptions],
                .declaredChanges: [.namesNoSecret, .isSilent], .writtenSecrets: [.logsTheToken],
                .requestBodiesOnce: [.sendsOnceBodies, .opensContentFirst], .effects: [.sendsAgainAfterLoss],
                .release: [.holdsTheResponse], .metadata: [.dropsTheResponseMetadata],
                .cancellation: [.swallowsCancellation],
            ])
        + planted(
            ExaminedDecorator.keeping, active: { $0 == .readsAhead },
            [
                .principals: [
                    .keysByPath, .keysByPrincipalAlone, .keysByAuthorizationAlone, .ignoresDeclaredSecrets,
                    .sharesFlights, .believesDeclarations,
                ],
                .declaredEffects: [.isSilent], .responseStreaming: [.readsAhead],
            ])
        + planted(
            ExaminedDecorator.leading, active: { _ in false },
            [
                .redirectedSecrets: [.takesSecretsAlong, .takesDeclaredSecretsAlong], .declaredChanges: [.isSilent],
                .release: [.holdsTheRedirection],
            ])
        + [
            PlantedMistake(
                sample: .mirrored(isSilent: true), "isSilent", .declaredChanges, isActiveAlone: false)
        ]
}

/// Decorators as their authors would write them, each with a way to be active.
extension ExaminedDecorator {
    static func doubled(_ mistake: DoubledConnection.Mistake? = nil) -> ExaminedDecorator {
        ExaminedDecorator("a decoder", answering: [.doubled]) { base, _ in
            DoubledConnection(base: base, mistake: mistake)
        }
    }

    static func again(_ mistake: AgainConnection.Mistake? = nil) -> ExaminedDecorator {
        ExaminedDecorator("a layer that retries", answering: [.tooMany, .tooManyUploads, .lost]) {
            AgainConnection(base: $0, conditions: $1, mistake: mistake)
        }
    }

    static func refreshing(_ mistake: RefreshingConnection.Mistake? = nil) -> ExaminedDecorator {
        ExaminedDecorator("a layer that refreshes a token", adding: [.authorization], answering: [.expired]) {
            RefreshingConnection(base: $0, conditions: $1, mistake: mistake)
        }
    }

    static func keeping(_ mistake: KeepingConnection.Mistake? = nil) -> ExaminedDecorator {
        ExaminedDecorator("a layer that keeps responses", answering: [.fresh, .keepable]) { base, _ in
            KeepingConnection(base: base, mistake: mistake)
        }
    }

    static func leading(_ mistake: LeadingConnection.Mistake? = nil) -> ExaminedDecorator {
        ExaminedDecorator("a layer that follows", answering: [.moved]) { base, _ in
            LeadingConnection(base: base, mistake: mistake)
        }
    }

    static func mirrored(isSilent: Bool = false) -> ExaminedDecorator {
        ExaminedDecorator("a layer that switches hosts", changing: [.target]) { base, _ in
            MirroredConnection(base: base, isSilent: isSilent)
        }
    }

    /// The same decorators without a mistake.
    static let honest = [doubled(), again(), refreshing(), keeping(), leading(), mirrored()]
}

extension DecoratorLaw.ActivePath {
    static let doubled = Self("doubled content", changing: [.responseContent]) { _, _ in
        Response(
            status: .ok, fields: [.contentEncoding: "x-doubled"],
            body: DoubledConnection.encode(
                "The content of a response, long enough for some chunks of different length."))
    }
    static let tooMany = Self("a 429") { _, number in
        number == 1 ? Response(status: .tooManyRequests, fields: [.retryAfter: "1"]) : Response(status: .ok)
    }
    static let tooManyUploads = Self(
        "a 429 for an upload",
        sending: Request(
            head: HTTPRequest(method: .put, scheme: "https", authority: "origin.example", path: "/upload"),
            body: "the content of an upload")
    ) { _, number in
        Response(status: number == 1 ? .tooManyRequests : .ok)
    }
    static let lost = Self("a connection that is lost") { _, number in
        guard number > 1 else { throw TransportError(.connectionLost, at: .head) }
        return Response(status: .ok)
    }
    static let expired = Self("an expired token") { request, _ in
        if request.path == RefreshingConnection.tokenPath { return Response(status: .ok, body: "second") }
        return Response(status: request.headerFields[.authorization] == "Bearer second" ? .ok : .unauthorized)
    }
    static let fresh = Self("a response that is kept", times: 2) { _, _ in
        Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: "kept")
    }
    static let keepable = Self("a response to keep") { _, _ in
        Response(status: .ok, fields: [.cacheControl: "max-age=60"])
    }
    static let moved = Self("a redirection", changing: [.target]) { _, number in
        number == 1 ? Response(status: .found, fields: [.location: "/new"]) : Response(status: .ok, body: "moved")
    }
}
