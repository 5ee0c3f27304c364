public import Decorum
public import HTTPTypes

/// A rule that every decorator keeps, so that a stack of them behaves whatever their order and number.
///
/// Check your decorator against all of them:
///
/// ```swift
/// @Test(arguments: DecoratorLaw.all)
/// func law(_ law: DecoratorLaw) async throws {
///     try await law.check { base in base.counting() }
/// }
/// ```
///
/// Each law composes the decorator with its own base, which gives it something to act on: it answers with every status,
/// with redirections, challenges, failures, and validators that do not match. Create the state of the decorator, such as
/// a store, within the closure, since the closure is called many times.
///
/// Most of these are ordinary exchanges, in which a decorator has nothing to do. Describe the requests and answers on
/// which it acts by an ``ActivePath``, and the laws examine it there too. Pass the clock and the log of the
/// ``DecoratorConditions`` to a decorator that waits or writes.
///
/// A decorator that breaks a law by design says so, for its users to read: see ``ConformanceSuite``.
public struct DecoratorLaw: ConformanceCase {
    /// The name of the law.
    public let name: String
    /// The demand of the law, in a sentence.
    public let demand: String
    private let examine: @Sendable (DecoratorSubject) async throws -> Void

    init(_ name: String, _ demand: String, _ examine: @escaping @Sendable (DecoratorSubject) async throws -> Void) {
        self.name = name
        self.demand = demand
        self.examine = examine
    }

    /// The origin that all requests go to, for decorators that are bound to one.
    public static let origin = "https://origin.example"

    /// Checks that a decorator keeps the law.
    ///
    /// - Parameters:
    ///   - addedFields: The fields that the decorator adds to requests by design; ``idleness`` and ``requestFields``
    ///     allow for these alone, and ``declaredChanges`` still wants them declared.
    ///   - changedParts: The other parts of an exchange that the decorator always changes by design, such as
    ///     ``Part/target``; ``declaredChanges`` still wants those of a request declared.
    ///   - ownPaths: The paths of requests that the decorator makes itself, such as `"/token"`. The rules for requests that
    ///     the decorator forwards do not apply to them.
    ///   - activePaths: Requests and answers that give the decorator something to do; the law examines the decorator on
    ///     these paths too.
    ///   - decorate: Wraps a base in the decorator.
    /// - Throws: A ``ConformanceFailure`` that says how the decorator breaks the law; `CancellationError` in a cancelled task.
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

    /// Checks that a decorator which waits or writes keeps the law, with a clock and a log that the law observes.
    ///
    /// - Parameters:
    ///   - addedFields: The fields that the decorator adds to requests by design.
    ///   - changedParts: The other parts of an exchange that the decorator always changes by design.
    ///   - ownPaths: The paths of requests that the decorator makes itself.
    ///   - activePaths: Requests and answers that give the decorator something to do.
    ///   - decorate: Wraps a base in the decorator, which waits on the clock of the conditions and writes to their log.
    /// - Throws: A ``ConformanceFailure`` that says how the decorator breaks the law; `CancellationError` in a cancelled task.
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
