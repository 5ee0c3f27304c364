import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The wait for the words of a server, and the sentences of the error.
@Suite(.timeLimit(.minutes(3))) struct StatusErrorTests {
    private let json: HTTPFields = [.contentType: "application/json"]

    /// A body that gives one chunk when its gate opens.
    private func gated(
        _ text: String, length: Int64? = nil, by gate: AsyncStream<Never>
    ) -> Body {
        Body(length: length, replay: .once) { _ in
            for await _ in gate {}
            try Task.checkCancellation()
            return try await Body(text).open()
        }
    }

    /// A call whose error waits for the words of the server.
    private func call(answeredBy body: Body, on clock: VirtualClock) async throws -> Task<Response, any Error> {
        let response = Response(status: .serviceUnavailable, fields: json, body: body)
        let connection = StubConnection(response).validatingStatus(clock: clock)
        let task = Task { try await connection.send(.get("https://a.example/")) }
        try await clock.waitForSleepers()
        return task
    }

    @Test func `A server that stalls behind the head does not delay the error, and the body is whole`() async throws {
        let (gate, key) = AsyncStream.makeStream(of: Never.self)
        let clock = VirtualClock()
        let text = #"{"message": "late"}"#
        let task = try await call(answeredBy: gated(text, by: gate), on: clock)
        #expect(clock.pendingSleeps == [.seconds(1)])
        clock.advance(by: .seconds(1))

        let error = try await #require(throws: StatusError.self) { try await task.value }
        #expect(error.problem == nil)
        key.finish()
        #expect(try await error.response.body.text(upTo: 100) == text)
    }

    @Test func `A reader that is cancelled while the server stalls ends the reading`() async throws {
        let (gate, key) = AsyncStream.makeStream(of: Never.self)
        defer { key.finish() }
        let clock = VirtualClock()
        let task = try await call(answeredBy: gated("{}", by: gate), on: clock)
        clock.advance(by: .seconds(1))
        let error = try await #require(throws: StatusError.self) { try await task.value }
        let reading = Task { try await error.response.body.data(upTo: 100) }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
    }

    @Test func `A call that is cancelled while the server stalls is cancelled`() async throws {
        let (gate, key) = AsyncStream.makeStream(of: Never.self)
        defer { key.finish() }
        let clock = VirtualClock()
        let task = try await call(answeredBy: gated("{}", by: gate), on: clock)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test(arguments: [0, 64 << 10 + 1] as [Int64])
    func `Content that is empty or long is not read before the error`(length: Int64) async throws {
        let body = Body(length: length, replay: .once) { _ in throw CancellationError() }
        let connection = StubConnection(Response(status: .notFound, fields: json, body: body)).validatingStatus()
        await #expect(throws: StatusError.self) { try await connection.send(.get("https://a.example/")) }
    }

    @Test func `The wait that a server asks for is offered, and the tries are counted`() async throws {
        let clock = VirtualClock()
        let date = "\(HTTPDate(clock.date.addingTimeInterval(90)))"
        for (value, delay) in [("120", Duration.seconds(120)), (date, .seconds(90)), ("soon", nil)] {
            var response = Response(status: .tooManyRequests, fields: [.retryAfter: value])
            response.metadata.attempts = 3
            let error = await #expect(throws: StatusError.self) {
                try await StubConnection(response).validatingStatus(clock: clock).send(.get("https://a.example/"))
            }
            #expect(error?.retryAfter == delay)
            #expect(error?.description.contains("The request was tried 3 times.") == true)
        }
    }

    @Test func `The date for the next request is the one at which the pause ends`() async throws {
        let clock = VirtualClock()
        let stub = StubConnection { _ in Response(status: .tooManyRequests, fields: [.retryAfter: "120"]) }
        let connection = stub.pacing(clock: clock).validatingStatus(clock: clock)
        let error = await #expect(throws: StatusError.self) { try await connection.send(.get("https://a.example/")) }
        let pause = await #expect(throws: PacingError.self) { try await connection.send(.get("https://a.example/")) }
        let (retry, next) = (try #require(error?.retryDate), try #require(pause?.date))
        #expect(error?.retryAfter == .seconds(120))
        #expect(abs(retry.timeIntervalSince(next)) < 0.001)
        #expect(retry > clock.date.addingTimeInterval(120))
        #expect(pause?.cause?.status == .tooManyRequests)
    }

    @Test(
        arguments: [
            (403, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "900"], 900, true),
            (429, ["RateLimit": #""default";r=0;t=30"#], 30, true), (403, ["X-RateLimit-Remaining": "0"], nil, true),
            (403, ["X-RateLimit-Remaining": "0", "Retry-After": "7"], 7, false),
            // The clock of this client is an hour ahead.
            (
                429, ["Date": "Tue, 14 Nov 2023 21:13:20 GMT", "Retry-After": "Tue, 14 Nov 2023 21:13:50 GMT"], 30,
                false
            ),
            (403, ["X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "900"], nil, false), (403, [:], nil, false),
            // The last request that a limit allows is answered too, and a missing page has nothing to do with it.
            (404, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "900"], nil, false),
        ] as [(Int, [String: String], Int?, Bool)])
    func `A refusal because of a used rate limit says so, and when it is renewed`(
        status: Int, fields: [String: String], wait: Int?, isUsedUp: Bool
    ) async throws {
        let error = try await refusal(status, fields, clock: VirtualClock())
        #expect(error.retryAfter == wait.map { .seconds($0) })
        #expect(error.description.contains("The rate limit is used up") == isUsedUp)
    }

    private func refusal(
        _ status: Int, _ fields: [String: String], clock: VirtualClock
    ) async throws -> StatusError {
        var response = Response(status: .init(code: status))
        for (name, value) in fields { response.head.headerFields[try #require(HTTPField.Name(name))] = value }
        let connection = StubConnection(response).validatingStatus(clock: clock)
        return try await #require(throws: StatusError.self) { try await connection.send(.get("https://a.example/")) }
    }

    @Test func `The time at which a limit is renewed counts from the arrival of the response`() async throws {
        let clock = VirtualClock()
        let renewal = Int(clock.date.timeIntervalSince1970) + 120
        let fields = ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "\(renewal)"]
        let error = try await refusal(403, fields, clock: clock)
        let wait = try #require(error.retryAfter)
        #expect(wait > .seconds(118) && wait <= .seconds(120))
        #expect(StatusError(method: .get, origin: nil, response: error.response).retryAfter == nil)
    }
}
