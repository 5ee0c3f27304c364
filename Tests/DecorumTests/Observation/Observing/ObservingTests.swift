import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct ObservingTests {
    final class Events: CallObserver {
        private let stored = Mutex<[CallReport]>([])
        var all: [CallReport] { stored.withLock { $0 } }
        var getsAllEvents: Bool { false }
        func ended(_ report: CallReport) { stored.withLock { $0.append(report) } }
    }

    let events = Events()
    let clock = VirtualClock()
    let generator = SeededGenerator(seed: 5)

    private func stream(_ count: Int, failure: (any Error)? = nil) -> Body {
        Body(
            chunks: AsyncThrowingStream { continuation in
                for _ in 0..<count { continuation.yield(Data("chunk".utf8)) }
                continuation.finish(throwing: failure)
            })
    }

    private func observed(_ connection: some Connection) -> some Connection {
        connection.observing(events, clock: clock, generator: generator)
    }

    @Test func `A call is reported without its path, query and fields`() async throws {
        var request = try Request.post(
            "https://a.example:8443/users/ann?token=s3cret", fields: [.authorization: "s3cret"], body: "12345678")
        request.options.routeName = "users/{name}"
        let stub = StubConnection { [clock] _ in
            clock.advance(by: .milliseconds(30))
            return Response(status: .created, body: "abc")
        }

        let response = try await observed(stub).send(request)

        var report = CallReport(
            callID: SeededGenerator(seed: 5).next(), method: .post, routeName: "users/{name}", statusCode: 201,
            duration: .milliseconds(30))
        (report.origin, report.source) = (try Origin("https://a.example:8443"), .stub)
        (report.timeToHead, report.attemptCount) = (.milliseconds(30), 1)
        (report.bytesSent, report.bytesReceived) = (8, 3)
        #expect(events.all == [report])
        #expect(
            "\(report)" == "POST users/{name} of https://a.example:8443 201 in 30.0 ms, 3 bytes in 30.0 ms, from stub")
        #expect(!"\(events.all)".contains("s3cret") && !"\(events.all)".contains("ann?"))
        #expect(response.body.bytes == Data("abc".utf8))
        #expect(stub.requests == [request])
    }

    @Test func `An empty stream has ended with its head`() async throws {
        let body = Body(length: 0, replay: .once) { _ in OneChunkReader(isAtEnd: true) }
        _ = try await observed(StubConnection(Response(status: .ok, body: body))).send(.get("https://a.example/"))
        #expect(events.all.map(\.outcome) == [.finished])
    }

    @Test(arguments: [
        (TransportError(.truncated, at: .body) as any Error, CallReport.Outcome.failed(name: "truncated"), true),
        (CancellationError(), .cancelled, false),
    ])
    func `A body that fails is reported, and is no error if it was cancelled`(
        failure: any Error, outcome: CallReport.Outcome, isError: Bool
    ) async throws {
        let connection = observed(StubConnection(Response(status: .ok, body: stream(1, failure: failure))))
        let response = try await connection.send(.get("https://a.example/"))
        await #expect(throws: (any Error).self) { try await response.body.data(upTo: 100) }
        #expect(events.all.map(\.outcome) == [outcome] && events.all.map(\.isError) == [isError])
    }

    @Test(arguments: [
        (TransportError(.timedOut, at: .head) as any Error, CallReport.Outcome.failed(name: "timedOut")),
        (CancellationError(), .cancelled), (URLError(.notConnectedToInternet), .failed(name: "NSURLErrorDomain -1009")),
        (LoggingTests.LeakyError(), .failed(name: "LeakyError")),
    ])
    func `A request without a response is reported once`(error: any Error, outcome: CallReport.Outcome) async throws {
        let connection = observed(StubConnection { _ in throw error })
        await #expect(throws: (any Error).self) { try await connection.send(.get("https://a.example/")) }
        #expect(events.all.map(\.outcome) == [outcome])
        #expect(events.all.map(\.status) == [nil])
        #expect(events.all.map(\.attemptCount) == [1])
    }

    @Test func `Attempts are numbered and share their call`() async throws {
        let stub = StubConnection(
            Response(status: .serviceUnavailable, body: stream(1)), Response(status: .ok, body: stream(2)))
        let connection = observed(
            stub.observing(events, as: .attempt, clock: clock, generator: generator).sendingTwice())

        _ = try await connection.send(.get("https://a.example/")).body.data(upTo: 100)

        #expect(events.all.map(\.scope) == [.attempt, .attempt, .call])
        #expect(events.all.map(\.attempt) == [1, 2, nil])
        #expect(events.all.map(\.attemptCount) == [1, 1, 2])
        #expect(events.all.map(\.status) == [.serviceUnavailable, .ok, .ok])
        #expect(events.all.map(\.outcome) == [.abandoned, .finished, .finished])
        #expect(Set(events.all.map(\.callID)).count == 1)
        #expect(stub.requests.map(\.options.attemptNumber) == [1, 2])
    }

    @Test func `Attempts without an observed call are each a first attempt`() async throws {
        let connection = StubConnection { _ in Response(status: .ok) }
            .observing(events, as: .attempt, clock: clock, generator: generator)
        _ = try await connection.send(.get("https://a.example/"))
        _ = try await connection.send(.get("https://a.example/"))
        #expect(events.all.map(\.attempt) == [1, 1])
        #expect(Set(events.all.map(\.callID)).count == 2)
    }

    @Test func `A request body of unknown length is counted while it is sent`() async throws {
        let stub = StubConnection { request in
            _ = try await request.body.data(upTo: 100)
            return Response(status: .ok)
        }
        _ = try await observed(stub).send(.put("https://a.example/", body: stream(2)))
        #expect(events.all.map(\.bytesSent) == [10])
    }

    @Test func `A body that is read twice is reported once`() async throws {
        let body = Body(replay: .fromStart) { _ in OneChunkReader() }
        let response = try await observed(StubConnection(Response(status: .ok, body: body)))
            .send(.get("https://a.example/"))
        _ = try await response.body.data(upTo: 10)
        _ = try await response.body.data(upTo: 10)
        #expect(events.all.map(\.bytesReceived) == [1])
    }

    @Test func `A file body stays a file body`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "observing-\(UInt64.random(in: 0 ... .max))")
        try Data("hello".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let body = try Body(contentsOf: file)

        let stub = StubConnection(Response(status: .ok, body: body))
        let response = try await observed(stub).send(.put("https://a.example/", body: body))

        #expect(response.body.file != nil && stub.requests.first?.body.file != nil)
        #expect(events.all.map(\.bytesReceived) == [5])
        #expect(events.all.map(\.bytesSent) == [5])
    }

    private func wholeStack(_ stub: StubConnection) throws -> some Connection {
        try stub.retrying(RetryPolicy(retries: 2, baseDelay: .zero, budget: .unlimited), clock: clock)
            .caching(in: MemoryResponseStore(), clock: clock)
            .followingRedirects(clock: clock)
            .resolving(against: "https://api.example/v1/")
            .observing(events, clock: clock)
    }

    @Test func `After a redirection, the origin is the one that was asked`() async throws {
        let stub = StubConnection { request in
            request.head.authority == "other.example"
                ? Response(status: .ok)
                : Response(status: .found, fields: [.location: "https://other.example/"])
        }
        _ = try await wholeStack(stub).send(.get("feed"))
        _ = try await stub.followingRedirects().observing(events).send(.get("https://api.example/"))
        #expect(events.all.map(\.origin?.host) == ["api.example", "api.example"])
    }

    @Test func `A request that a layer of the app resolved has the origin of its answer`() async throws {
        let stub = StubConnection { request in
            Response(head: HTTPResponse(status: .ok), metadata: ResponseMetadata(answering: request, from: .network))
        }
        let connection = stub.followingRedirects()
            .intercepting { request, base in
                var request = request
                request.head.scheme = "https"
                request.head.authority = "own.example"
                return try await base.send(request)
            }
            .observing(events)
        _ = try await connection.send(.get("/feed"))
        #expect(events.all.map(\.origin?.host) == ["own.example"])
    }

    @Test func `Retries are counted, also of a call that fails, and redirections are not retries`() async throws {
        let stub = StubConnection { request in
            switch request.head.path {
            case "/v1/down": Response(status: .serviceUnavailable)
            case "/v1/moved": Response(status: .found, fields: [.location: "/v1/down"])
            case "/v1/lost": throw TransportError(.connectionRefused, at: .connecting)
            default: Response(status: .ok)
            }
        }
        let connection = try wholeStack(stub)
        for path in ["fine", "down", "moved", "lost"] { _ = try? await connection.send(.get(path)) }

        #expect(events.all.map(\.retries) == [0, 2, 2, 2])
        #expect(events.all.map(\.attemptCount) == [1, 3, 4, 3])
        #expect(events.all.allSatisfy { $0.origin?.host == "api.example" })
    }

    @Test func `A retry that was cancelled while it waited is not counted`() async throws {
        let stub = StubConnection(Response(status: .serviceUnavailable, fields: [.retryAfter: "7"]))
        let connection = stub.retrying(clock: clock).observing(events, clock: clock)
        let call = Task { try await connection.send(.get("https://a.example/")) }
        try await clock.waitForSleepers()
        call.cancel()
        await #expect(throws: CancellationError.self) { _ = try await call.value }
        #expect(events.all.map(\.retries) == [0])
        #expect(events.all.map(\.outcome) == [.cancelled])
    }

    @Test func `A response that a layer further in refused still counts with its source`() async throws {
        let stub = StubConnection(Response(status: .notFound, fields: [.cacheControl: "max-age=60"]))
        let connection = stub.caching(in: MemoryResponseStore(), clock: clock).validatingStatus().observing(events)
        for _ in 1...2 {
            await #expect(throws: StatusError.self) { try await connection.send(.get("https://a.example/")) }
        }
        #expect(events.all.map(\.source) == [.stub, .cache])
        #expect(events.all.allSatisfy { $0.status == .notFound && $0.outcome == .failed(name: "404") })
        #expect(events.all.map(\.attemptCount) == [1, 0])
    }
}

extension Connection {
    fileprivate func sendingTwice() -> some Connection {
        intercepting("sendingTwice") { request, base in
            let request = request
            _ = try await base.send(request)
            return try await base.send(request)
        }
    }
}

private struct OneChunkReader: BodyReader {
    var isAtEnd = false

    mutating func next() -> Data? {
        defer { isAtEnd = true }
        return isAtEnd ? nil : Data("x".utf8)
    }

    var trailers: HTTPFields? { nil }
}
