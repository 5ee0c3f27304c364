public import Decorum
public import HTTPTypes

/// A rule that every decorator keeps, so that a stack of them behaves whatever their order and number.
///
/// A suite of yours holds a decorator of yours to all of them:
///
/// ```swift
/// @Test(arguments: DecoratorLaw.all)
/// func law(_ law: DecoratorLaw) async throws {
///     try await law.check { base in base.counting() }
/// }
/// ```
///
/// Each law composes the decorator with a base of its own, which provokes it: it answers with every status, with
/// redirections, challenges, failures, and validators that do not match. Make what the decorator keeps, such as a
/// store, within the closure, since it is called many times. Hand it an ``ImpatientClock`` where it waits.
///
/// A decorator that breaks a law by design says so, for its users to read: see ``ConformanceSuite``.
public struct DecoratorLaw: ConformanceCase {
    /// The name of the law.
    public let name: String
    /// What the law demands, in a sentence.
    public let demand: String
    private let examine: @Sendable (DecoratorSubject) async throws -> Void

    init(_ name: String, _ demand: String, _ examine: @escaping @Sendable (DecoratorSubject) async throws -> Void) {
        self.name = name
        self.demand = demand
        self.examine = examine
    }

    /// The origin that all requests go to, for decorators that are bound to one.
    public static let origin = "https://origin.example"

    /// All laws.
    public static let all = ConformanceSuite<DecoratorLaw>([
        .requestBodiesOnce, .requestStreaming, .requestTrailers, .requestFields, .responseBodiesOnce,
        .responseStreaming, .responseTrailers, .responseFields, .release, .earlyDrop, .cancellation, .bodyCancellation,
        .silenceAfterCancellation, .idleness, .statuses, .errors, .bodyErrors, .options, .metadata, .concurrency,
        .layerOrder, .declaredResending, .declaredAnswering, .declaredChanges,
    ])

    /// Holds a decorator to the law.
    ///
    /// - Parameters:
    ///   - addedFields: The fields that the decorator adds to requests by design; ``idleness`` and ``requestFields``
    ///     allow for these alone, and ``declaredChanges`` still wants them declared.
    ///   - decorate: Wraps a base in the decorator.
    /// - Throws: ``ConformanceFailure`` that says how the law is broken; `CancellationError` in a cancelled task.
    public func check(
        adding addedFields: Set<HTTPField.Name> = [],
        _ decorate: @escaping @Sendable (_ base: AnyConnection) throws -> any Connection
    ) async throws {
        let subject = DecoratorSubject(addedFields: addedFields, decorate: decorate)
        try await decide(within: .seconds(120)) { [examine] in try await examine(subject) }
    }
}

/// The decorator under examination.
struct DecoratorSubject: Sendable {
    let addedFields: Set<HTTPField.Name>
    let decorate: @Sendable (AnyConnection) throws -> any Connection

    func connection(over probe: Probe) throws -> any Connection {
        try decorate(AnyConnection(probe))
    }

    /// The layers that the decorator itself is made of.
    func ownLayers(over probe: Probe) throws -> [Layer] {
        Array(try connection(over: probe).layers.dropLast(probe.layers.count))
    }
}
