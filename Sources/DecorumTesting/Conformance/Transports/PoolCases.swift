import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// Connections that are kept, used again, limited and replaced.
    public static let pool: [TransportCase] = [
        .reuse, .closeAsked, .connectionLimit, .closedIdle, .deadConnection, .deadConnectionWithoutContent,
    ]

    /// Requests one after the other share a connection.
    public static let reuse = TransportCase(
        "reuse", "Requests one after the other share a connection, whatever their framing."
    ) { subject in
        let bench = try await subject.bench()
        for _ in 0..<5 {
            _ = try await bench.content(of: .init(body: "hello"))
            _ = try await bench.content(of: .chunked(chunks: ["a", "b"]))
            _ = try await bench.content(.post, of: .init(body: "hello"), body: "content")
            _ = try await bench.content(.head, of: .init(body: "hello"))
            _ = try await bench.content(of: .init(.noContent))
            _ = try await bench.content(of: .init(.found, fields: ["Location": "/"], body: "moved"))
            _ = try await bench.content(of: .generated(count: 1 << 20))
        }
        try requireEqual(bench.origin.connectionCount, 1, "The number of connections for 35 requests")
    }

    /// A server that asks for the end of a connection gets it.
    public static let closeAsked = TransportCase(
        "closeAsked", "A connection that the server ends is not used again."
    ) { subject in
        let bench = try await subject.bench()
        for round in 1...3 {
            _ = try await bench.content(of: .init(fields: ["Connection": "close"], body: "hello"))
            try requireEqual(bench.origin.connectionCount, round, "The number of connections")
        }
    }

    /// No more connections are made than the transport's layer declares in its setting `connectionsPerHost`.
    public static let connectionLimit = TransportCase(
        "connectionLimit", "No more connections are made to a host than the setting connectionsPerHost says."
    ) { subject in
        let bench = try await subject.bench()
        let limit = try bench.connectionsPerHost
        let gate = Gate()
        bench.origin.route(.get, "/wait", LoopbackOrigin.Answer(body: "ok").after(.wait(gate)))
        let tasks = try (0..<limit * 3).map { _ in
            let request = try bench.request(.get, "/wait")
            return Task { try await bench.connection.send(request).body.text(upTo: 10) }
        }
        try await gate.waitForWaiting(limit)
        for _ in 0..<1000 { await Task.yield() }
        try requireEqual(bench.origin.openConnectionCount, limit, "The number of connections")
        gate.open()
        for task in tasks { try requireEqual(try await task.value, "ok", "An answer") }
    }

    /// A connection that the server closed while it was idle is replaced, for any method.
    public static let closedIdle = TransportCase(
        "closedIdle", "An idle connection that the server has closed is replaced."
    ) { subject in
        let bench = try await subject.bench()
        for round in 1...3 {
            try requireEqual(
                try await bench.content(.post, of: .init(body: "ok"), body: "hello"), "ok", "The answer")
            try requireEqual(bench.origin.connectionCount, round, "The number of connections")
            bench.origin.closeConnections()
            try await bench.requireClosed(after: "the server closed it")
        }
    }

    /// Content that a server may have read is not sent again by the transport.
    public static let deadConnection = TransportCase(
        "deadConnection", "A POST whose pooled connection turns out to be dead fails; it is never sent twice."
    ) { subject in
        for body in [Body("hello"), Body(BytePattern.bytes(300_000))] {
            try await requireSentOnce(.post, body: body, by: subject)
        }
        let stream = Body(
            chunks: AsyncStream { continuation in
                continuation.yield(Data("hello".utf8))
                continuation.finish()
            })
        try await requireSentOnce(.post, body: stream, by: subject)
    }

    /// The transport also does not repeat a request without content, since such a request may have an effect too.
    public static let deadConnectionWithoutContent = TransportCase(
        "deadConnectionWithoutContent", "A DELETE whose pooled connection turns out to be dead is never sent twice."
    ) { subject in
        for method in [HTTPRequest.Method.post, .delete, .get] {
            try await requireSentOnce(method, body: .empty, by: subject)
        }
    }

    private static func requireSentOnce(
        _ method: HTTPRequest.Method, body: Body, by subject: TransportSubject
    ) async throws {
        let bench = try await subject.bench()
        _ = try await bench.content(of: .init(body: "ok"))
        // Reads the request on the pooled connection and closes it, as a server that is restarted does.
        bench.origin.enqueue(.closing)
        bench.origin.route(nil, "/once", .init(body: "second"))
        let request = try bench.request(method, "/once", body: body)
        try await requireTransportError(of: [.connectionLost], at: .head, "A dead connection") {
            _ = try await withDeadline(of: .seconds(10), "A dead connection made a request hang.") {
                try await bench.connection.send(request)
            }
        }
        let count = bench.origin.requests.count { $0.path == "/once" && $0.isComplete }
        try require(count <= 1, "A \(method) was sent \(count) times.")
        try await bench.requireUsable(after: "a dead connection")
    }
}
