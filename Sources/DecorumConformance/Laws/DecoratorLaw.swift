public import Decorum
import DecorumTesting
import Foundation
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
/// Each law composes the decorator with its own base, which answers with every status, with redirections, challenges,
/// failures, and validators that do not match. Create the state of the decorator, such as a store, within the closure,
/// since the closure is called many times. Describe other requests and answers on which the decorator acts by an
/// ``ActivePath``, and pass the clock and the log of the ``DecoratorConditions`` to a decorator that waits or writes.
///
/// Exclude a law that a decorator breaks by design: see ``ConformanceSuite``.
public struct DecoratorLaw: ConformanceCase {
    /// The name of the law.
    public let name: String
    private let examine: @Sendable (DecoratorSubject) async throws -> Void

    init(_ name: String, _ examine: @escaping @Sendable (DecoratorSubject) async throws -> Void) {
        self.name = name
        self.examine = examine
    }

    /// All laws.
    public static let all = ConformanceSuite<DecoratorLaw>([
        .requestBodiesOnce, .requestStreaming, .requestTrailers, .requestFields, .responseBodiesOnce,
        .responseStreaming, .responseTrailers, .responseFields, .release, .earlyDrop, .cancellation, .bodyCancellation,
        .silenceAfterCancellation, .idleness, .statuses, .errors, .bodyErrors, .options, .metadata, .concurrency,
        .layerOrder, .declaredResending, .declaredChanges, .declaredSecrets, .writtenSecrets,
        .redirectedSecrets, .principals, .cancelledSleep, .effects, .contentLengths, .emptyResponses, .declaredWaits,
        .declaredEffects, .shownDeclarations, .deadlines, .declaredTimes,
    ])

    /// The origin that all requests go to, for decorators that are bound to one.
    public static let origin = "https://origin.example"

    /// Checks that a decorator keeps the law.
    ///
    /// - Parameters:
    ///   - addedFields: The fields that the decorator adds to requests by design; ``idleness`` and ``requestFields``
    ///     allow for these alone, and ``declaredChanges`` still wants them declared.
    ///   - changedParts: The other parts of an exchange that the decorator always changes by design, such as
    ///     ``Part/target``; ``declaredChanges`` still wants the changed parts of a request declared.
    ///   - ownPaths: The paths of requests that the decorator makes itself, such as `"/token"`. The rules for requests that
    ///     the decorator forwards do not apply to them.
    ///   - activePaths: Requests and answers that give the decorator something to do; the law examines the decorator on
    ///     these paths too.
    ///   - decorate: Wraps a base in the decorator.
    /// - Throws: A ``ConformanceFailure`` that says how the decorator breaks the law; `CancellationError` in a cancelled task.
    public func check(
        adding addedFields: Set<HTTPField.Name> = [], changing changedParts: Set<Part> = [],
        asking ownPaths: Set<String> = [], answering activePaths: [ActivePath] = [],
        _ decorate: @escaping @Sendable (_ base: AnyConnection) throws -> any Connection
    ) async throws {
        try await check(
            adding: addedFields, changing: changedParts, asking: ownPaths, answering: activePaths
        ) { base, _ in try decorate(base) }
    }

    /// Checks a decorator that waits on the clock of the conditions or writes to their log; the law observes both.
    ///
    /// The parameters and the errors are the same as without conditions.
    public func check(
        adding addedFields: Set<HTTPField.Name> = [], changing changedParts: Set<Part> = [],
        asking ownPaths: Set<String> = [], answering activePaths: [ActivePath] = [],
        _ decorate:
            @escaping @Sendable (_ base: AnyConnection, _ conditions: DecoratorConditions) throws -> any Connection
    ) async throws {
        let subject = DecoratorSubject(
            addedFields: addedFields, changedParts: changedParts, ownPaths: ownPaths, activePaths: activePaths,
            decorate: decorate)
        try await decide(within: .seconds(120)) { [examine] in try await examine(subject) }
    }
}

/// The clock and the log that a law gives to the decorator that is made for it.
///
/// ```swift
/// try await law.check(answering: [busy]) { base, conditions in
///     base.retrying(clock: conditions.clock).logging(to: conditions.log)
/// }
/// ```
public struct DecoratorConditions: Sendable {
    /// The clock for all waits of the decorator.
    ///
    /// It ends each sleep at once, as `ImpatientClock` does, except for the law that cancels a sleep.
    public let clock: any DatedClock
    /// The log for everything that the decorator writes; the laws look for secrets in it.
    public let log: LogSink

    init(clock: any DatedClock = ImpatientClock(), log: LogSink = LogSink { _ in }) {
        self.clock = clock
        self.log = log
    }
}

extension DecoratorLaw {
    /// A part of an exchange that a decorator changes by design.
    public enum Part: Sendable, Hashable {
        /// The method of a request.
        case method
        /// The scheme, the authority or the path of a request.
        case target
        /// The bytes of a request's content.
        case requestContent
        /// The bytes of a response's content.
        case responseContent
    }

    /// A request and the answers of a base that give a decorator something to do.
    ///
    /// ```swift
    /// let expired = DecoratorLaw.ActivePath("an expired token") { request, number in
    ///     if request.path == "/token" { return Response(status: .ok, body: "new") }
    ///     return Response(status: number == 1 ? .unauthorized : .ok)
    /// }
    /// ```
    ///
    /// A law adds options, fields and content to the request. An answer keeps its status, its fields and its content, or
    /// gets some content where it may have it. The law sends it once, with trailer fields, chunk by chunk, late, or never.
    public struct ActivePath: Sendable, CustomStringConvertible {
        /// The path in a few words.
        public let description: String
        let request: Request?
        let calls: Int
        let addedFields: Set<HTTPField.Name>
        let changedParts: Set<Part>
        let answer: @Sendable (HTTPRequest, Int) throws -> Response
        /// Whether the laws created the path, and examine every decorator on it.
        private(set) var isOfLaws = false

        /// Creates a path.
        ///
        /// - Parameters:
        ///   - description: The path in a few words, such as “compressed content”.
        ///   - request: The request that the decorator acts on, with content in memory or none; nil for a `GET` to
        ///     ``DecoratorLaw/origin``. Laws about the content of requests make a `PUT` of one without content.
        ///   - calls: How many times the request is sent to one decorator; the laws examine the last time. A decorator
        ///     that answers with what it has kept needs two.
        ///   - addedFields: The fields of requests that the decorator adds, changes or removes by design on this path.
        ///   - changedParts: The other parts that it changes by design on this path.
        ///   - answer: Answers, or throws the failure of, the request of a number, which counts from 1 for each decorator.
        public init(
            _ description: String, sending request: Request? = nil, times calls: Int = 1,
            adding addedFields: Set<HTTPField.Name> = [], changing changedParts: Set<Part> = [],
            answering answer: @escaping @Sendable (_ request: HTTPRequest, _ number: Int) throws -> Response
        ) {
            self.description = description
            self.request = request
            self.calls = max(1, calls)
            self.addedFields = addedFields
            self.changedParts = changedParts
            self.answer = answer
        }

        /// Creates a path that the laws examine every decorator on.
        init(
            ofLaws description: String, calls: Int = 1,
            _ answer: @escaping @Sendable (_ number: Int, _ request: HTTPRequest) throws -> HTTPResponse
        ) {
            self.init(description, times: calls) { request, number in Response(head: try answer(number, request)) }
            isOfLaws = true
        }
    }
}

typealias ActivePath = DecoratorLaw.ActivePath

extension ActivePath {
    /// The content of the request; nil if it has none.
    var requestContent: Data? { request?.body.bytes.flatMap { $0.isEmpty ? nil : $0 } }

    /// The request of the path, with the fields and the content that a law puts into it.
    ///
    /// The method stands in where the path names no request, and where content is put into a request without content.
    func request(
        _ method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: Body? = nil
    ) throws -> Request {
        var request = try request ?? .lawful(method)
        if let body {
            // Content has no meaning with these methods (RFC 9110, section 9.3).
            if request.body.isEmpty, !body.isEmpty, [.get, .head, .options].contains(request.head.method) {
                request.head.method = method
            }
            request.body = body
        }
        for field in fields { request.head.headerFields.append(field) }
        return request
    }

    /// An answer with nothing to act on.
    static let ordinary = ActivePath(ofLaws: "an ordinary answer") { _, _ in .ok }
    /// An answer that a layer may want to keep.
    static let storable = ActivePath(ofLaws: "an ETag") { _, _ in
        HTTPResponse(status: .ok, headerFields: [.eTag: #""1""#])
    }

    /// The paths on which every decorator is examined, since many decorators act on these answers.
    static let provocations = statuses + redirections + failures.map(\.path) + [changedValidator, fresh, lostServer]

    /// Asks for another attempt, with every kind of challenge.
    private static let statuses = [401, 407, 408, 412, 421, 425, 429, 500, 502, 503, 504].map { code in
        ActivePath(ofLaws: "a \(code)") { number, _ in number == 1 ? .challenge(code) : .ok }
    }

    private static let redirections = [301, 302, 303, 307, 308].map { code in
        ActivePath(ofLaws: "a \(code)") { number, _ in number == 1 ? .redirection(code, to: "/elsewhere") : .ok }
    }

    private static let failures = [
        TransportError(.connectionRefused, at: .connecting), TransportError(.connectionLost, at: .head),
    ]

    /// Confirms another response than the one that the request asked about.
    private static let changedValidator = ActivePath(ofLaws: "another ETag", calls: 2) { number, request in
        let isConditional = request.headerFields.contains(.ifNoneMatch)
        return HTTPResponse(
            status: isConditional ? .notModified : .ok, headerFields: [.eTag: number == 1 ? #""1""# : #""2""#])
    }

    private static let fresh = ActivePath(ofLaws: "a fresh response", calls: 2) { _, _ in
        HTTPResponse(status: .ok, headerFields: [.cacheControl: "public, max-age=3600", .eTag: #""1""#])
    }

    /// Cannot be reached after it has answered once.
    private static let lostServer = ActivePath(ofLaws: "a lost server", calls: 2) { number, _ in
        guard number == 1 else { throw TransportError(.unreachable, at: .connecting) }
        return .ok
    }
}

/// The decorator under examination.
struct DecoratorSubject: Sendable {
    let addedFields: Set<HTTPField.Name>
    let changedParts: Set<DecoratorLaw.Part>
    let ownPaths: Set<String>
    /// The paths that the decorator's author knows to be active.
    let activePaths: [ActivePath]
    let decorate: @Sendable (AnyConnection, DecoratorConditions) throws -> any Connection

    /// The paths on which many decorators act, and those on which this one does.
    var provocations: [ActivePath] { ActivePath.provocations + activePaths }
    /// The path of an ordinary answer, and those on which the decorator acts.
    var plainPaths: [ActivePath] { [.ordinary] + activePaths }
    /// The paths of two answers with ordinary content, and those on which the decorator acts.
    var contentPaths: [ActivePath] { [.ordinary, .storable] + activePaths }

    /// Examines the decorator on each of some paths; a failure names the path.
    func each(_ paths: [ActivePath], _ examine: (ActivePath) async throws -> Void) async throws {
        for path in paths {
            do {
                try await examine(path)
            } catch let failure as ConformanceFailure {
                throw ConformanceFailure("With \(path): \(failure.sentence)", underlying: failure.underlying)
            }
        }
    }

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
    func ownLayers(over probe: Probe = Probe { _, _ in Response(status: .ok) }) throws -> [Layer] {
        Array(try connection(over: probe).layers.dropLast(probe.layers.count))
    }
}

extension [Layer] {
    var secretFields: Set<HTTPField.Name> { reduce(into: []) { $0.formUnion($1.secretFields) } }
    var facts: Set<Layer.Fact> { reduce(into: []) { $0.formUnion($1.facts) } }
}

extension TransportError {
    /// The failure, and then an ordinary answer.
    var path: ActivePath {
        ActivePath(ofLaws: "the failure \(code)") { number, _ in
            guard number > 1 else { throw self }
            return .ok
        }
    }
}

extension Request {
    /// A request to the origin of the laws.
    static func lawful(
        _ method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: Body = .empty
    ) throws -> Request {
        try Request(method, DecoratorLaw.origin + "/resource?a=b", fields: fields, body: body)
    }
}

extension HTTPRequest {
    /// Whether the target or the method differs from an original, and the names of the fields that differ.
    func changes(from original: HTTPRequest) -> (hasTarget: Bool, fields: Set<HTTPField.Name>) {
        var head = self
        head.headerFields = original.headerFields
        let names = Set((headerFields + original.headerFields).map(\.name))
        return (head != original, names.filter { headerFields[values: $0] != original.headerFields[values: $0] })
    }
}

extension HTTPResponse {
    static let ok = HTTPResponse(status: .ok)

    static func redirection(_ code: Int, to location: String) -> HTTPResponse {
        HTTPResponse(status: .init(code: code), headerFields: [.location: location])
    }

    /// A status with all fields that ask for another attempt.
    static func challenge(_ code: Int) -> HTTPResponse {
        HTTPResponse(
            status: .init(code: code),
            headerFields: [
                .retryAfter: "0", .wwwAuthenticate: #"Basic realm="x", Bearer"#,
                .proxyAuthenticate: #"Basic realm="x""#,
            ])
    }
}
