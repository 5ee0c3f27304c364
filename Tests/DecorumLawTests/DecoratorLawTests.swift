import Decorum
import DecorumConformance
import DecorumTesting
import HTTPTypes
import Testing

/// Each decorator of the package, held to the laws.
@Suite(.timeLimit(.minutes(5))) struct DecoratorLawTests {
    @Test(arguments: DecoratorLaw.all)
    func `A decorator of ten lines keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check { base in base.intercepting { request, base in try await base.send(request) } }
    }

    @Test(arguments: ExaminedDecorator.all + ExaminedDecorator.active + ExaminedDecorator.honest)
    func `A decorator keeps the laws`(decorator: ExaminedDecorator) async throws {
        for law in decorator.laws {
            do {
                try await decorator.check(law)
            } catch {
                Issue.record(error, "\(law)")
            }
        }
    }

    @Test(arguments: ExaminedDecorator.all + ExaminedDecorator.active)
    func `An exclusion is one that the decorator needs`(decorator: ExaminedDecorator) async {
        for exclusion in decorator.laws.exclusions {
            await #expect(throws: ConformanceFailure.self, "\(exclusion)") {
                try await decorator.check(exclusion.excluded)
            }
        }
    }
}

struct ExaminedDecorator: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let laws: ConformanceSuite<DecoratorLaw>
    private let addedFields: Set<HTTPField.Name>
    private let changedParts: Set<DecoratorLaw.Part>
    private let paths: [DecoratorLaw.ActivePath]
    private let decorate: @Sendable (AnyConnection, DecoratorConditions) throws -> any Connection

    init(
        _ name: String, _ laws: ConformanceSuite<DecoratorLaw> = DecoratorLaw.all,
        adding addedFields: Set<HTTPField.Name> = [], changing changedParts: Set<DecoratorLaw.Part> = [],
        answering paths: [DecoratorLaw.ActivePath] = [],
        on decorate: @escaping @Sendable (AnyConnection, DecoratorConditions) throws -> any Connection
    ) {
        testDescription = name
        self.laws = laws
        self.addedFields = addedFields
        self.changedParts = changedParts
        self.paths = paths
        self.decorate = decorate
    }

    private init(
        _ name: String, _ laws: ConformanceSuite<DecoratorLaw> = DecoratorLaw.all,
        adding addedFields: Set<HTTPField.Name> = [],
        _ decorate: @escaping @Sendable (AnyConnection) throws -> any Connection
    ) {
        self.init(name, laws, adding: addedFields) { base, _ in try decorate(base) }
    }

    /// Checks a law, also on the paths on which the decorator acts or without them.
    func check(_ law: DecoratorLaw, isActive: Bool = true) async throws {
        try await law.check(
            adding: addedFields, changing: changedParts, asking: [RefreshingConnection.tokenPath],
            answering: isActive ? paths : [], decorate)
    }

    /// The decorators that nothing in use stands for: those of `active` are held to the laws on ordinary answers too.
    static let all: [ExaminedDecorator] = [
        .init("retrying with the machine's clock") {
            $0.retrying(.init(retries: 1, baseDelay: .milliseconds(1), budget: .unlimited))
        },
        .init("addingRequestID", adding: [.requestID]) { $0.addingRequestID() },
        .init("limitingTime") { $0.limitingTime() },
        .init("limitingTime of attempts, and retrying") { base, conditions in
            base.limitingTime(as: .attempt, clock: conditions.clock).retrying(clock: conditions.clock)
                .limitingTime(.modelAnswer, clock: conditions.clock)
        },
        .init("caching, with a status field and little patience", adding: []) {
            var policy = CachingPolicy.standard
            policy.staleIfSlow = .milliseconds(1)
            return $0.caching(in: MemoryResponseStore(), policy: policy)
        },
        .init("revalidating, answering the 304") {
            $0.revalidating(in: MemoryResponseStore(), answering: .notModified)
        },
        .init(
            "revalidating, outside of credentials",
            .all.excluding(.shownDeclarations, because: "It passes requests without a principal on.")
        ) {
            try $0.authenticating(with: .bearer("token"), for: Origin("https://other.example"))
                .revalidating(in: MemoryResponseStore())
        },
        .init("followingRedirects, none") { $0.followingRedirects(upTo: 0) },
        .init(
            "followingRedirects, never",
            .all.excluding(.shownDeclarations, because: "It follows where a request has a policy of its own.")
        ) { $0.followingRedirects(policy: .never) },
        .init("authenticating", adding: [.authorization]) {
            try $0.authenticating(with: .bearer("token"), for: Origin(DecoratorLaw.origin))
        },
        .init(
            "authenticating for another origin",
            .all.excluding(.shownDeclarations, because: "It adds nothing to requests to the origin of the laws.")
        ) {
            try $0.authenticating(with: .bearer("token"), for: Origin("https://other.example"))
        },
        .init("observing calls") { $0.observing(ExchangeStatistics()) },
        .init("observing attempts") { $0.observing(ExchangeStatistics(), as: .attempt) },
        .init("logging lines") { $0.logging(to: LogSink { _ in }) },
        .init("logging fields") { $0.logging(to: LogSink { _ in }, detail: .fields) },
        .init("acting") { $0.acting(for: Principal("law")) },
        .init("addingDefaultFields", adding: [.userAgent]) { $0.addingDefaultFields([.userAgent: "law"]) },
        .init(
            "addingDefaultQueryItems",
            .all.excluding(.concurrency, because: "It compares targets, which the layer changes."), changing: [.target]
        ) { base, _ in base.addingDefaultQueryItems([QueryItem("law", "1")]) },
        .init("decidingOrigin", changing: [.target]) { base, _ in
            base.decidingOrigin { _ in try Origin("https://mirror.example") }
        },
        .init("addingDefaultFields that are there") { $0.addingDefaultFields([.accept: "text/html"]) },
        .init("overridingFields", adding: [.accept]) { $0.overridingFields(with: [.accept: "text/html"]) },
        .init("identifyingClient", adding: [.userAgent]) {
            try $0.identifyingClient(as: ClientInformation(name: "Law", version: "1"))
        },
        .init("acceptingLanguages", adding: [.acceptLanguage]) { try $0.acceptingLanguages(["en"]) },
        .init(
            "compressing", adding: [.contentEncoding, .contentLength], changing: [.requestContent]
        ) { base, conditions in base.compressing(clock: conditions.clock) },
        .init(
            "compressing streams", adding: [.contentEncoding, .contentLength], changing: [.requestContent]
        ) { base, conditions in
            base.compressing(.init(minimumLength: 1, compressesStreams: true), clock: conditions.clock)
        },
        .init("intercepting") { $0.intercepting { request, base in try await base.send(request) } },
        .init(
            "AnyConnection", .all.excluding(.layerOrder, because: "It is no layer: it stands for the one it wraps.")
        ) { AnyConnection($0) },
        .init(
            "a whole stack",
            .all.excluding(.statuses, because: "Its outermost layer throws for the statuses not accepted.")
                .excluding(.shownDeclarations, because: "It neither stores nor shares without a principal."),
            adding: [.authorization, .userAgent]
        ) {
            try $0.authenticating(with: .bearer("token"), for: Origin(DecoratorLaw.origin))
                .observing(ExchangeStatistics(), as: .attempt)
                .retrying(clock: ImpatientClock())
                .coalescing()
                .revalidating(in: MemoryResponseStore())
                .followingRedirects()
                .addingDefaultFields([.userAgent: "law"])
                .observing(ExchangeStatistics())
                .validatingStatus()
        },
    ]
}

extension ConformanceSuite<DecoratorLaw> {
    static var all: ConformanceSuite<DecoratorLaw> { DecoratorLaw.all }
}
