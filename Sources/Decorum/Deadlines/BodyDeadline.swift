import Foundation
import HTTPTypes

extension Body {
    /// The body with a deadline: reading it fails then, also where the transfer itself goes on for other readers.
    ///
    /// A body in memory or in a file has arrived already, and stays as it is.
    ///
    /// - Parameters:
    ///   - deadline: The instant at which reading fails; nil for none.
    ///   - origin: The server that the body comes from.
    ///   - watch: The watch for the deadline.
    /// - Returns: The body.
    func failing(
        at deadline: ContinuousClock.Instant?, from origin: Origin?, watchedBy watch: TimeLimitWatch
    ) -> Body {
        guard let deadline, bytes == nil, file == nil, !isEmpty else { return self }
        let source = DeadlineSource(body: self, deadline: deadline, origin: origin, watch: watch)
        return Body(trustedLength: length, replay: replay) { offset in try await source.open(at: offset) }
    }
}

private struct DeadlineSource: Sendable {
    let body: Body
    let deadline: ContinuousClock.Instant
    let origin: Origin?
    let watch: TimeLimitWatch

    func open(at offset: Int64) async throws -> any BodyReader {
        let reading = DeadlineBody(deadline, origin, watch)
        try await reading.open(body, at: offset)
        return DeadlineBodyReader(body: reading)
    }
}

/// Another body, which is read until an instant; an actor, since each read runs in a task that can be left behind.
private actor DeadlineBody {
    private let deadline: ContinuousClock.Instant
    private let origin: Origin?
    private let watch: TimeLimitWatch
    private var reader: (any BodyReader)?

    init(_ deadline: ContinuousClock.Instant, _ origin: Origin?, _ watch: TimeLimitWatch) {
        self.deadline = deadline
        self.origin = origin
        self.watch = watch
    }

    nonisolated func open(_ body: Body, at offset: Int64) async throws {
        try await inTime { try await self.read(body, at: offset) }
    }

    nonisolated func next() async throws -> (chunk: Data?, trailers: HTTPFields?) {
        try await inTime { try await self.read() }
    }

    private func read(_ body: Body, at offset: Int64) async throws {
        reader = try await body.open(at: offset)
    }

    private func read() async throws -> (chunk: Data?, trailers: HTTPFields?) {
        var reader = reader.take()
        defer { self.reader = reader }
        let chunk = try await reader?.next()
        return (chunk, chunk == nil ? reader?.trailers : nil)
    }

    private nonisolated func inTime<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let value = try await watch.value(until: deadline, of: operation) else {
            throw TransportError(pastDeadlineOfBodyFrom: origin)
        }
        return value
    }
}

private struct DeadlineBodyReader: BodyReader {
    let body: DeadlineBody
    private(set) var trailers: HTTPFields?

    init(body: DeadlineBody) {
        self.body = body
    }

    mutating func next() async throws -> Data? {
        let (chunk, trailers) = try await body.next()
        if chunk == nil { self.trailers = trailers }
        return chunk
    }
}

extension TransportError {
    fileprivate init(pastDeadlineOfBodyFrom origin: Origin?) {
        self.init(.deadlineExceeded, at: .body)
        self.origin = origin
    }
}
