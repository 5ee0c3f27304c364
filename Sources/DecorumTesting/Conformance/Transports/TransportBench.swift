import Decorum
import Foundation
import HTTPTypes

/// The transport under examination.
struct TransportSubject: Sendable {
    let soak: Duration
    let factory: @Sendable (TransportConditions) throws -> any Connection
    private(set) var usesHTTP2 = false

    init(soak: Duration, factory: @escaping @Sendable (TransportConditions) throws -> any Connection) {
        self.soak = soak
        self.factory = factory
    }

    /// The same with benches that speak HTTP/2.
    var overHTTP2: TransportSubject {
        var subject = self
        subject.usesHTTP2 = true
        return subject
    }

    /// Makes a transport with a clock and no other condition.
    func make(_ clock: any DatedClock) throws -> any Connection {
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
        let version = try await bench.connection.send(bench.request(.get, "/protocol")).body.text(upTo: 100)
        guard version == "HTTP/2.0" else { throw ConformanceSkip(reason: "The transport does not offer HTTP/2.") }
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
        _ method: HTTPRequest.Method = .get, _ path: String = "/", fields: HTTPFields = [:], body: Body = .empty
    ) throws -> Request {
        try Request(method, url + path, fields: fields, body: body)
    }

    /// Sends one request, which gets this answer.
    func send(
        _ method: HTTPRequest.Method = .get, to answer: LoopbackOrigin.Answer, fields: HTTPFields = [:],
        body: Body = .empty
    ) async throws -> Response {
        origin.enqueue(answer)
        let request = try request(method, fields: fields, body: body)
        return try await withDeadline(of: .seconds(20), "No response to \(method) came within 20 seconds.") {
            try await connection.send(request)
        }
    }

    /// Waits until the origin has received a number of requests with their content.
    @discardableResult func waitForRequests(_ count: Int) async throws -> [ReceivedRequest] {
        try await withDeadline(of: .seconds(10), "Of \(count) requests, some did not arrive within ten seconds.") {
            try await origin.waitForRequests(count)
        }
    }

    /// Waits until the origin has received the heads of a number of requests.
    @discardableResult func waitForHeads(_ count: Int) async throws -> [ReceivedRequest] {
        try await withDeadline(of: .seconds(10), "Of \(count) heads, some did not arrive within ten seconds.") {
            try await origin.waitForHeads(count)
        }
    }

    /// Sends one request, which gets this answer, and reads the whole content.
    func content(
        _ method: HTTPRequest.Method = .get, of answer: LoopbackOrigin.Answer, body: Body = .empty
    ) async throws -> String {
        String(decoding: try await send(method, to: answer, body: body).body.collectAll().data, as: UTF8.self)
    }

    /// Sends one request that is answered with these bytes and the end of the connection.
    func content(ofRaw answer: String) async throws -> String {
        let result: Result<String, any Error>
        do {
            result = .success(try await content(of: .script(.raw(answer), .close)))
        } catch {
            result = .failure(error)
        }
        // A request that is sent while the connection closes may rightly fail.
        try await requireClosed(after: "an answer")
        return try result.get()
    }

    /// Demands that the transport still serves.
    func requireUsable(after event: String) async throws {
        // A queued answer could go to a second sending of an earlier request, so this is a route.
        origin.route(.get, "/usable", LoopbackOrigin.Answer(body: "still here"))
        let response = try await connection.send(request(.get, "/usable"))
        let text = String(decoding: try await response.body.collectAll().data, as: UTF8.self)
        try requireEqual(text, "still here", "The answer after \(event)")
    }

    /// Waits until the transport has closed its connections.
    func requireClosed(after event: String) async throws {
        try await withDeadline("The connection was not closed after \(event).") { [origin] in
            try await origin.waitForOpenConnections(0)
        }
    }
}

extension LoopbackOrigin.Step {
    /// A head whose content follows later: of many other media types, CFNetwork holds back the first 512 bytes.
    static func openHead(_ fields: RawFields) -> Self {
        .head(.ok, fields + ["Content-Type": "application/json"])
    }
}

/// Demands that an operation throws a transport error.
func requireTransportError(
    of codes: Set<TransportError.Code>? = nil, at stage: TransportError.Stage? = nil, _ event: String,
    _ operation: () async throws -> Void
) async throws {
    do {
        try await operation()
    } catch let error as TransportError {
        try require(codes?.contains(error.code) ?? true, "\(event) has the code \(error.code).")
        try require(stage.map { $0 == error.stage } ?? true, "\(event) fails at the stage \(error.stage).")
        return
    } catch let failure as ConformanceFailure {
        throw failure
    } catch {
        throw ConformanceFailure("\(event) throws \(type(of: error)) in place of TransportError: \(error)")
    }
    throw ConformanceFailure("\(event) is taken for a complete answer.")
}

/// Demands that a task ends at once in `CancellationError`.
func requireCancelled(_ task: Task<some Sendable, any Error>, _ event: String) async throws {
    let result = try await withDeadline("Cancelling \(event) took five seconds.") { await task.result }
    switch result {
    case .success: throw ConformanceFailure("Cancelling \(event) had no effect.")
    case .failure(let error):
        try require(error is CancellationError, "Cancelling \(event) threw \(type(of: error)): \(error)")
    }
}

extension Body {
    /// Reads the body, requires that its bytes are those of ``BytePattern``, and returns their number.
    func countPattern() async throws -> Int64 {
        var offset: Int64 = 0
        for try await chunk in self {
            try require(BytePattern.matches(chunk, at: offset), "The bytes behind \(offset) are wrong.")
            offset += Int64(chunk.count)
        }
        return offset
    }
}
