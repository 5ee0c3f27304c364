import Decorum
import Foundation
import HTTPTypes

extension Body {
    /// The body, which ends when a session does.
    ///
    /// - Parameter session: The session of its user.
    /// - Returns: The body.
    /// - Throws: ``SignedOutError`` where the session is over.
    func ending(with session: UserSession) throws -> Body {
        guard replay == .once else {
            let body = self
            return Body(length: length, replay: replay) { offset in
                try await EndingBodyReader(body, with: session).opened(at: offset)
            }
            .typed(as: mediaType)
        }
        // It is in the list before it is opened, since its transfer goes on.
        let reader = try EndingBodyReader(self, with: session)
        return Body(length: length, replay: replay) { try await reader.opened(at: $0) }.typed(as: mediaType)
    }
}

/// One reading of a body; an actor, since the end of a session comes while a task waits for a chunk.
private actor EndingBody {
    typealias Chunk = (bytes: Data?, trailers: HTTPFields?)

    private var body: Body?
    private var reader: (any BodyReader)?
    private var isOver = false
    private var wait: Task<Chunk, any Error>?

    init(_ body: Body) {
        self.body = body
    }

    func open(at offset: Int64) async throws {
        _ = try await waiting { try await $0.openBody(at: offset) }
    }

    func next() async throws -> Chunk {
        try await waiting { try await $0.read() }
    }

    /// Ends the reading: a task that waits gets an error, and the transfer stops.
    func end() {
        isOver = true
        wait?.cancel()
        (body, reader) = (nil, nil)
    }

    private func waiting(
        _ operation: @escaping @Sendable (isolated EndingBody) async throws -> Chunk
    ) async throws -> Chunk {
        guard !isOver else { throw SignedOutError(.signedOut) }
        let wait = Task { try await operation(self) }
        self.wait = wait
        defer { self.wait = nil }
        let result: Result<Chunk, any Error>
        do {
            result = .success(try await wait.valueCancelledByCaller)
        } catch {
            result = .failure(error)
        }
        // Without its reader, a body that is not complete looks as if it ended here, to a caller that was cancelled too.
        if isOver { throw Task.isCancelled ? CancellationError() as any Error : SignedOutError(.signedOut) }
        return try result.get()
    }

    private func openBody(at offset: Int64) async throws -> Chunk {
        let opened = try await body.take()?.open(at: offset)
        if !isOver { reader = opened }
        return (nil, nil)
    }

    private func read() async throws -> Chunk {
        var current = reader.take()
        // Kept after an error too, since a body that is not complete must not end as if it were.
        defer { if !isOver { reader = current } }
        let bytes = try await current?.next()
        return (bytes, bytes == nil ? current?.trailers : nil)
    }
}

private struct EndingBodyReader: BodyReader, Sendable {
    private let body: EndingBody
    /// Nil after the end of the body.
    private var entry: RequestsUnderWay.Entry?
    private(set) var trailers: HTTPFields?

    init(_ body: Body, with session: UserSession) throws {
        let reading = EndingBody(body)
        // Not retained by the list, so that a body that is dropped stops its transfer.
        guard let entry = session.add({ [weak reading] in await reading?.end() }) else {
            throw SignedOutError(.signedOut)
        }
        self.body = reading
        self.entry = entry
    }

    func opened(at offset: Int64) async throws -> EndingBodyReader {
        try await body.open(at: offset)
        return self
    }

    mutating func next() async throws -> Data? {
        let chunk = try await body.next()
        guard chunk.bytes == nil else { return chunk.bytes }
        (trailers, entry) = (trailers ?? chunk.trailers, nil)
        return nil
    }
}
