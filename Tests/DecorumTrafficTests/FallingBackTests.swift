import Decorum
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTraffic

/// The requests that fall back, and what of them is sent elsewhere.
@Suite(.timeLimit(.minutes(3)))
struct FallbackDecisionTests {
    @Test func `A fallback is needed if no server was reached, or if it has failed`() async throws {
        for code in [200, 301, 404, 429, 499] { #expect(!Fallback.isNeeded(after: .status(code))) }
        for code in [500, 503, 599] { #expect(Fallback.isNeeded(after: .status(code))) }
        for error in [TransportError(.connectionRefused, at: .connecting), .init(.timedOut, at: .head)] {
            #expect(Fallback.isNeeded(after: .failure(error)))
        }
        #expect(Fallback.isNeeded(after: .failure(OpenCircuit())))
        for (status, isNeeded) in [(HTTPResponse.Status.badGateway, true), (.notFound, false)] {
            let outcome = await #expect(throws: StatusError.self) {
                try await StubConnection(Response(status: status)).validatingStatus().send(.get("https://a.example/"))
            }
            #expect(try Fallback.isNeeded(after: .failure(#require(outcome))) == isNeeded)
        }
        for error in [TransportError(.tls, at: .connecting), .init(.connectionLost, at: .body)] as [any Error] + [
            CancellationError(), BodyLengthError(),
        ] {
            #expect(!Fallback.isNeeded(after: .failure(error)))
        }
    }

    @Test func `A request falls back if it may be sent twice`() throws {
        let lost = Fallback.Outcome.failure(TransportError(.connectionLost, at: .head))
        let refused = Fallback.Outcome.failure(TransportError(.connectionRefused, at: .connecting))
        let once = Body(chunks: AsyncStream<Data> { $0.finish() })
        #expect(try Request.get("https://a.example/").mayFallBack(after: lost))
        #expect(try Request.put("https://a.example/", body: "text").mayFallBack(after: .status(503)))
        #expect(try !Request.put("https://a.example/", body: once).mayFallBack(after: refused))
        var post = try Request.post("https://a.example/", body: "text")
        post.head.headerFields[.init("Idempotency-Key")!] = "1"  // swift-format-ignore: NeverForceUnwrap
        #expect(!post.mayFallBack(after: lost) && !post.mayFallBack(after: .status(503)))
        #expect(post.mayFallBack(after: refused) && post.mayFallBack(after: .failure(OpenCircuit())))
        #expect(try !Request.get("https://a.example/").mayFallBack(after: .failure(CancellationError())))
    }

    @Test func `Another origin gets no credential, and neither Host nor Origin`() throws {
        var request = try Request.get(
            "https://a.example/items?page=2&token=s3cret&next_page_token=3&mark=abc&api%5Fkey=k1#top",
            fields: [
                .authorization: "Bearer s3cret", .cookie: "id=1", .origin: "https://a.example", .accept: "text/plain",
                .referer: "https://a.example/private", .ifModifiedSince: "yesterday",
            ])
        request.head.headerFields.append(.init(name: .ifRange, value: "declared"))
        request.head.headerFields.append(.init(name: .userAgent, value: "inner"))
        request.options.secretFields = [.ifRange]
        request.options.secretQueryItems = ["mark"]
        let next = try #require(
            request.next(to: .origin(Origin("https://b.example:8443")), dropping: [.userAgent]))
        #expect(next.url?.absoluteString == "https://b.example:8443/items?page=2&next_page_token=3#top")
        #expect(
            next.head.headerFields == [
                .accept: "text/plain", .referer: "https://a.example/", .ifModifiedSince: "yesterday",
            ])
        // Another connection may be one to another server, too.
        let other = try #require(request.next(to: .connection(StubConnection()), dropping: []))
        #expect(other.head.authority == "a.example" && other.head.path == "/items?page=2&next_page_token=3")
        #expect(other.head.headerFields[.authorization] == nil && other.head.headerFields[.userAgent] == "inner")
        #expect(request.next(to: .response(Response(status: .ok)), dropping: []) == request)

        let plain = try Request.get("https://a.example/?token=s3cret")
        #expect(try plain.next(to: .origin(Origin("https://b.example")), dropping: [])?.head.path == "/")
        #expect(try plain.next(to: .origin(Origin("https://A.example:443")), dropping: []) == nil)
        #expect(try Request.get("/items").next(to: .origin(Origin("https://b.example")), dropping: []) == nil)
    }
}

@Suite(.timeLimit(.minutes(3)))
struct FallingBackTests {
    private let clock = VirtualClock()
    private let mirror: Origin

    init() throws { mirror = try Origin("https://b.example") }

    private func server(_ answers: [String: Response]) -> StubConnection {
        StubConnection { request in
            guard let response = answers[request.head.authority ?? ""] else {
                throw TransportError(.connectionRefused, at: .connecting)
            }
            return response
        }
    }

    @Test func `The mirror answers in place of a server that fails, and the response says so`() async throws {
        let stub = server(["a.example": .failing, "b.example": Response(status: .ok, body: "mirror")])
        let connection = stub.fallingBack(to: .origin(mirror), clock: clock)
        let call = CallContext(keepingHistory: 10)
        var request = try Request.get("https://a.example/page", fields: [.authorization: "Bearer s3cret"])
        request.options.callContext = call
        let response = try await connection.send(request)

        #expect(try await response.body.text(upTo: 100) == "mirror")
        #expect(response.metadata.fallback == "https://b.example, after 503" && response.metadata.attempts == 2)
        #expect(response.metadata.url?.absoluteString == "https://b.example/page")
        #expect(stub.requests.map(\.head.authority) == ["a.example", "b.example"])
        #expect(stub.requests.map { $0.head.headerFields.contains(.authorization) } == [true, false])
        #expect(
            call.history.filter { $0.kind == .fallsBack }.map(\.words)
                == ["falls back to https://b.example after 503"])

        let good = try await connection.send(.get("https://b.example/page"))
        #expect(good.metadata.fallback == nil && good.metadata.attempts == 1)
    }

    @Test func `The fallbacks are tried in order, for as long as the rule wants one`() async throws {
        let other = server(["a.example": Response(status: .notFound)])
        let connection = server([:]).fallingBack(
            to: .origin(mirror), .connection(other),
            .response { outcome in
                guard case .success(let head) = outcome else { throw BodyLengthError() }
                return Response(status: .ok, body: Body("in place of \(head.status.code)"))
            }, when: { Fallback.isNeeded(after: $0) || (try? $0.get().status.code) == 404 }, clock: clock)
        let response = try await connection.send(.get("https://a.example/"))
        #expect(try await response.body.text(upTo: 100) == "in place of 404")
        #expect(response.metadata.fallback == "a response, after 404" && response.metadata.source == .fallback)
        #expect(response.metadata.attempts == 3 && other.requests.count == 1)
        #expect(response.metadata.url?.absoluteString == "https://a.example/")
    }

    @Test func `Another connection has credentials of its own`() async throws {
        let other = server(["a.example": Response(status: .ok)])
        let connection = try server([:])
            .fallingBack(
                to: .connection(other.authenticating(with: .bearer("own"), for: Origin("https://a.example"))),
                clock: clock
            )
            .authenticating(with: .bearer("first"), for: Origin("https://a.example"))
        _ = try await connection.send(.get("https://a.example/"))
        #expect(other.requests.map { $0.head.headerFields[.authorization] } == ["Bearer own"])
    }

    @Test func `A failure of the last fallback is the outcome, and counts all attempts`() async throws {
        let connection = server(["a.example": .failing])
            .retrying(RetryPolicy(retries: 1, budget: .unlimited), clock: ImpatientClock())
            .fallingBack(to: .origin(mirror), clock: clock)
        let error = await #expect(throws: TransportError.self) {
            try await connection.send(.get("https://a.example/"))
        }
        #expect(error?.attempts == 4 && error?.code == .connectionRefused)
    }

    @Test func `An unsafe request that may have been carried out is not sent again`() async throws {
        let stub = server(["a.example": .failing, "b.example": Response(status: .created)])
        let connection = stub.fallingBack(to: .origin(mirror), .response(Response(status: .ok)), clock: clock)
        #expect(try await connection.send(.post("https://a.example/", body: "1")).status == .serviceUnavailable)
        #expect(try await connection.send(.post("https://c.example/", body: "1")).status == .created)
        #expect(stub.requests.map(\.head.authority) == ["a.example", "c.example", "b.example"])
    }

    @Test func `After the deadline, the first outcome is returned with its body`() async throws {
        let stub = StubConnection { [clock] _ in
            clock.advance(by: .seconds(2))
            return .failing
        }
        var request = try Request.get("https://a.example/")
        request.options.deadline = clock.now + .seconds(2)
        let call = CallContext(keepingHistory: 10)
        request.options.callContext = call
        let response = try await stub.fallingBack(to: .origin(mirror), clock: clock).send(request)
        #expect(try await response.body.text(upTo: 100) == "down" && response.metadata.fallback == nil)
        #expect(stub.requests.count == 1 && call.history.last?.kind == .givesUp)
    }

    @Test func `The transfer of the first response ends before the fallback, and cancellation ends all`() async throws {
        let events = Monitor<[String]>([])
        let gate = Gate()
        let stub = StubConnection(
            answers: [
                { _ in
                    var response = Response.failing
                    response.body = Body(length: 1 << 20, replay: .once) { _ in SilentReader() }
                        .observed { event in events.update { $0.append("\(event)") } }
                    return response
                }
            ],
            then: { _ in
                events.update { $0.append("fallback") }
                try await gate.wait()
                return Response(status: .ok)
            })
        let connection = stub.fallingBack(to: .origin(mirror), .response(Response(status: .ok)), clock: clock)
        let call = Task { try await connection.send(.get("https://a.example/")) }
        try await gate.waitForWaiting(1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(events.state == ["abandoned", "fallback"])
    }

    @Test func `A cache keeps nothing that another server gave for the first one`() async throws {
        var good = Response(status: .ok, body: "mirror")
        good.head.headerFields[.cacheControl] = "max-age=60"
        let stub = server(["a.example": .failing, "b.example": good])
        let connection = stub.fallingBack(to: .origin(mirror), clock: clock)
            .caching(in: MemoryResponseStore(), clock: clock)
        for _ in 0..<2 { _ = try await connection.send(.get("https://a.example/")).body.data(upTo: 100) }
        #expect(stub.requests.count == 4)
    }

    @Test func `Its layer declares the branches, which bounds and findings see`() throws {
        let other = StubConnection().retrying(RetryPolicy(retries: 2), clock: clock)
        let fallback = StubConnection().fallingBack(
            to: .origin(mirror), .origin(mirror, through: other), .response(Response(status: .ok)), clock: clock)
        let layer = try #require(fallback.layers.first)
        #expect(layer.facts.isSuperset(of: [.answers, .inventsAnswers, .changesResponse, .resends]))
        #expect(layer.sending.times == 1...2 && layer.branches.map(\.layers) == [other.layers])
        #expect(
            layer.description.contains("to: [https://b.example, https://b.example, a response]"))
        #expect(
            fallback.caching(in: MemoryResponseStore(), clock: clock).findings.map(\.hazard)
                .contains("cacheOutsideOfInvention"))
        #expect(
            fallback.retrying(clock: clock).findings.map(\.hazard).contains("retriesOutsideOfAnswers"))
        let plain = StubConnection().retrying(clock: clock).caching(in: MemoryResponseStore(), clock: clock)
            .fallingBack(to: .origin(mirror), clock: clock).limitingTime(clock: clock)
        #expect(plain.findings.isEmpty, "\(plain)")
    }

    @Test(arguments: DecoratorLaw.all)
    func `A fallback keeps the laws`(law: DecoratorLaw) async throws {
        let failing = DecoratorLaw.ActivePath("a server that fails") { request, _ in
            Response(status: request.authority == "b.example" ? .ok : .badGateway)
        }
        try await law.check(changing: [.target], answering: [failing]) { [mirror] base, conditions in
            base.fallingBack(to: .origin(mirror), clock: conditions.clock)
        }
    }
}

private struct OpenCircuit: ReachabilityError, TemporaryError {
    var meansServerNotReached: Bool { true }
    var mayPass: Bool { true }
    var meansNotProcessed: Bool { true }
}

private struct SilentReader: BodyReader {
    mutating func next() async throws -> Data? {
        try await Gate().wait()
        return nil
    }

    var trailers: HTTPFields? { nil }
}

extension Fallback.Outcome {
    fileprivate static func status(_ code: Int) -> Self { .success(HTTPResponse(status: .init(code: code))) }
}

extension Response {
    fileprivate static var failing: Response { Response(status: .serviceUnavailable, body: "down") }
}
