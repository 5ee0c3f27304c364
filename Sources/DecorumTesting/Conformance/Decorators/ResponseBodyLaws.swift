import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that the body of a response is opened at most once, and reaches the caller whole.
    ///
    /// A response's body is a transfer. A layer that reads it, to look into it or to keep it, hands on what it has read.
    public static let responseBodiesOnce = DecoratorLaw(
        "response bodies are read once", "The body of a response is opened at most once and reaches the caller whole."
    ) { subject in
        for (head, knowsLength) in shapes {
            let content = BodyProbe()
            let response = try await send(in: subject) {
                Response(head: head, body: content.body(chunks: 5, knowingLength: knowsLength))
            }
            let data: Data
            do {
                data = try await response.body.collectAll().data
            } catch {
                throw ConformanceFailure("The content could not be read: \(error)")
            }
            try requireEqual(data.count, 5 * BodyProbe.chunkSize, "The number of bytes that reached the caller")
            try require(BytePattern.matches(data), "The content of the response was changed.")
            try requireEqual(content.state.openings, 1, "The number of times that the content was opened")
        }
    }

    /// Demands that the content of a response is read no earlier than the caller takes it.
    ///
    /// The response is returned when its head is there. A caller who reads slowly slows the server down; a layer that
    /// reads ahead takes that away, and holds a download of any size in memory. One chunk may be ready.
    public static let responseStreaming = DecoratorLaw(
        "responses stream", "The content of a response is read at most one chunk ahead of the caller."
    ) { subject in
        for (head, knowsLength) in shapes {
            let content = BodyProbe()
            let response = try await send(in: subject) {
                Response(head: head, body: content.body(chunks: 64, knowingLength: knowsLength))
            }
            var reader = try await response.body.open()
            var taken = 0
            while taken <= 3 {
                let ahead = content.state.chunksRead * BodyProbe.chunkSize - taken * BodyProbe.chunkSize
                try require(
                    ahead <= BodyProbe.chunkSize,
                    "\(ahead) bytes were read ahead of the caller, who had taken \(taken) chunks.")
                _ = try await reader.next()
                taken += 1
            }
        }
    }

    /// Demands that the trailer fields of a response reach the caller.
    public static let responseTrailers = DecoratorLaw(
        "response trailers survive", "The trailer fields behind the content of a response reach the caller."
    ) { subject in
        let trailers: HTTPFields = [.eTag: "1", .server: "a", .eTag: "2"]
        for (head, knowsLength) in shapes {
            let response = try await send(in: subject) {
                Response(
                    head: head, body: BodyProbe().body(chunks: 2, knowingLength: knowsLength, trailers: trailers))
            }
            let received = try await response.body.collectAll().trailers
            try require(received == trailers, "The trailers \(trailers) arrived as \(received).")
        }
    }

    /// Demands that a caller who lets go of a response ends its transfer, read in part or not at all.
    ///
    /// A layer that still holds the body, in a task or in a table, keeps a connection to the server busy for nobody.
    public static let earlyDrop = DecoratorLaw(
        "a drop ends the transfer", "Letting go of a response, unread or read in part, ends its transfer."
    ) { subject in
        for (head, knowsLength) in shapes {
            for chunks in 0...2 {
                let content = BodyProbe()
                let probe = Probe { _, _ in
                    Response(head: head, body: content.body(chunks: 64, knowingLength: knowsLength))
                }
                let connection = try subject.connection(over: probe)
                try await read(chunks, of: try await connection.send(.lawful()))
                try await requireRelease(of: content)
                // A stack outlives its calls, and with it what it may have kept of them.
                withExtendedLifetime(connection) {}
            }
        }
    }

    /// Heads that may be handled in different ways, with and without the length of the content.
    private static let shapes: [(head: HTTPResponse, knowsLength: Bool)] = [
        (.ok, false), (.ok, true), (.storable, false), (.storable, true),
    ]

    private static func send(
        in subject: DecoratorSubject, _ answer: @escaping @Sendable () -> Response
    ) async throws -> Response {
        let probe = Probe { _, _ in answer() }
        return try await subject.connection(over: probe).send(.lawful())
    }

    /// Waits a moment for a transfer to end: a layer may let go of it in a task that is on its way to its end.
    private static func requireRelease(of content: BodyProbe) async throws {
        let end = ContinuousClock.now + .seconds(1)
        while content.isHeld, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(1))
        }
        try require(!content.isHeld, "The transfer went on after the caller had let go of it.")
    }

    private static func read(_ count: Int, of response: consuming Response) async throws {
        guard count > 0 else { return }
        var reader = try await response.body.open()
        for _ in 0..<count {
            _ = try await reader.next()
        }
    }
}

extension HTTPResponse {
    /// The head of a response that a layer may want to keep.
    fileprivate static let storable = HTTPResponse(status: .ok, headerFields: [.eTag: #""1""#])
}
