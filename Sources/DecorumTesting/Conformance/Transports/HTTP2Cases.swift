import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// The cases over HTTP/2, which ask for TLS with a root of their own, and are skipped without nginx and openssl.
    public static let http2: [TransportCase] = ownHTTP2 + sharedWithHTTP1.map(\.overHTTP2)

    private static let ownHTTP2: [TransportCase] = [
        .sharedConnection, .heldStreams, .droppedStreams, .retiredConnection,
    ]

    /// Those that nginx leaves as they are.
    ///
    /// It keeps informational responses, trailer fields of either side, and a head without content to itself. libcurl
    /// sends no trailer fields over HTTP/2 at all.
    private static let sharedWithHTTP1: [TransportCase] = [
        .fixedLength, .noContent, .requestFields, .targets, .setCookies, .chunksAsTheyArrive,
        .slowDrip, .backPressure, .unreadDrop, .partialDrop, .wholeUploads,
        .emptyUploads, .echo, .streamedUpload, .failingUpload, .wrongLength, .redirections, .challenges, .cookies,
        .cancelledTask, .cancellationBeforeHead, .cancellationWithinBody, .cancelledReader,
        .idleBeforeHead, .idleWithinBody, .deadlineBeforeHead, .deadlineOfBody, .deadlineSparesBody, .thousand,
        .randomCancellation,
    ]

    /// Requests at the same time are streams of one connection.
    public static let sharedConnection = TransportCase(
        "sharedConnection", "Of 64 requests at the same time to a server of HTTP/2, all share one connection."
    ) { subject in
        let bench = try await subject.overHTTP2.bench()
        let numbers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<64 {
                let request = try bench.request(.get, "/connection")
                group.addTask { try await bench.connection.send(request).body.text(upTo: 100) }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        try requireEqual(numbers.count, 1, "The number of connections")
    }

    /// A stream whose reader takes nothing delays no other stream.
    public static let heldStreams = TransportCase(
        "heldStreams", "A stream that is not read holds back none of the others on its connection."
    ) { subject in
        let bench = try await subject.overHTTP2.bench()
        bench.origin.route(.get, "/large", .generated(count: 4 << 20))
        var held: [any BodyReader] = []
        for _ in 0..<4 {
            var reader = try await bench.connection.send(bench.request(.get, "/large")).body.open()
            _ = try await reader.next()
            held.append(reader)
        }
        try await withDeadline("Streams that are not read hold back others.") {
            for _ in 0..<3 {
                let response = try await bench.connection.send(bench.request(.get, "/large"))
                try requireEqual(try await response.body.countPattern(), 4 << 20, "The number of bytes")
            }
        }
        for var reader in held {
            while try await reader.next() != nil {}
        }
    }

    /// A stream that is dropped ends alone.
    public static let droppedStreams = TransportCase(
        "droppedStreams", "A stream that is dropped or cancelled ends alone, and the others on its connection go on."
    ) { subject in
        let bench = try await subject.overHTTP2.bench()
        bench.origin.route(.get, "/large", .generated(count: 1 << 20))
        bench.origin.route(.get, "/endless", .generated(count: 1 << 40))
        bench.origin.route(.get, "/hanging", .hanging)
        let number = try await bench.connectionNumber()
        let whole = try await bench.connection.send(bench.request(.get, "/large"))
        for _ in 0..<10 {
            _ = try await bench.connection.send(bench.request(.get, "/endless"))
            var reader = try await bench.connection.send(bench.request(.get, "/endless")).body.open()
            _ = try await reader.next()
            let request = try bench.request(.get, "/hanging")
            let task = Task { _ = try await bench.connection.send(request) }
            await Task.yield()
            task.cancel()
            try await requireCancelled(task, "a stream")
        }
        try requireEqual(try await whole.body.countPattern(), 1 << 20, "The number of bytes")
        try await bench.requireClosed(after: "streams were dropped")
        try requireEqual(try await bench.connectionNumber(), number, "The number of the connection")
    }

    /// A server that takes no more streams on a connection says so, and the next request goes on another.
    public static let retiredConnection = TransportCase(
        "retiredConnection", "A connection of HTTP/2 that the server retires is replaced, for any method."
    ) { subject in
        let origin = try LoopbackOrigin()
        origin.route(nil, "*", .init(body: "ok"))
        let server = try await SecureServer.nginx(before: origin, keepingConnectionFor: 5)
        let bench = TransportBench(
            origin: origin, connection: try subject.factory(TransportConditions(root: server.root)), server: server)
        let first = try await bench.connectionNumber()
        for round in 1...30 {
            let method: HTTPRequest.Method = round % 2 == 0 ? .post : .get
            let response = try await bench.connection.send(
                bench.request(method, body: method == .post ? "hello" : .empty))
            try requireEqual(try await response.body.text(upTo: 10), "ok", "The answer to request \(round)")
        }
        try requireEqual(origin.requests.count, 30, "The number of requests")
        try require(try await bench.connectionNumber() != first, "The server did not retire the connection.")
    }
}

extension TransportBench {
    fileprivate func connectionNumber() async throws -> String {
        try await connection.send(request(.get, "/connection")).body.text(upTo: 100)
    }
}
