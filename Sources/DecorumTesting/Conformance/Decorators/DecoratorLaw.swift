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
/// store, within the closure, since it is called many times.
///
/// Most of these are ordinary exchanges, on which a decorator has nothing to do. Say with an ``ActivePath`` with which
/// request and which answers it acts, and the laws examine it there too. Where it waits or writes, hand it the clock and
/// the log of the ``DecoratorConditions``.
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

    /// Holds a decorator to the law.
    ///
    /// - Parameters:
    ///   - addedFields: The fields that the decorator adds to requests by design; ``idleness`` and ``requestFields``
    ///     allow for these alone, and ``declaredChanges`` still wants them declared.
    ///   - changedParts: The other parts of an exchange that the decorator always changes by design, such as
    ///     ``Part/target``; ``declaredChanges`` still wants those of a request declared.
    ///   - ownPaths: The paths of requests that the decorator makes itself, such as `"/token"`. They are not held to what
    ///     the decorator owes the requests that it was sent.
    ///   - activePaths: Requests and answers that give the decorator something to do; the law examines the decorator on
    ///     these paths too.
    ///   - decorate: Wraps a base in the decorator.
    /// - Throws: ``ConformanceFailure`` that says how the law is broken; `CancellationError` in a cancelled task.
    public func check(
        adding addedFields: Set<HTTPField.Name> = [],
        changing changedParts: Set<Part> = [],
        asking ownPaths: Set<String> = [],
        answering activePaths: [ActivePath] = [],
        _ decorate: @escaping @Sendable (_ base: AnyConnection) throws -> any Connection
    ) async throws {
        try await check(
            adding: addedFields, changing: changedParts, asking: ownPaths, answering: activePaths
        ) { base, _ in try decorate(base) }
    }

    /// Holds a decorator that waits or writes to the law, with a clock and a log that the law watches.
    ///
    /// - Parameters:
    ///   - addedFields: The fields that the decorator adds to requests by design.
    ///   - changedParts: The other parts of an exchange that the decorator always changes by design.
    ///   - ownPaths: The paths of requests that the decorator makes itself.
    ///   - activePaths: Requests and answers that give the decorator something to do.
    ///   - decorate: Wraps a base in the decorator, which waits on the clock of the conditions and writes to their log.
    /// - Throws: ``ConformanceFailure`` that says how the law is broken; `CancellationError` in a cancelled task.
    public func check(
        adding addedFields: Set<HTTPField.Name> = [],
        changing changedParts: Set<Part> = [],
        asking ownPaths: Set<String> = [],
        answering activePaths: [ActivePath] = [],
        _ decorate:
            @escaping @Sendable (_ base: AnyConnection, _ conditions: DecoratorConditions) throws
            -> any Connection
    ) async throws {
        let subject = DecoratorSubject(
            addedFields: addedFields, changedParts: changedParts, ownPaths: ownPaths, activePaths: activePaths,
            decorate: decorate)
        try await decide(within: .seconds(120)) { [examine] in try await examine(subject) }
    }
}

/// The decorator under examination.
struct DecoratorSubject: Sendable {
    private let addedFields: Set<HTTPField.Name>
    private let changedParts: Set<DecoratorLaw.Part>
    private let ownPaths: Set<String>
    /// The paths that the decorator's author knows to be active.
    let activePaths: [ActivePath]
    private let decorate: @Sendable (AnyConnection, DecoratorConditions) throws -> any Connection

    init(
        addedFields: Set<HTTPField.Name>, changedParts: Set<DecoratorLaw.Part>,
        ownPaths: Set<String>, activePaths: [ActivePath],
        decorate: @escaping @Sendable (AnyConnection, DecoratorConditions) throws -> any Connection
    ) {
        self.addedFields = addedFields
        self.changedParts = changedParts
        self.ownPaths = ownPaths
        self.activePaths = activePaths
        self.decorate = decorate
    }

    /// The paths on which many decorators act, and those on which this one does.
    var provocations: [ActivePath] { ActivePath.provocations + activePaths }
    /// The paths of one ordinary answer, and those on which the decorator acts.
    var contentPaths: [ActivePath] { [.ordinary, .storable] + activePaths }

    /// The fields that the decorator may add on a path.
    func addedFields(on path: ActivePath) -> Set<HTTPField.Name> { addedFields.union(path.addedFields) }

    /// Whether the decorator makes a request itself.
    func isOwnRequest(_ request: HTTPRequest) -> Bool { request.path.map(ownPaths.contains) ?? false }

    /// Whether the decorator may change a part on a path.
    func mayChange(_ part: DecoratorLaw.Part, on path: ActivePath) -> Bool {
        changedParts.contains(part) || path.changedParts.contains(part)
    }

    func connection(over probe: Probe, on conditions: DecoratorConditions = .init()) throws -> any Connection {
        try decorate(AnyConnection(probe), conditions)
    }

    /// The layers that the decorator itself is made of.
    func ownLayers(over probe: Probe) throws -> [Layer] {
        Array(try connection(over: probe).layers.dropLast(probe.layers.count))
    }
}
