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
    package static let reuse = TransportCase("reuse") { bench in
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
    package static let closeAsked = TransportCase("closeAsked") { bench in
        for round in 1...3 {
            _ = try await bench.content(of: .init(fields: ["Connection": "close"], body: "hello"))
            try expect(bench.origin.connectionCount, is: round, "connections")
        }
    }

    /// No more connections are made than the transport's layer declares in its setting `connectionsPerHost`; a request that
    /// waits for one can be cancelled.
    package static let connectionLimit = TransportCase("connectionLimit") { bench in
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
    package static let closedIdle = TransportCase("closedIdle") { bench in
        for round in 1...3 {
            try expect(try await bench.content(.post, of: .init(body: "ok"), body: "hello"), is: "ok", "answer")
            try expect(bench.origin.connectionCount, is: round, "connections")
            bench.origin.closeConnections()
            try await bench.expectClosed()
        }
    }

    /// Content that a server may have read is not sent again by the transport.
    package static let deadConnection = TransportCase.ofSubject("deadConnection") { subject in
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
    package static let deadConnectionWithoutContent = TransportCase.ofSubject("deadConnectionWithoutContent") {
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
    package static let thousand = TransportCase("thousand") { bench in
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
    package static let randomCancellation = TransportCase.ofSubject("randomCancellation") { subject in
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

    /// The number of open descriptors of the process; nil if the system does not tell.
    private static var descriptorCount: Int? {
        try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    private static func soak(_ subject: TransportSubject) async throws -> LoopbackOrigin {
        let bench = try await subject.bench(try LoopbackOrigin(keepingBodiesUpTo: 0))
        let origin = bench.origin
        // The bytes of each answer tell its request: the pattern from the offset of the query on.
        origin.route(nil, "*") { request in
            let offset = Int64(request.query ?? "") ?? 0
            let content = BytePattern.bytes(Int(offset % 150_001), at: offset)
            let half = content.count / 2
            let longer = LoopbackOrigin.Step.head(.ok, ["Content-Length": "\(content.count + 1)"])
            switch request.path {
            case "/chunked": return .chunked(chunks: [content.prefix(half), content.dropFirst(half)])
            case "/cut": return .script(longer, .raw(content), .close)
            case "/reset": return .script(longer, .raw(content), .reset)
            case "/slow": return LoopbackOrigin.Answer(body: content).after(.pause(.milliseconds(3)))
            case "/nothing": return .closing
            default: return .init(body: request.isBodyPattern ? content : Data("changed".utf8))
            }
        }

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
        var reader = try await bench.send(.get, "/whole?150000").body.open()
        try expect(try await reader.countPattern(from: 150_000), is: 300_000, "last offset")
        return origin
    }

    /// One exchange, which may be cancelled after a moment, read in part, or not at all.
    private static func exchange(with bench: TransportBench, by generator: SeededGenerator) async throws {
        let kind = Int(generator.next() % 6)
        let path = ["/whole", "/chunked", "/slow", "/cut", "/reset", "/nothing"][kind]
        let offset = Int64(generator.next() % 1_000_000_000)
        let body = generator.next() % 4 == 0 ? Body(BytePattern.bytes(Int(generator.next() % 60_000))) : .empty
        let request = try bench.request(body.isEmpty ? .get : .post, "\(path)?\(offset)", body: body)
        let readsAll = generator.next() % 3 > 0
        let task = Task {
            let response = try await bench.connection.send(request)
            // A server in between answers itself if the origin does not.
            guard readsAll, path != "/nothing" else { return }
            var reader = try await response.body.open()
            let count = try await reader.countPattern(from: offset) - offset
            try expect(kind < 3 && count == offset % 150_001, "a whole answer to \(path), got \(count) bytes")
        }
        if generator.next() % 2 == 0 {
            try await Task.sleep(for: .microseconds(Int(generator.next() % 3000)))
            task.cancel()
        }
        do {
            try await withDeadline(of: .seconds(15)) { try await task.value }
        } catch is TransportError where kind >= 3 {
            return
        } catch is CancellationError {
            return
        }
    }
}
