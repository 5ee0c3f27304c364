import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension TransportCase {
    /// Connections that are kept, used again, limited and replaced.
    public static let pool: [TransportCase] = [
        .reuse, .closeAsked, .connectionLimit, .closedIdle, .deadConnection, .deadConnectionWithoutContent,
    ]

    /// Requests one after the other share a connection.
    public static let reuse = TransportCase("reuse") { bench in
        for _ in 0..<5 {
            _ = try await bench.content(of: .init(body: "hello"))
            _ = try await bench.content(of: .chunked(chunks: ["a", "b"]))
            _ = try await bench.content(.post, of: .init(body: "hello"), body: "content")
            _ = try await bench.content(.post, of: .init(body: "hello"), body: Upload(count: 200_000).body())
            _ = try await bench.content(.head, of: .init(body: "hello"))
            _ = try await bench.content(of: .init(.noContent))
            _ = try await bench.content(of: .init(.found, fields: ["Location": "/"], body: "moved"))
            _ = try await bench.content(of: .generated(count: 1 << 20))
        }
        try expect(bench.origin.connectionCount, is: 1, "connections")
    }

    /// A server that asks for the end of a connection gets it.
    public static let closeAsked = TransportCase("closeAsked") { bench in
        for round in 1...3 {
            _ = try await bench.content(of: .init(fields: ["Connection": "close"], body: "hello"))
            try expect(bench.origin.connectionCount, is: round, "connections")
        }
    }

    /// No more connections are made than the transport's layer declares in its setting `connectionsPerHost`; a request that
    /// waits for one can be cancelled.
    public static let connectionLimit = TransportCase("connectionLimit") { bench in
        let limit = try bench.connectionsPerHost
        let gate = Gate()
        bench.origin.route(.get, "/wait", LoopbackOrigin.Answer(body: "ok").after(.wait(gate)))
        let tasks = try (0..<limit * 3).map { _ in
            let request = try bench.request(.get, "/wait")
            return Task { try await bench.connection.send(request).text() }
        }
        try await gate.waitForWaiting(limit)
        let cancelled = bench.start(try bench.request(.get, "/wait"))
        for _ in 0..<1000 { await Task.yield() }
        cancelled.cancel()
        try await expectCancelled(cancelled)
        try expect(bench.origin.openConnectionCount, is: limit, "connections")
        gate.open()
        for task in tasks { try expect(try await task.value, is: "ok", "answer") }
    }

    /// A connection that the server closed while it was idle is replaced, for any method.
    public static let closedIdle = TransportCase("closedIdle") { bench in
        for round in 1...3 {
            try expect(try await bench.content(.post, of: .init(body: "ok"), body: "hello"), is: "ok", "answer")
            try expect(bench.origin.connectionCount, is: round, "connections")
            bench.origin.closeConnections()
            try await bench.expectClosed()
        }
    }

    /// Content that a server may have read is not sent again by the transport.
    public static let deadConnection = TransportCase.ofSubject("deadConnection") { subject in
        for body in [Body("hello"), Body(BytePattern.bytes(300_000))] {
            try await expectSentOnce(.post, body: body, by: subject)
        }
        let stream = Body(
            chunks: AsyncStream { continuation in
                continuation.yield(Data("hello".utf8))
                continuation.finish()
            })
        try await expectSentOnce(.post, body: stream, by: subject)
    }

    /// The transport also does not repeat a request without content, since such a request may have an effect too.
    public static let deadConnectionWithoutContent = TransportCase.ofSubject("deadConnectionWithoutContent") {
        subject in
        for method in [HTTPRequest.Method.post, .delete, .get] {
            try await expectSentOnce(method, body: .empty, by: subject)
        }
    }

    private static func expectSentOnce(
        _ method: HTTPRequest.Method, body: Body, by subject: TransportSubject
    ) async throws {
        let bench = try await subject.bench()
        _ = try await bench.content(of: .init(body: "ok"))
        // Reads the request on the pooled connection and closes it, as a server that is restarted does.
        bench.origin.enqueue(.closing)
        bench.origin.route(nil, "/once", .init(body: "second"))
        let request = try bench.request(method, "/once", body: body)
        try await expectFailure(.connectionLost, at: .head) {
            _ = try await withDeadline(of: .seconds(10)) { try await bench.connection.send(request) }
        }
        let count = bench.origin.requests.count { $0.path == "/once" && $0.isComplete }
        try expect(count <= 1, "one sending of \(method)")
        try await bench.expectUsable()
    }
}

extension TransportCase {
    /// Many exchanges at the same time.
    public static let stress: [TransportCase] = [.thousand, .randomCancellation]

    /// Many exchanges at the same time do not mix.
    public static let thousand = TransportCase("thousand") { bench in
        bench.origin.route(nil, "/*") { request in .init(fields: ["ETag": request.target], body: request.body) }
        try await withThrowingTaskGroup { group in
            for number in 0..<1000 {
                let request = try bench.request(.post, "/\(number)", body: Body("content \(number)"))
                group.addTask {
                    let response = try await bench.connection.send(request)
                    try expect(response.head.headerFields[.eTag], is: "/\(number)", "field")
                    let text = try await response.text()
                    try expect(text, is: "content \(number)")
                }
            }
            try await group.waitForAll()
        }
        try expect(bench.origin.requests.count, is: 1000, "requests")
    }

    /// Exchanges of all kinds, half of them cancelled or dropped at random, leave nothing behind and mix nothing up.
    ///
    /// Each byte of each answer that is read is checked. The duration is the `soak` of ``check(soaking:_:)``.
    public static let randomCancellation = TransportCase.ofSubject("randomCancellation") { subject in
        let descriptors = descriptorCount
        // Of its own, so that the transport is let go of.
        let origin = try await soak(subject)
        // Clients close their connections in the background, which takes long on a busy machine.
        try await withDeadline(of: .seconds(30)) { try await origin.waitForOpenConnections(0) }
        guard let descriptors else { return }
        try await withDeadline {
            while descriptorCount ?? 0 > descriptors + descriptorsOfOthers {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// The descriptors that other tests in the process may open meanwhile, far fewer than there are exchanges in a second.
    private static let descriptorsOfOthers = 100

    /// The number of open descriptors of the process; nil where the system does not tell.
    private static var descriptorCount: Int? {
        try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    private static func soak(_ subject: TransportSubject) async throws -> LoopbackOrigin {
        let bench = try await subject.bench(try LoopbackOrigin(keepingBodiesUpTo: 0))
        let origin = bench.origin
        origin.route(.get, "/large", .generated(count: 300_000))
        origin.route(.get, "/chunked", .generated(count: 100_000, chunked: true))
        origin.route(.post, "/echo") { request in
            .init(body: request.isBodyPattern ? BytePattern.bytes(Int(request.bodyLength)) : Data("changed".utf8))
        }
        origin.route(.get, "/cut", .script(.head(.ok, ["Content-Length": "9"]), .raw("hal"), .close))
        origin.route(.get, "/reset", .resetting)
        origin.route(.get, "/slow", .init(body: BytePattern.bytes(5)).after(.pause(.milliseconds(3))))

        let end = ContinuousClock.now + subject.soak
        let generator = SeededGenerator(seed: 7)
        try await withThrowingTaskGroup { group in
            for _ in 0..<32 {
                group.addTask {
                    while ContinuousClock.now < end {
                        try await exchange(with: bench, by: generator)
                        if generator.next() % 100 == 0 { origin.forgetRequests() }
                    }
                }
            }
            try await group.waitForAll()
        }
        let response = try await bench.send(.get, "/large")
        try expect(try await response.body.countPattern(), is: 300_000, "bytes")
        return origin
    }

    /// One exchange, which may be cancelled after a moment, read in part, or not at all.
    private static func exchange(with bench: TransportBench, by generator: SeededGenerator) async throws {
        let kind = Int(generator.next() % 6)
        let path = ["/large", "/chunked", "/echo", "/cut", "/reset", "/slow"][kind]
        let body = kind == 2 ? Body(BytePattern.bytes(Int(generator.next() % 60_000))) : .empty
        let request = try bench.request(kind == 2 ? .post : .get, path, body: body)
        let readsAll = generator.next() % 3 > 0
        let task = Task {
            let response = try await bench.connection.send(request)
            // A server in between turns a reset into a response.
            guard readsAll, kind != 4 else { return }
            let count = try await response.body.countOfPattern(orText: kind == 3)
            let expected: Int64? = [300_000, 100_000, body.length, nil, nil, 5][kind]
            try expect(count, is: expected ?? count, "bytes of \(path)")
        }
        if generator.next() % 2 == 0 {
            try await Task.sleep(for: .microseconds(Int(generator.next() % 3000)))
            task.cancel()
        }
        do {
            try await withDeadline(of: .seconds(15)) { try await task.value }
        } catch is TransportError where kind == 3 || kind == 4 {
            return
        } catch is CancellationError {
            return
        }
    }
}

extension Body {
    fileprivate func countOfPattern(orText isText: Bool) async throws -> Int64 {
        isText ? Int64(try await collectAll().data.count) : try await countPattern()
    }
}
