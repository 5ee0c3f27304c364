import DecorumTestSupport
import DecorumTesting
import Testing

@testable import Decorum

/// The parts of an exchange that each transport knows, as the table of the page about reports has them.
@Suite(.timeLimit(.minutes(3))) struct ReportedTimingsTests {
    @Test func `M79: Each transport tells the first and the last byte, and URLSession on Linux no more`() async throws {
        let origin = try LoopbackOrigin()
        for connection in [SystemConnection(), URLSessionConnection()] as [any Connection] {
            origin.enqueue("hello")
            let response = try await connection.send(.get(origin.url))
            let first = try #require(response.report.timings?.firstByte)
            #expect(first > .zero && response.report.origin == origin.origin && response.report.method == .get)
            _ = try await response.body.text(upTo: 10)
            while response.report.timings?.total == nil { await Task.yield() }
            #expect(try #require(response.report.timings?.total) >= first)
            #expect(response.report.explain().contains("first byte after "))
            #if os(Linux)
            guard let connection = connection as? URLSessionConnection else { continue }
            var known = TransferTimings(total: response.report.timings?.total)
            known.firstByte = first
            #expect(response.report.timings == known && connection.openConnections == nil)
            #expect(SystemConnection(["missing.so"]).openConnections == nil)
            #endif
        }
        origin.stop()
    }

    #if os(Linux)
    /// Each pool has one connection; libcurl itself makes a request wait for that of another host, and tells it since 8.6.
    @Test(arguments: [
        (CurlConnection.Pool(connectionsPerHost: 1), "127.0.0.1", true),
        (CurlConnection.Pool(connections: 1), "localhost", try? CurlLibrary().tellsQueueTime),
    ])
    func `M79: libcurl knows each part of an exchange, with the wait for the only connection`(
        pool: CurlConnection.Pool, host: String, tellsWait: Bool?
    ) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = Gate()
        origin.route(.get, "/held", .script(.head(.ok, ["Content-Length": "1"]), .wait(gate), .raw("x")))
        origin.route(.get, "/", "ok")
        let connection = try CurlConnection(pool: pool)
        let held = try await connection.send(.get(origin.url + "/held"))
        let first = try #require(held.report.timings)
        #expect(try #require(first.nameLookup) <= #require(first.connect))
        #expect(try #require(first.connect) <= #require(first.firstByte))
        #expect(first.isConnectionReused == false && first.handshake == nil && first.network == nil)
        #expect(first.protocolVersion == "HTTP/1.1" && first.remoteAddress == "127.0.0.1")

        let clock = ContinuousClock()
        let began = clock.now
        async let waiting = connection.send(.get("http://\(host):\(origin.origin.port)/"))
        while clock.now < began.advanced(by: .milliseconds(20)) { await Task.yield() }
        gate.open()
        try await held.body.drain(upTo: 10)
        let response = try await waiting
        try await response.body.drain(upTo: 10)
        let second = try #require(response.report.timings)
        let (firstByte, total) = (try #require(second.firstByte), try #require(second.total))
        #expect(firstByte <= total && total <= began.duration(to: clock.now))
        #expect((second.queued != nil) == tellsWait && second.queued.map { $0 > .milliseconds(10) } ?? true)
        #expect(second.queued ?? .zero <= second.nameLookup ?? firstByte)
        let isSameHost = host == "127.0.0.1"
        #expect(second.isConnectionReused == isSameHost && (second.connect == nil) == isSameHost)
    }

    @Test func `The number of open connections follows the sockets`() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let curl = try CurlConnection()
        for connection in [curl, SystemConnection()] as [any ClosableConnection] {
            #expect(connection.openConnections == 0)
            let gate = Gate()
            var held: [Response] = []
            for _ in 0..<3 {
                origin.enqueue(.script(.head(.ok, ["Content-Length": "1"]), .wait(gate), .raw("x")))
                held.append(try await connection.send(.get(origin.url)))
            }
            #expect(connection.openConnections == 3)
            gate.open()
            for response in held { try await response.body.drain(upTo: 10) }
            held = []
            // Unused ones are kept, and one of them serves this request, with which it ends.
            origin.enqueue(.untilClose(body: "end"))
            try await connection.send(.get(origin.url)).body.drain(upTo: 10)
            while connection.openConnections != 2 { await Task.yield() }
            await connection.close()
            while connection.openConnections != 0 { await Task.yield() }
            try await origin.waitForOpenConnections(0)
        }
        let refused = try LoopbackOrigin.refusing()
        let failing = try CurlConnection()
        await #expect(throws: TransportError.self) { try await failing.send(.get(refused.url)) }
        #expect(failing.openConnections == 0)
    }
    #endif
}
