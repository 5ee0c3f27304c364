import Foundation
import HTTPTypes

extension Body {
    /// The body with a deadline: reading it fails then, also where the transfer itself goes on for other readers.
    ///
    /// A body in memory or in a file has arrived already, and stays as it is.
    ///
    /// - Parameters:
    ///   - deadline: The instant at which reading fails; nil for none.
    ///   - start: The instant at which the request began, from which an error counts.
    ///   - request: The request whose response has the body; an error names its server and its route.
    ///   - watch: The watch for the deadline.
    /// - Returns: The body.
    func failing(
        at deadline: ContinuousClock.Instant?, since start: ContinuousClock.Instant, in request: borrowing Request,
        watchedBy watch: TimeLimitWatch
    ) -> Body {
        guard let deadline, bytes == nil, file == nil, !isEmpty else { return self }
        var error = TransportError(.deadlineExceeded, at: .body)
        error.origin = try? Origin(request.head)
        error.routeName = request.options.routeName
        error.elapsed = start.duration(to: Swift.max(start, deadline))
        let source = DeadlineSource(body: self, deadline: deadline, error: error, watch: watch)
        return Body(trustedLength: length, replay: replay) { offset in try await source.open(at: offset) }
    }
}

private struct DeadlineSource: Sendable {
    let body: Body
    let deadline: ContinuousClock.Instant
    let error: TransportError
    let watch: TimeLimitWatch

    func open(at offset: Int64) async throws -> any BodyReader {
        let reading = DeadlineBody(deadline, error, watch)
        try await reading.open(body, at: offset)
        return DeadlineBodyReader(body: reading)
    }
}

/// Another body, which is read until an instant; an actor, since each read runs in a task that can be left behind.
private actor DeadlineBody {
    private let deadline: ContinuousClock.Instant
    private let error: TransportError
    private let watch: TimeLimitWatch
    private var reader: (any BodyReader)?

    init(_ deadline: ContinuousClock.Instant, _ error: TransportError, _ watch: TimeLimitWatch) {
        self.deadline = deadline
        self.error = error
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
        guard let value = try await watch.value(until: deadline, of: operation) else { throw error }
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
