import Decorum
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3))) struct FallingBackTests {
    private static let refused = Fallback.Outcome.failure(TransportError(.connectionRefused, at: .connecting))
    private static let notSent = Fallback.Outcome.failure(
        NetworkWaitError(origin: nil, state: .unreachable, wait: .zero, obstacle: .unreachable))

    private let clock = VirtualClock()
    private let call = CallContext(keepingHistory: 10)
    private let mirror: Origin
    private var request: Request

    init() throws {
        mirror = try Origin("https://b.example")
        request = try .get("https://a.example/page", in: call)
    }

    private func server(_ answers: [String: Response]) -> StubConnection {
        StubConnection { request in
            if let response = answers[request.head.authority ?? ""] { return response }
            throw TransportError(.connectionRefused, at: .connecting)
        }
    }

    @Test(
        arguments: [
            (.status(200), false), (.status(499), false), (.status(500), true), (notSent, true), (refused, true),
            (.failure(TransportError(.timedOut, at: .head)), true), (.failure(CancellationError()), false),
            (.failure(TransportError(.tls, at: .connecting)), false), (.failure(BodyLengthError()), false),
            (.failure(TransportError(.connectionLost, at: .body)), false),
        ] as [(Fallback.Outcome, Bool)])
    func `A fallback is needed if no server was reached, or it has failed`(outcome: Fallback.Outcome, isNeeded: Bool) {
        #expect(Fallback.isNeeded(after: outcome) == isNeeded)
    }

    @Test func `A request falls back if it may be sent twice`() throws {
        let lost = Fallback.Outcome.failure(TransportError(.connectionLost, at: .head))
        let once = Body(chunks: AsyncStream<Data> { $0.finish() })
        #expect(try Request.get("https://a.example/").mayFallBack(after: lost))
        #expect(try Request.put("https://a.example/", body: "text").mayFallBack(after: .status(503)))
        #expect(try !Request.put("https://a.example/", body: once).mayFallBack(after: Self.refused))
        var post = try Request.post("https://a.example/", body: "text")
        post.head.headerFields[.init("Idempotency-Key")!] = "1"  // swift-format-ignore: NeverForceUnwrap
        #expect(!post.mayFallBack(after: lost) && !post.mayFallBack(after: .status(503)))
        #expect(post.mayFallBack(after: Self.refused) && post.mayFallBack(after: Self.notSent))
        #expect(try !Request.get("https://a.example/").mayFallBack(after: .failure(CancellationError())))
    }

    @Test func `Another origin gets no credential, and neither Host nor Origin`() throws {
        var request = try Request.get(
            "https://a.example/items?page=2&token=s3cret&next_page_token=3&mark=abc&api%5Fkey=k1#top",
            fields: [
                .authorization: "Bearer s3cret", .cookie: "id=1", .origin: "https://a.example", .accept: "text/plain",
                .referer: "https://a.example/private", .ifRange: "declared", .userAgent: "inner",
            ])
        request.options.secretFields = [.ifRange]
        request.options.secretQueryItems = ["mark"]
        let next = try #require(request.next(to: .origin(mirror), dropping: [.userAgent]))
        #expect(next.url?.absoluteString == "https://b.example/items?page=2&next_page_token=3#top")
        #expect(next.head.headerFields == [.accept: "text/plain", .referer: "https://a.example/"])
        // Another connection may be one to another server, too.
        let other = try #require(request.next(to: .connection(StubConnection()), dropping: []))
        #expect(other.head.authority == "a.example" && other.head.path == "/items?page=2&next_page_token=3")
        #expect(other.head.headerFields[.authorization] == nil && other.head.headerFields[.userAgent] == "inner")
        #expect(request.next(to: .response(Response(status: .ok)), dropping: []) == request)

        let plain = try Request.get("https://a.example/?token=s3cret")
        #expect(plain.next(to: .origin(mirror), dropping: [])?.head.path == "/")
        #expect(try plain.next(to: .origin(Origin("https://A.example:443")), dropping: []) == nil)
        #expect(try Request.get("/items").next(to: .origin(mirror), dropping: []) == nil)
    }

    @Test func `The mirror answers in place of a server that fails, and the response says so`() async throws {
        let stub = server(["a.example": .failing, "b.example": Response(status: .ok, body: "mirror")])
        let connection = stub.fallingBack(to: .origin(mirror), clock: clock)
        var request = request
        request.head.headerFields[.authorization] = "Bearer s3cret"
        let response = try await connection.send(request)

        #expect(try await response.body.text(upTo: 100) == "mirror")
        #expect(response.metadata.fallback == "https://b.example, after 503" && response.metadata.attempts == 2)
        #expect(response.metadata.url?.absoluteString == "https://b.example/page")
        #expect(stub.requests.map { $0.head.headerFields.contains(.authorization) } == [true, false])
        #expect(call.history.first { $0.kind == .fallsBack }?.words == "falls back to https://b.example after 503")

        #expect(try await connection.send(.get("https://b.example/")).metadata.fallback == nil)
        let validating = stub.validatingStatus(clock: clock).fallingBack(to: .origin(mirror), clock: clock)
        #expect(try await validating.send(request).metadata.fallback == "https://b.example, after StatusError")
        let failing = server(["a.example": .failing]).fallingBack(to: .origin(mirror), clock: clock)
        let error = await #expect(throws: TransportError.self) { try await failing.send(request) }
        #expect(error?.attempts == 2 && error?.code == .connectionRefused)
    }

    @Test func `The fallbacks are tried in order, and another connection has credentials of its own`() async throws {
        let a = try Origin("https://a.example")
        let other = server(["a.example": Response(status: .notFound)])
        let connection = try server([:])
            .fallingBack(
                to: .origin(mirror), .connection(other.authenticating(with: .bearer("own"), for: a)),
                .response(Response(status: .ok, body: "default")),
                when: { Fallback.isNeeded(after: $0) || (try? $0.get().status.code) == 404 }, clock: clock
            )
            .authenticating(with: .bearer("first"), for: a)
        let response = try await connection.send(.get("https://a.example/"))
        #expect(try await response.body.text(upTo: 100) == "default")
        #expect(response.metadata.fallback == "a response, after 404" && response.metadata.source == .fallback)
        #expect(response.metadata.attempts == 3 && response.metadata.url?.absoluteString == "https://a.example/")
        #expect(other.requests.map { $0.head.headerFields[.authorization] } == ["Bearer own"])
    }

    @Test func `After the deadline, the first outcome is returned with its body`() async throws {
        let stub = StubConnection { [clock] _ in
            clock.advance(by: .seconds(2))
            return .failing
        }
        let request = try Request.get("https://a.example/", deadline: clock.now + .seconds(2), in: call)
        let response = try await stub.fallingBack(to: .origin(mirror), clock: clock).send(request)
        #expect(try await response.body.text(upTo: 100) == "down" && response.metadata.fallback == nil)
        #expect(stub.requests.count == 1 && call.history.last?.kind == .givesUp)
    }

    @Test func `A cache keeps nothing that another server gave for the first one`() async throws {
        let good = Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: "mirror")
        let stub = server(["a.example": .failing, "b.example": good])
        let connection = stub.fallingBack(to: .origin(mirror), clock: clock)
            .caching(in: MemoryResponseStore(), clock: clock)
        for _ in 0..<2 { _ = try await connection.send(.get("https://a.example/")).body.data(upTo: 100) }
        #expect(stub.requests.count == 4)
    }

    @Test func `Its layer declares the branches, which bounds and findings see`() {
        let other = StubConnection().retrying(RetryPolicy(retries: 2), clock: clock)
        let fallback = StubConnection().fallingBack(
            to: .origin(mirror), .connection(other), .response(Response(status: .ok)), clock: clock)
        let layer = fallback.layers[0]
        #expect(layer.facts.isSuperset(of: [.answers, .inventsAnswers, .changesResponse, .resends]))
        #expect(layer.sending.times == 1...2 && layer.branches.map(\.layers) == [other.layers])
        #expect(layer.description.contains("to: [https://b.example, another connection, a response]"))
        let wrong = fallback.caching(in: MemoryResponseStore(), clock: clock).retrying(clock: clock).findings
        #expect(Set(wrong.map(\.hazard)).isSuperset(of: ["cacheOutsideOfInvention", "retriesOutsideOfAnswers"]))
    }

    @Test func `In the standard stack, a fallback stands outside of the cache, and faults at the transport`() throws {
        var stack = StandardStack(.server, for: "https://a.example/")
        stack.caching = .standard
        let faults = StandardStack.Addition.injectingFaults(.delay(.seconds(1)), clock: clock)
        let connection = try stack.composed(
            over: StubConnection(), principal: Principal("user"),
            adding: .traffic(.server, clock: clock) + [.fallingBack(to: .origin(mirror), clock: clock), faults],
            clock: clock)
        #expect(connection.findings.filter { $0.severity > .information }.isEmpty, "\(connection)")
        let names = connection.layers.map(\.name).joined(separator: " ")
        #expect(names.contains("fallingBack caching") && names.hasSuffix("injectingFaults StubConnection"), "\(names)")
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

extension Fallback.Outcome {
    fileprivate static func status(_ code: Int) -> Self { .success(HTTPResponse(status: .init(code: code))) }
}

extension Response {
    fileprivate static var failing: Response { Response(status: .serviceUnavailable, body: "down") }
}
