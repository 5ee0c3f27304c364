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
        let lateness = BodyLateness(
            head: request.head, routeName: request.options.routeName,
            elapsed: start.duration(to: Swift.max(start, deadline)))
        let source = DeadlineSource(body: self, deadline: deadline, lateness: lateness, watch: watch)
        return Body(trustedLength: length, replay: replay) { offset in try await source.open(at: offset) }
    }
}

/// The facts of the error at the deadline, which is made only then.
private struct BodyLateness: Sendable {
    let head: HTTPRequest
    let routeName: String?
    let elapsed: Duration

    var error: any Error {
        TransportError.locate(
            TransportError(.deadlineExceeded, at: .body), at: try? Origin(head), after: elapsed, method: head.method,
            url: head.url, routeName: routeName)
    }
}

private struct DeadlineSource: Sendable {
    let body: Body
    let deadline: ContinuousClock.Instant
    let lateness: BodyLateness
    let watch: TimeLimitWatch

    func open(at offset: Int64) async throws -> any BodyReader {
        let reading = DeadlineBody(deadline, lateness, watch)
        try await reading.open(body, at: offset)
        return DeadlineBodyReader(body: reading)
    }
}

/// Another body, which is read until an instant; an actor, since each read runs in a task that can be left behind.
private actor DeadlineBody {
    private let deadline: ContinuousClock.Instant
    private let lateness: BodyLateness
    private let watch: TimeLimitWatch
    private var reader: (any BodyReader)?

    init(_ deadline: ContinuousClock.Instant, _ lateness: BodyLateness, _ watch: TimeLimitWatch) {
        self.deadline = deadline
        self.lateness = lateness
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
        guard let value = try await watch.value(until: deadline, of: operation) else { throw lateness.error }
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
