import Foundation
import HTTPTypes

extension Body {
    /// The body with a deadline: reading it fails then, also where the transfer itself goes on for other readers.
    ///
    /// A body in memory or in a file has arrived already, and stays as it is.
    func failing(
        at deadline: ContinuousClock.Instant?, since start: ContinuousClock.Instant, in request: borrowing Request,
        watchedBy watch: TimeLimitWatch
    ) -> Body {
        guard let deadline, bytes == nil, file == nil, !isEmpty else { return self }
        let lateness = BodyLateness(
            head: request.head, routeName: request.options.routeName,
            elapsed: start.duration(to: Swift.max(start, deadline)), scope: .body)
        return failing(at: deadline, with: lateness, watchedBy: watch)
    }

    fileprivate func failing(
        at deadline: ContinuousClock.Instant, with lateness: BodyLateness, watchedBy watch: TimeLimitWatch
    ) -> Body {
        let body = self
        return Body(trustedLength: length, replay: replay) { offset in
            try await DeadlineBody(deadline, lateness, watch).open(body, at: offset)
        }
    }
}

extension CallEnd {
    fileprivate func lateness(of metadata: ResponseMetadata) -> BodyLateness {
        let target = metadata.target ?? metadata.url.map { Target($0) }
        return BodyLateness(
            head: HTTPRequest(
                method: method, scheme: target?.scheme, authority: target?.authority, path: target?.path),
            routeName: metadata.routeName, elapsed: start.duration(to: max(start, deadline)), scope: .call)
    }
}

extension Response {
    /// The body for one who reads it whole for the caller: it fails at the end of the call's time.
    ///
    /// The caller who streams ``body`` itself has no such limit.
    package var bodyInTime: Body {
        guard let end = readingEnd else { return body }
        return body.failing(at: end.deadline, with: end.lateness(of: metadata), watchedBy: end.watch)
    }

    /// Reads the whole body within the time of the call, in one task in place of one for each chunk.
    func readInTime<Value: Sendable>(
        _ read: @escaping @Sendable (Body) async throws -> Value
    ) async throws -> Value {
        guard let end = readingEnd else { return try await read(body) }
        let value = try await end.watch.value(until: end.deadline) { [body] in try await read(body) }
        guard let value else { throw end.lateness(of: metadata).error }
        return value
    }

    /// The end of the call's time; nil without a limit, and if the whole body has arrived.
    private var readingEnd: CallEnd? { body.isAtHand || body.isEmpty ? nil : metadata.callEnd }
}

/// The facts of the error at the deadline, which is made only then.
private struct BodyLateness: Sendable {
    let head: HTTPRequest
    let routeName: String?
    let elapsed: Duration
    let scope: TransportError.DeadlineScope

    var error: any Error {
        var error = TransportError(.deadlineExceeded, at: .body)
        error.deadlineScope = scope
        return TransportError.locate(
            error, at: try? Origin(head), after: elapsed, method: head.method, url: head.url, routeName: routeName)
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

    nonisolated func open(_ body: Body, at offset: Int64) async throws -> any BodyReader {
        try await inTime { try await self.read(body, at: offset) }
        return DeadlineBodyReader(body: self)
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

extension RequestOptions {
    /// The clock that ``deadline`` and ``bodyDeadline`` are instants of, if it skips waits; nil for the time of the machine.
    var skippingClock: (any DatedClock)? {
        get { self[SkippingClockKey.self] }
        set { self[SkippingClockKey.self] = newValue }
    }

    /// Makes deadlines that are instants of a clock which skips waits instants of the time of the machine.
    ///
    /// Such a clock stands still while a server works, so its deadlines would pass too early for a transport that sends.
    package mutating func moveDeadlinesToMachineTime() {
        guard let clock = skippingClock else { return }
        let passed = clock.now.duration(to: ContinuousClock.now)
        deadline = deadline?.advanced(by: passed)
        bodyDeadline = bodyDeadline?.advanced(by: passed)
        skippingClock = nil
    }
}

private enum SkippingClockKey: RequestOptionKey {
    static let defaultValue: (any DatedClock)? = nil
    static let travels = OptionTravel.call
}
