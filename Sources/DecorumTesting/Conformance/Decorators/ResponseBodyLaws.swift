import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that the body of a response is opened at most once, and reaches the caller whole.
    ///
    /// A response's body is a transfer. A layer that reads it, to examine or to store it, forwards what it has read.
    public static let responseBodiesOnce = DecoratorLaw(
        "responseBodiesOnce", "The body of a response is opened at most once and reaches the caller whole."
    ) { subject in
        for (path, knowsLength) in shapes(of: subject) {
            let exchange = try await Exchange(subject, on: path, knowingLength: knowsLength, chunks: 5)
            guard let response = try await exchange.response() else { continue }
            let data: Data
            do {
                data = try await response.body.collectAll().data
            } catch {
                throw ConformanceFailure("With \(path), the content could not be read: \(error)")
            }
            try await requireWhole(data, of: exchange)
            for content in exchange.contents {
                let isNeeded = path.isOfLaws && content.state.openings == 0
                try require(
                    content.state.openings <= 1 && !isNeeded,
                    "With \(path), the content was opened \(content.state.openings) times.")
            }
        }
    }

    private static func requireWhole(_ data: Data, of exchange: Exchange) async throws {
        let (path, subject) = (exchange.path, exchange.subject)
        if !subject.mayChange(.responseContent, on: path), path.calls == 1 {
            try require(
                exchange.answers.contains { $0.content.data(chunks: $0.chunks) == data },
                "With \(path), the content of the response was changed: \(data.count) bytes arrived.")
        }
        guard !path.isOfLaws, case .success(let reference) = try await path.provoke(subject).result else { return }
        let expected = try await reference.body.collectAll().data
        try require(
            data == expected,
            "With \(path), \(data.count) bytes arrived of a body in chunks, and \(expected.count) of one in memory.")
    }

    /// Demands that the content of a response is read no earlier than the caller takes it.
    ///
    /// The response is returned when its head is there. A caller who reads slowly slows the server down; a layer that
    /// reads ahead takes that away, and holds a download of any size in memory. One chunk may be ready.
    public static let responseStreaming = DecoratorLaw(
        "responseStreaming", "The content of a response is read at most one chunk ahead of the caller."
    ) { subject in
        for (path, knowsLength) in shapes(of: subject) {
            let exchange = try await Exchange(subject, on: path, knowingLength: knowsLength, chunks: 64)
            guard let response = try await exchange.response(), let content = exchange.contents.last else { continue }
            // Where the content changes, its chunks cannot be counted after the first one was read.
            let steps = subject.mayChange(.responseContent, on: path) ? 0 : 3
            var reader = try await response.body.open()
            var taken = 0
            for step in 0...steps {
                if step > 0 { taken += try await reader.next()?.count ?? 0 }
                let ahead = content.state.bytesRead - taken
                try require(
                    ahead <= content.largestChunk,
                    "With \(path), \(ahead) bytes were read ahead of the caller, who had taken \(step) chunks.")
            }
        }
    }

    /// Demands that the trailer fields of a response reach the caller.
    ///
    /// A layer that wraps or replaces the body forwards them. It reads the wrapped body to its end, even where its own
    /// content has ended before, since the trailer fields follow the content.
    public static let responseTrailers = DecoratorLaw(
        "responseTrailers", "The trailer fields behind the content of a response reach the caller."
    ) { subject in
        let trailers: HTTPFields = [.eTag: "1", .server: "a", .eTag: "2"]
        for (path, knowsLength) in shapes(of: subject) {
            let exchange = try await Exchange(
                subject, on: path, knowingLength: knowsLength, chunks: 2, trailers: trailers)
            guard let response = try await exchange.response(), exchange.comesFromBase(response) else { continue }
            let received = try await response.body.collectAll().trailers
            try require(received == trailers, "With \(path), the trailers \(trailers) arrived as \(received).")
        }
    }

    /// Demands that a transfer ends when the caller releases its response, read in part or not at all.
    ///
    /// A layer that still holds the body, in a task or in a table, keeps a connection to the server busy without use.
    public static let earlyDrop = DecoratorLaw(
        "earlyDrop", "Releasing a response, unread or read in part, ends its transfer."
    ) { subject in
        for (path, knowsLength) in shapes(of: subject) {
            for chunks in 0...2 {
                let (contents, connection) = try await contents(ofDroppingAfter: chunks) {
                    try await Exchange(subject, on: path, knowingLength: knowsLength, chunks: 64)
                }
                for content in contents { try await requireRelease(of: content, with: path) }
                // A stack outlives its calls, and so does everything that it kept of them.
                withExtendedLifetime(connection) {}
            }
        }
    }

    private static func shapes(of subject: DecoratorSubject) -> [(path: ActivePath, knowsLength: Bool)] {
        subject.contentPaths.flatMap { [($0, false), ($0, true)] }
    }

    /// Reads a part of a response, then releases everything that holds it except for the connection.
    private static func contents(
        ofDroppingAfter count: Int, _ exchange: @Sendable () async throws -> Exchange
    ) async throws -> ([BodyProbe], any Connection) {
        let exchange = try await exchange()
        let held = (exchange.contents, exchange.provoked.connection)
        guard count > 0, let response = try await exchange.response() else { return held }
        var reader = try await response.body.open()
        for _ in 0..<count { _ = try await reader.next() }
        return held
    }

    /// Waits a moment for a transfer to end, since a layer may release it in a task that is about to end.
    private static func requireRelease(of content: BodyProbe, with path: ActivePath) async throws {
        let end = ContinuousClock.now + .seconds(1)
        while content.isHeld, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(1))
        }
        try require(!content.isHeld, "With \(path), the transfer went on after the caller had released it.")
    }
}
