import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// A layer that does nothing, as code outside of Decorum writes it.
struct EmptyConnection<Base: Connection>: ComposedConnection {
    let base: Base

    func send(_ request: consuming Request) async throws -> Response {
        try await base.send(request)
    }
}

/// A layer that does nothing, inlined as Decorum's own layers are.
struct InlinedEmptyConnection<Base: Connection>: ComposedConnection {
    let base: Base

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        try await base.send(request)
    }
}

/// A layer that does nothing, over a connection whose type is not known.
struct ErasedEmptyConnection: Connection {
    let base: any Connection

    func send(_ request: consuming Request) async throws -> Response {
        try await base.send(request)
    }
}

/// Five layers that do nothing.
typealias FiveEmpty<Base: Connection> = EmptyConnection<
    EmptyConnection<EmptyConnection<EmptyConnection<EmptyConnection<Base>>>>
>

extension Connection {
    /// One layer that does nothing, with its type known.
    func passing() -> EmptyConnection<Self> { EmptyConnection(base: self) }

    /// Five layers that do nothing, with their types known.
    func passingFive() -> FiveEmpty<Self> { passing().passing().passing().passing().passing() }
}

/// Layers composed in a loop that the compiler cannot see through, so that their types are unknown.
@inline(never) func composed(
    _ depth: Int, over base: any Connection, _ layer: (any Connection) -> any Connection
) -> any Connection {
    (0..<depth).reduce(base) { connection, _ in layer(connection) }
}

/// Layers that do nothing, each wrapped in an ``AnyConnection``.
@inline(never) func wrapping(_ depth: Int, over base: AnyConnection) -> AnyConnection {
    (0..<depth).reduce(base) { connection, _ in AnyConnection(connection.passing()) }
}

extension Connection {
    /// A generic layer that does nothing, as an app adds it conditionally.
    func appending() -> any Connection { EmptyConnection(base: self) }

    func appendingInlined() -> any Connection { InlinedEmptyConnection(base: self) }
}

/// A layer that sets one field, as code outside of Decorum writes it.
struct FieldConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let name: HTTPField.Name

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        request.head.headerFields[name] = "spring"
        return try await base.send(request)
    }
}

extension Connection {
    /// Sets one field, with the type known.
    func setting(_ name: HTTPField.Name) -> FieldConnection<Self> { FieldConnection(base: self, name: name) }
}

/// A transport that answers each request with the same response, from memory.
struct MemoryConnection: Connection {
    let response: Response

    init(
        _ status: HTTPResponse.Status = .ok, fields: HTTPFields = [.contentType: "text/plain"],
        content: Body = "hello, world"
    ) {
        response = Response(status: status, fields: fields, body: status == .notModified ? .empty : content)
    }

    // Not inlined, because real transports are never inlined into their callers.
    @inline(never) func send(_ request: consuming Request) async throws -> Response {
        request.reportSending()
        return response
    }
}

/// A transport in memory whose responses have a body that is read once, chunk by chunk, as real transports have.
struct StreamingConnection: Connection {
    private let chunk = Data(repeating: 0x78, count: 100)
    private let fields: HTTPFields

    init(fields: HTTPFields = [:]) {
        self.fields = HTTPFields(
            [.init(name: .contentType, value: "text/plain"), .init(name: .contentLength, value: "100")] + fields)
    }

    @inline(never) func send(_ request: consuming Request) async throws -> Response {
        request.reportSending()
        let chunk = chunk
        return Response(
            status: .ok, fields: fields,
            body: Body(length: 100, replay: .once) { _ in ChunkReader(chunk: chunk) })
    }
}

private struct ChunkReader: BodyReader {
    var chunk: Data?

    mutating func next() -> Data? { chunk.take() }

    var trailers: HTTPFields? { nil }
}

/// The baselines of layers: functions that do the same work without layers.
struct HandWritten: Sendable {
    let response: Response
    private let uses = Uses()
    private let record: @Sendable (CallReport) -> Void = { _ in }

    init(_ memory: MemoryConnection) {
        response = memory.response
    }

    /// Answers from memory.
    @inline(never) func answer(_ request: consuming Request) async throws -> Response {
        response
    }

    /// Sets one field, and answers.
    @inline(never) func setField(_ request: consuming Request) async throws -> Response {
        request.head.headerFields[.cacheControl] = "spring"
        return try await answer(request)
    }

    /// Does the work of the six layers: measures the call, names the client, follows no redirection, looks into an empty
    /// cache and says why it stores nothing, counts the answer in a budget of retries, signs for one origin.
    @inline(never) func work(_ request: consuming Request) async throws -> Response {
        let start = ContinuousClock.now
        let origin = try Origin(request.head)
        if !request.head.headerFields.contains(.userAgent) {
            request.head.headerFields[.userAgent] = "benchmarks"
        }
        let key = Key(request)
        let call = uses.begin(key)
        defer { uses.end(key) }
        if origin.scheme == "https", origin.host == "api.example.com" {
            request.head.headerFields[.authorization] = "Bearer token"
        }
        var response = try await answer(request)
        let status = response.status
        guard ![301, 302, 303, 307, 308, 401, 429, 500, 502, 503, 504].contains(status.code) else {
            throw BenchmarkFailure("The answer is \(status).")
        }
        uses.noteAnswer(of: origin, at: .now)
        let fields = response.head.headerFields
        if !fields.contains(.eTag), !fields.contains(.lastModified) {
            var handling = CacheStatus(cache: "benchmarks")
            handling.forwardReason = .uriMiss
            handling.isStored = false
            handling.detail = "not stored: the response has no validator"
            response.metadata.cacheStatus = handling
        }
        let duration = ContinuousClock.now - start
        var report = CallReport(callID: call, method: key.method, statusCode: status.code, duration: duration)
        (report.origin, report.timeToHead, report.attemptCount) = (origin, duration, 1)
        report.bytesReceived = Int64(response.body.bytes?.count ?? 0)
        record(report)
        return response
    }
}

/// The parts of a request by which its stored response is found.
private struct Key: Sendable, Hashable {
    let method: HTTPRequest.Method
    let scheme: String?
    let authority: String?
    let path: String?
    let principal: Principal?
    let credentials: [HTTPField]

    init(_ request: borrowing Request) {
        method = request.head.method
        scheme = request.head.scheme
        authority = request.head.authority
        path = request.head.path
        principal = request.options.principal
        credentials = request.head.headerFields.filter { $0.name == .authorization || $0.name == .cookie }
    }
}

/// The requests under way, and the answers of each origin.
private final class Uses: Sendable {
    private struct State {
        var lastCall: UInt64 = 0
        var underWay: [Key: Int] = [:]
        var answers: [Origin: (count: Int, last: ContinuousClock.Instant)] = [:]
    }

    private let state = Mutex(State())

    func begin(_ key: Key) -> UInt64 {
        state.withLock { state in
            state.underWay[key, default: 0] += 1
            state.lastCall += 1
            return state.lastCall
        }
    }

    func end(_ key: Key) {
        state.withLock { state in
            guard let count = state.underWay[key] else { return }
            state.underWay[key] = count > 1 ? count - 1 : nil
        }
    }

    func noteAnswer(of origin: Origin, at now: ContinuousClock.Instant) {
        state.withLock { state in
            let count = state.answers[origin]?.count ?? 0
            state.answers[origin] = (count + 1, now)
        }
    }
}
