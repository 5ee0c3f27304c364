public import Decorum
import DecorumTesting
public import Foundation
import HTTPTypes

/// A rule that every transport keeps, so that the layers above it behave the same on each.
///
/// Check your transport against all of them, over real sockets:
///
/// ```swift
/// @Test(arguments: TransportCase.all.excluding("responseTrailers", because: "The platform drops them."))
/// func rule(_ rule: TransportCase) async throws {
///     let outcome = try await rule.check { conditions in MyConnection(clock: conditions.clock) }
///     if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
/// }
/// ```
///
/// Each case makes its own transports and servers. The transport must be able to reach 127.0.0.1. Exclude a case that the
/// platform cannot meet by the name that its failure shows, with a reason for the transport's users.
public struct TransportCase: ConformanceCase, ExpressibleByStringLiteral {
    /// The name of the case.
    public let name: String
    private let examine: @Sendable (TransportSubject) async throws -> Void
}

extension TransportCase {
    /// Finds a case by its name, such as `"responseTrailers"` or `"echo over HTTP/2"`.
    ///
    /// Checking a case of an unknown name throws a ``ConformanceFailure``.
    public init(stringLiteral name: String) {
        self =
            Self.all.first { $0.name == name }
            ?? .ofSubject(name) { _ in throw ConformanceFailure("No case has this name.") }
    }

    /// Creates a case that needs one transport and one origin.
    init(_ name: String, _ examine: @escaping @Sendable (TransportBench) async throws -> Void) {
        self.name = name
        self.examine = { subject in try await examine(subject.bench()) }
    }

    /// Creates a case that makes its transports itself.
    static func ofSubject(
        _ name: String, _ examine: @escaping @Sendable (TransportSubject) async throws -> Void
    ) -> Self { Self(name: name, examine: examine) }

    /// Creates a case that needs one origin, and one transport with a virtual clock.
    static func timed(
        _ name: String, _ examine: @escaping @Sendable (TransportBench, VirtualClock) async throws -> Void
    ) -> Self {
        ofSubject(name) { subject in
            let clock = VirtualClock()
            try await examine(subject.bench(clock: clock), clock)
        }
    }

    /// All cases.
    public static let all = ConformanceSuite<TransportCase>(
        [
            .fixedLength, .chunked, .untilClose, .interimLength, .truncatedLength, .truncatedChunks, .truncatedPrefix,
            .brokenChunks, .noContent, .head, .excessBytes, .malformedHeads, .lowStatus, .unusualHeads, .foldedFields,
            .terseHeads, .cutHead, .noHead, .largeFields, .refusedConnection, .unknownHost, .hostileHeads,
            .hostileHeadsBesideOthers, .foldedFirstLine, .waitingBytes, .requestBesideWaitingBytes, .requestFields,
            .requestLines, .addedFields, .lineBreaks, .targets, .oddTargets, .metadata, .methods, .methodCase,
            .responseFields, .responseLines, .setCookies, .oddBytes, .reasonPhrases, .invalidRequests, .earlyHead,
            .chunksAsTheyArrive, .slowDrip, .largeContent, .backPressure, .readOnce, .unreadDrop, .partialDrop,
            .informational, .responseTrailers, .wholeUploads, .emptyUploads, .announcedUploads, .methodsWithContent,
            .fileUploads, .echo, .streamedUpload, .interleaving, .heldUpload, .refusedExpectation, .requestTrailers,
            .failingUpload, .wrongLength, .spentBody, .brokenUpload, .earlyAnswer, .answerBesideUpload,
            .answerBeforeReset, .redirections, .redirectionsToNowhere, .challenges, .cookies, .caching, .codings,
            .unknownCodings, .brokenCodings, .answeredStatuses, .cancelledTask, .cancellationBeforeHead,
            .cancellationWithinBody, .cancellationWithinUpload, .cancellationOfProducer, .cancelledReader,
            .idleInRealTime, .idleBeforeHead, .idleWithinBody, .idleUpload, .idleBesideProducer, .slowServer,
            .slowReader, .slowProducer, .noTime, .longTime, .deadlineBeforeHead, .deadlineOfDrippedHead,
            .deadlineOfBody, .deadlineBesideReader, .deadlineSparesBody, .deadlineOrIdle, .deadlineOfUpload,
            .deadlineOfProducer, .deadlineInQueue, .deadlineBeforeSending, .deadlineInRealTime, .deadlinesAtOnce,
            .reuse, .closeAsked, .connectionLimit, .closedIdle, .deadConnection, .deadConnectionWithoutContent, .close,
            .cancelledClose, .unusedClose, .cancelAll, .cancelAllOfClosed, .lettingGo, .outliving, .thousand,
            .randomCancellation, .reportedRequests, .declaredSending, .declaredDecoding,
        ] + tls + http2)

    /// The same case over HTTP/2, through nginx; it is skipped where nginx or openssl is missing.
    ///
    /// ``all`` includes it for the cases whose bytes nginx does not change.
    public var overHTTP2: TransportCase {
        .ofSubject("\(name) over HTTP/2") { [examine] subject in try await examine(subject.overHTTP2) }
    }

    /// Checks that a transport meets the case.
    ///
    /// - Parameters:
    ///   - soak: The duration of the cases that cancel at random; nil for one second, or for 20 seconds if the environment
    ///     has `DECORUM_SOAK=1`.
    ///   - make: Makes a transport that meets the conditions. A transport that cannot trust a given root certificate fails
    ///     the cases that ask for it; exclude them.
    /// - Returns: Whether the case was met, or the reason why it could not be tried.
    /// - Throws: A ``ConformanceFailure`` that says how the transport fails the case; `CancellationError` in a cancelled
    ///   task.
    public func check(
        soaking soak: Duration? = nil,
        _ make: @escaping @Sendable (_ conditions: TransportConditions) throws -> any Connection
    ) async throws -> ConformanceOutcome {
        let isSoak = ProcessInfo.processInfo.environment["DECORUM_SOAK"] == "1"
        let subject = TransportSubject(
            soak: (soak ?? (isSoak ? .seconds(20) : .seconds(1))).bounded, factory: make)
        do {
            try await decide(within: subject.soak + .seconds(120)) { [examine] in try await examine(subject) }
            return .met
        } catch let skip as ConformanceSkip {
            return .skipped(skip.reason)
        }
    }
}

/// The properties of the transport that is made for a case.
///
/// Most cases ask for a clock alone. The cases with TLS ask for a transport that trusts the root of their own
/// certificates, and that shows a client certificate.
public struct TransportConditions: Sendable {
    /// A certificate and its key, for a server that asks for a client certificate.
    public struct Identity: Sendable, Hashable {
        /// The file of the certificate, in the PEM format.
        public let certificate: URL
        /// The file of the key, in the PEM format.
        public let key: URL
    }

    /// The clock that measures timeouts.
    public let clock: any DatedClock
    /// The PEM file of the only root certificate to trust; nil to trust the roots of the system.
    public let root: URL?
    /// The certificate for a server that asks for one; nil for none.
    public let identity: Identity?

    init(clock: any DatedClock = SystemClock(), root: URL? = nil, identity: Identity? = nil) {
        self.clock = clock
        self.root = root
        self.identity = identity
    }
}

/// The transport under examination.
struct TransportSubject: Sendable {
    let soak: Duration
    let factory: @Sendable (TransportConditions) throws -> any Connection
    var usesHTTP2 = false

    /// The same with benches that speak HTTP/2.
    var overHTTP2: TransportSubject { TransportSubject(soak: soak, factory: factory, usesHTTP2: true) }

    /// Makes a transport with a clock and no other condition.
    func make(_ clock: any DatedClock = SystemClock()) throws -> any Connection {
        try factory(TransportConditions(clock: clock))
    }

    /// Makes a transport and an origin for one case alone.
    func bench(
        _ origin: @autoclosure () throws -> LoopbackOrigin = try LoopbackOrigin(),
        clock: any DatedClock = SystemClock()
    ) async throws -> TransportBench {
        let origin = try origin()
        guard usesHTTP2 else { return TransportBench(origin: origin, connection: try make(clock)) }
        let server = try await SecureServer.nginx(before: origin)
        let connection = try factory(TransportConditions(clock: clock, root: server.root))
        let bench = TransportBench(origin: origin, connection: connection, server: server)
        guard try await bench.send(.get, "/protocol").text() == "HTTP/2.0" else {
            throw ConformanceSkip(reason: "The transport does not offer HTTP/2.")
        }
        return bench
    }
}

/// A transport with the origin that it is tried against.
struct TransportBench: Sendable {
    let origin: LoopbackOrigin
    let connection: any Connection
    /// The server that speaks TLS before the origin; nil without TLS.
    var server: SecureServer?

    var url: String { server?.url ?? origin.url }

    /// The largest number of connections to one host, as the transport's layer declares it.
    var connectionsPerHost: Int {
        get throws {
            let setting = connection.layers.last?.settings.first { $0.name == "connectionsPerHost" }
            guard let limit = setting.flatMap({ Int($0.value) }), limit <= 64 else {
                throw ConformanceSkip(reason: "The transport declares no setting connectionsPerHost of 64 or less.")
            }
            return limit
        }
    }

    func request(
        _ method: HTTPRequest.Method = .get, _ path: String = "/", fields: HTTPFields = [:], body: Body = .empty,
        timeout: Duration? = nil, deadline: ContinuousClock.Instant? = nil, bodyDeadline: ContinuousClock.Instant? = nil
    ) throws -> Request {
        var request = try Request(method, url + path, fields: fields, body: body)
        request.options.idleTimeout = timeout
        request.options.deadline = deadline
        request.options.bodyDeadline = bodyDeadline
        return request
    }

    /// Sends one request, which the routes of the origin answer.
    func send(
        _ method: HTTPRequest.Method = .get, _ path: String = "/", fields: HTTPFields = [:], body: Body = .empty,
        timeout: Duration? = nil, deadline: ContinuousClock.Instant? = nil, bodyDeadline: ContinuousClock.Instant? = nil
    ) async throws -> Response {
        try await connection.send(
            request(
                method, path, fields: fields, body: body, timeout: timeout, deadline: deadline,
                bodyDeadline: bodyDeadline))
    }

    /// Sends one request, which gets this answer.
    func send(
        _ method: HTTPRequest.Method = .get, to answer: LoopbackOrigin.Answer, fields: HTTPFields = [:],
        body: Body = .empty
    ) async throws -> Response {
        origin.enqueue(answer)
        return try await withDeadline(of: .seconds(20)) { try await send(method, fields: fields, body: body) }
    }

    /// Starts to send a request.
    func start(_ request: Request) -> Task<Void, any Error> {
        Task { _ = try await connection.send(request) }
    }

    /// Waits until the origin has received a number of requests with their content.
    @discardableResult func waitForRequests(_ count: Int) async throws -> [ReceivedRequest] {
        try await withDeadline(of: .seconds(10)) { try await origin.waitForRequests(count) }
    }

    /// Waits until the origin has received the heads of a number of requests.
    @discardableResult func waitForHeads(_ count: Int) async throws -> [ReceivedRequest] {
        try await withDeadline(of: .seconds(10)) { try await origin.waitForHeads(count) }
    }

    /// Sends one request, which gets this answer, and reads the whole content.
    func content(
        _ method: HTTPRequest.Method = .get, of answer: LoopbackOrigin.Answer, body: Body = .empty
    ) async throws -> String {
        try await send(method, to: answer, body: body).text()
    }

    /// Sends one request that is answered with these bytes and the end of the connection.
    func content(ofRaw answer: String) async throws -> String {
        let task = Task { try await content(of: .script(.raw(answer), .close)) }
        let result = await task.result
        // A request that is sent while the connection closes may rightly fail.
        try await expectClosed()
        return try result.get()
    }

    /// Fails unless the transport still serves.
    func expectUsable(file: String = #fileID, line: Int = #line) async throws {
        // A queued answer could go to a second sending of an earlier request, so this is a route.
        origin.route(.get, "/usable", "still here")
        try expect(try await send(.get, "/usable").text(), is: "still here", file: file, line: line)
    }

    /// Waits until the transport has closed its connections.
    func expectClosed(file: String = #fileID, line: Int = #line) async throws {
        try await withDeadline(file: file, line: line) { [origin] in try await origin.waitForOpenConnections(0) }
    }
}

extension LoopbackOrigin.Step {
    /// A head whose content follows later: of many other media types, CFNetwork holds back the first 512 bytes.
    static func openHead(_ fields: RawFields) -> Self {
        .head(.ok, fields + ["Content-Type": "application/json"])
    }
}

extension BodyReader {
    /// Reads to the end, expects the bytes of ``BytePattern`` from an offset on, and returns the offset of the end.
    mutating func countPattern(from start: Int64 = 0) async throws -> Int64 {
        var offset = start
        while let chunk = try await next() {
            try expect(BytePattern.matches(chunk, at: offset), "the pattern at \(offset)")
            offset += Int64(chunk.count)
        }
        return offset
    }
}

extension Body {
    /// Reads the body, expects the bytes of ``BytePattern``, and returns their number.
    func countPattern() async throws -> Int64 {
        var reader = try await open()
        return try await reader.countPattern()
    }
}
