import Decorum
import DecorumConformance
import DecorumTesting
import HTTPTypes
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

    @Test(arguments: PlantedMistake.all.filter(\.isActiveAlone))
    func `A mistake in what a layer does is not seen while it does nothing`(mistake: PlantedMistake) async throws {
        try await mistake.decorator.check(mistake.law, isActive: false)
    }

    @Test(arguments: SampleDecorator.honest)
    func `The same decorator without a mistake keeps all laws`(decorator: SampleDecorator) async {
        for law in DecoratorLaw.all {
            do {
                try await decorator.check(law)
            } catch {
                Issue.record(error, "\(law)")
            }
        }
    }
}

/// A decorator as its author would write it, with a way to be active.
struct SampleDecorator: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var addedFields: Set<HTTPField.Name> = []
    var changedParts: Set<DecoratorLaw.Part> = []
    let paths: [DecoratorLaw.ActivePath]
    let decorate: @Sendable (AnyConnection, DecoratorConditions) throws -> any Connection

    func check(_ law: DecoratorLaw, isActive: Bool = true) async throws {
        try await law.check(
            adding: addedFields, changing: changedParts, asking: [RefreshingConnection.tokenPath],
            answering: isActive ? paths : [], decorate)
    }

    static func doubled(_ mistake: DoubledConnection.Mistake? = nil) -> SampleDecorator {
        SampleDecorator(testDescription: "a decoder", paths: [.doubled]) { base, _ in
            DoubledConnection(base: base, mistake: mistake)
        }
    }

    static func again(_ mistake: AgainConnection.Mistake? = nil) -> SampleDecorator {
        SampleDecorator(testDescription: "a layer that retries", paths: [.tooMany, .tooManyUploads, .lost]) {
            AgainConnection(base: $0, conditions: $1, mistake: mistake)
        }
    }

    static func refreshing(_ mistake: RefreshingConnection.Mistake? = nil) -> SampleDecorator {
        SampleDecorator(
            testDescription: "a layer that refreshes a token", addedFields: [.authorization], paths: [.expired]
        ) {
            RefreshingConnection(base: $0, conditions: $1, mistake: mistake)
        }
    }

    static func keeping(_ mistake: KeepingConnection.Mistake? = nil) -> SampleDecorator {
        SampleDecorator(testDescription: "a layer that keeps responses", paths: [.fresh, .keepable]) { base, _ in
            KeepingConnection(base: base, mistake: mistake)
        }
    }

    static func leading(_ mistake: LeadingConnection.Mistake? = nil) -> SampleDecorator {
        SampleDecorator(testDescription: "a layer that follows", paths: [.moved]) { base, _ in
            LeadingConnection(base: base, mistake: mistake)
        }
    }

    static func mirrored(isSilent: Bool = false) -> SampleDecorator {
        SampleDecorator(testDescription: "a layer that switches hosts", changedParts: [.target], paths: []) { base, _ in
            MirroredConnection(base: base, isSilent: isSilent)
        }
    }

    /// Each decorator without a mistake.
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

/// A mistake in a decorator, and the law that catches it.
struct PlantedMistake: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let law: DecoratorLaw
    let decorator: SampleDecorator
    /// Whether an ordinary exchange does not show it.
    let isActiveAlone: Bool

    private init(
        _ mistake: some Sendable, _ decorator: SampleDecorator, _ law: DecoratorLaw,
        whenActive isActiveAlone: Bool = true
    ) {
        testDescription = "\(decorator.testDescription): \(mistake)"
        self.law = law
        self.decorator = decorator
        self.isActiveAlone = isActiveAlone
    }

    static let all =
        decoding + retrying + refreshing + keeping + leading
        + [PlantedMistake("isSilent", .mirrored(isSilent: true), .declaredChanges, whenActive: false)]

    private static let decoding = DoubledConnection.Mistake.allCases.map { mistake in
        let law: DecoratorLaw =
            switch mistake {
            case .dropsTrailers: .responseTrailers
            case .keepsContentLength, .keepsContentEncoding, .claimsCodedLength: .contentLengths
            case .collects: .responseStreaming
            case .takesAShortChunkForTheEnd, .opensTwice: .responseBodiesOnce
            case .endsAtAnError, .wrapsErrors: .bodyErrors
            case .makesNewResponse: .metadata
            case .keepsTransfer: .earlyDrop
            case .decodesNothing: .emptyResponses
            case .endsAtCancellation: .bodyCancellation
            case .rewritesFields: .responseFields
            }
        return PlantedMistake(mistake, .doubled(mistake), law)
    }

    private static let retrying = AgainConnection.Mistake.allCases.map { mistake in
        let law: DecoratorLaw =
            switch mistake {
            case .sendsPosts, .sendsPostsAfterLoss: .effects
            case .sendsOnceBodies: .requestBodiesOnce
            case .swallowsTheSleep: .cancelledSleep
            case .ignoresCancellation: .silenceAfterCancellation
            case .takesCancellation, .outlivesTheCaller: .cancellation
            case .holdsTheResponse, .readsAllOfIt: .release
            case .isSilent: .declaredResending
            case .waitsInSilence: .declaredWaits
            case .forgetsOptions: .options
            case .wrapsErrors: .errors
            case .throwsStatus: .statuses
            case .logsFields, .namesFieldsInErrors: .writtenSecrets
            }
        return PlantedMistake(mistake, .again(mistake), law, whenActive: false)
    }

    private static let refreshing = RefreshingConnection.Mistake.allCases.map { mistake in
        let law: DecoratorLaw =
            switch mistake {
            case .tellsNoOption: .declaredSecrets
            case .replacesTheOption, .forgetsOptions: .options
            case .namesNoSecret, .isSilent: .declaredChanges
            case .logsTheToken: .writtenSecrets
            case .sendsOnceBodies, .opensContentFirst: .requestBodiesOnce
            case .sendsAgainAfterLoss: .effects
            case .holdsTheResponse: .release
            case .dropsTheResponseMetadata: .metadata
            case .swallowsCancellation: .cancellation
            }
        let isActiveAlone = [.sendsAgainAfterLoss, .swallowsCancellation].contains(mistake)
        return PlantedMistake(mistake, .refreshing(mistake), law, whenActive: isActiveAlone)
    }

    private static let keeping = KeepingConnection.Mistake.allCases.map { mistake in
        let law: DecoratorLaw =
            switch mistake {
            case .keysByPath, .keysByPrincipalAlone, .keysByAuthorizationAlone, .ignoresDeclaredSecrets, .sharesFlights,
                .believesDeclarations:
                .principals
            case .isSilent: .declaredAnswering
            case .readsAhead: .responseStreaming
            }
        return PlantedMistake(mistake, .keeping(mistake), law, whenActive: mistake == .readsAhead)
    }

    private static let leading = LeadingConnection.Mistake.allCases.map { mistake in
        let law: DecoratorLaw =
            switch mistake {
            case .takesSecretsAlong, .takesDeclaredSecretsAlong: .redirectedSecrets
            case .isSilent: .declaredChanges
            case .holdsTheRedirection: .release
            }
        return PlantedMistake(mistake, .leading(mistake), law, whenActive: false)
    }
}
