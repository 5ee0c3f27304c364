public import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Checks of the resources that a transport takes, each for a process of its own.
///
/// With `DECORUM_SOAK=1` in the environment, the numbers are larger.
public struct EnduranceChecks: Sendable {
    private let make: @Sendable () throws -> any Connection

    /// Creates checks, and begins the process of a test.
    public init(of make: @escaping @Sendable () throws -> any Connection) {
        ProcessTests.begin()
        self.make = make
    }

    /// Many requests over one connection leave no descriptor and no memory behind.
    public func checkManyRequests() async throws {
        let origin = try LoopbackOrigin()
        origin.route(nil, "*", "ok")
        let body = BytePattern.bytes(10)
        var connection: (any Connection)? = try make()
        for _ in 0..<500 { try await connection?.send(.get(origin.url + "/")).body.drain(upTo: 10) }
        let before = (Footprint.descriptors, ProcessMemory.peak)

        for number in 0..<(Footprint.isSoak ? 10_000 : 3000) {
            let request = try Request.put(origin.url + "/", body: number % 4 == 0 ? Body(body) : .empty)
            try await connection?.send(request).body.drain(upTo: 10)
            if number % 100 == 0 { origin.forgetRequests() }
        }

        #expect(origin.connectionCount == 1)
        try await yield { Footprint.descriptors <= before.0 }
        #expect(ProcessMemory.peak - before.1 < 16 << 20)
        connection = nil
        try await origin.waitForOpenConnections(0)
    }

    /// Transports that are dropped, with a response or without one, end their sessions and threads.
    public func checkManyTransports() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/", "ok")
        origin.route(.get, "/hang", .script(.head(.ok, ["Content-Length": "9"]), .hang))
        try await make().send(.get(origin.url + "/")).body.drain(upTo: 10)
        _ = try make()
        try await origin.waitForOpenConnections(0)
        let before = Footprint.descriptors

        for number in 0..<300 {
            let connection = try make()
            try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10)
            if number % 3 == 0 { _ = try await connection.send(.get(origin.url + "/hang")).status }
        }

        try await origin.waitForOpenConnections(0)
        // A thread ends shortly after its connections have closed.
        #expect(await soon { Footprint.descriptors <= before + 4 && Footprint.threads < 50 })
    }

    /// Large bodies take little memory in both directions, also beside a response that is not read.
    public func checkLargeBodies(besideUnread hasUnread: Bool) async throws {
        let count: Int64 = Footprint.isSoak ? 1 << 30 : 96 << 20
        let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
        origin.route(.get, "/", .generated(count: count))
        origin.route(.get, "/endless", .generated(count: 1 << 40))
        origin.route(.put, "/", "ok")
        let connection = try make()
        let unread = hasUnread ? try await connection.send(.get(origin.url + "/endless")) : nil

        var offset: Int64 = 0
        var isWhole = true
        for try await chunk in try await connection.send(.get(origin.url + "/")).body {
            isWhole = isWhole && BytePattern.matches(chunk, at: offset)
            offset += Int64(chunk.count)
        }
        #expect(isWhole && offset == count)
        let body = Body(length: count, replay: .fromStart) { _ in PatternReader(count: count) }
        try await connection.send(.put(origin.url + "/", body: body)).body.drain(upTo: 10)
        let received = origin.requests.last
        #expect(received?.bodyLength == count && received?.isBodyPattern == true)
        #expect(ProcessMemory.peak < 64 << 20)
        withExtendedLifetime(unread) {}
    }

    /// Without a free descriptor a request fails at the stage of connecting, and succeeds again with one.
    public func checkDescriptorLimit() async throws {
        let (origin, other) = (try LoopbackOrigin(), try LoopbackOrigin())
        for origin in [origin, other] { origin.route(nil, "*", "ok") }
        let connection = try make()
        // A transport may start its threads with the first requests, and end the process if it cannot.
        for _ in 0..<100 { try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10) }
        var held: [Int32] = []
        while let descriptor = Optional(dup(0)), descriptor >= 0 { held.append(descriptor) }

        let error = await #expect(throws: TransportError.self) {
            try await connection.send(.post(other.url + "/", body: "hello"))
        }
        for descriptor in held { close(descriptor) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.stage == .connecting)
        #expect(try await connection.send(.get(other.url + "/")).body.text(upTo: 10) == "ok")
    }
}

/// Gives the bytes of ``BytePattern``, made as they are read.
private struct PatternReader: BodyReader {
    let count: Int64
    let trailers: HTTPFields? = nil
    private var offset: Int64 = 0

    init(count: Int64) {
        self.count = count
    }

    mutating func next() async throws -> Data? {
        guard offset < count else { return nil }
        let chunk = BytePattern.bytes(Int(min(count - offset, 256 << 10)), at: offset)
        offset += Int64(chunk.count)
        return chunk
    }
}
