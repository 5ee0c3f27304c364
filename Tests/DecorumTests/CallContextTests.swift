import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// The history of a call, as the one who made it reads it.
@Suite(.timeLimit(.minutes(3))) struct CallContextTests {
    let clock = VirtualClock()
    let call = CallContext()

    private func request(_ url: String = "https://api.example/feed?token=s3cret") throws -> Request {
        var request = try Request.get(url)
        request.options.callContext = call
        return request
    }

    @Test func `A failed call that sent four requests tells of each, although its error passes unwrapped`() async throws
    {
        let failure = TransportError(.connectionRefused, at: .connecting)
        let connection = StubConnection { _ in throw failure }
            .retrying(RetryPolicy(retries: 3, baseDelay: .zero, budget: .unlimited), clock: clock)

        let thrown = await #expect(throws: TransportError.self) { try await connection.send(request()) }

        #expect(thrown?.code == .connectionRefused)
        #expect(call.attempts == 4)
        #expect(call.retries == 3)
        #expect(
            call.history.filter { $0.kind == .sends }.map(\.words)
                == (1...4).map { "request \($0): GET https://api.example" })
    }

    @Test func `A redirection, a cache's choice and a hit are in the history, in order`() async throws {
        let stub = StubConnection { request in
            request.head.path == "/"
                ? Response(status: .ok, fields: [.cacheControl: "max-age=60"])
                : Response(status: .found, fields: [.location: "https://www.example/"])
        }
        let connection = stub.caching(in: MemoryResponseStore(), clock: clock).followingRedirects(clock: clock)
        _ = try await connection.send(request("https://www.example/"))
        _ = try await connection.send(request())

        #expect(
            call.history.map(\.description) == [
                "caching: nothing is stored", "transport: request 1: GET https://www.example",
                "caching: nothing is stored", "transport: request 2: GET https://api.example",
                "followingRedirects: 302 https://api.example → https://www.example",
                "caching: with a response that is fresh for 60 s",
            ])
        #expect(call.attempts == 2)
    }

    @Test func `A stale answer, a validation and a refusal tell their reasons`() async throws {
        let isLost = Atomic(false)
        let stub = StubConnection { _ in
            guard !isLost.load(ordering: .relaxed) else { throw TransportError(.unreachable, at: .connecting) }
            return Response(status: .ok, fields: [.cacheControl: "max-age=0", .eTag: "\"1\""], body: "x")
        }
        let connection = stub.caching(in: MemoryResponseStore(), clock: clock)
        _ = try await connection.send(request())
        isLost.store(true, ordering: .relaxed)
        clock.advance(by: .seconds(5))
        #expect(try await connection.send(request()).status == .ok)
        var absent = try request("https://api.example/other")
        absent.head.headerFields[.cacheControl] = "only-if-cached"
        #expect(try await connection.send(absent).status == .gatewayTimeout)

        #expect(
            call.history.filter { $0.layer == "caching" }.dropFirst().map(\.description) == [
                "caching: asks whether a stored response is current; not used: the stored response is stale (RFC 9111, 4.2)",
                "caching: with a stale response; stale: the server cannot be reached (RFC 9111, 4.2.4)",
                "caching: 504, because of only-if-cached; nothing is stored",
            ])
        #expect(call.history.map(\.kind).suffix(2) == [.answers, .answers])
    }

    @Test func `A refused redirection tells its reason`() async throws {
        let stub = StubConnection(Response(status: .found, fields: [.location: "http://api.example/"]))
        _ = try await stub.followingRedirects(policy: .httpsOnly).send(request())
        #expect(call.history.last?.kind == .givesUp)
        #expect(call.history.last?.description == "followingRedirects: returns the 302: downgrade")
    }

    @Test func `A remembered redirection is told, and is no attempt`() async throws {
        let stub = StubConnection { request in
            request.head.path == "/new"
                ? Response(status: .ok) : Response(status: .movedPermanently, fields: [.location: "/new"])
        }
        let connection = stub.followingRedirects(remembering: PermanentRedirections(), clock: clock)
        _ = try await connection.send(.get("https://api.example/old"))
        _ = try await connection.send(request("https://api.example/old"))
        #expect(call.attempts == 1)
        #expect(
            call.history.first?.description
                == "followingRedirects: remembered 301 https://api.example → https://api.example")
    }

    @Test(arguments: [
        ("https://other.example/", "the credentials are for other origins"),
        ("https://api.example/anonymous", "the request skips authentication"),
        ("https://api.example/own", "the request has its own credentials"),
        ("https://api.example/redirected", "an origin that the credentials are not for has redirected the request"),
    ])
    func `Credentials that are left out tell why`(url: String, reason: String) async throws {
        let connection = StubConnection(Response(status: .ok))
            .authenticating(with: try .bearer("s3cret"), for: try Origin("https://api.example"))
        var request = try request(url)
        request.options.skipsAuthentication = url.hasSuffix("anonymous")
        if url.hasSuffix("own") { request.head.headerFields[.authorization] = "Bearer s3cret" }
        if url.hasSuffix("redirected") { request.options.redirectingOrigins = [try Origin("https://other.example")] }
        _ = try await connection.send(request)

        #expect(call.history.first == CallDecision(.skips, by: "authenticating", reason))
        #expect(!"\(call.history)".contains("s3cret"))
    }

    @Test func `Content that is sent again without its coding tells why, and later content is not coded`() async throws
    {
        let stub = StubConnection { request in
            request.head.headerFields.contains(.contentEncoding)
                ? Response(status: .unsupportedMediaType, fields: [.acceptEncoding: "identity"])
                : Response(status: .ok)
        }
        let connection = stub.compressing(clock: clock)
        for _ in 1...2 {
            var request = try Request.put(
                "https://api.example/", body: Body(String(repeating: "the same line\n", count: 200)))
            request.options.callContext = call
            _ = try await connection.send(request)
        }
        #expect(
            call.history.filter { $0.layer == "compressing" } == [
                CallDecision(.resends, by: "compressing", "without gzip, because of 415", after: "415"),
                CallDecision(.skips, by: "compressing", "the origin has refused gzip"),
            ])
    }

    @Test func `A call that joins another is told so, and counts no attempt`() async throws {
        let gate = Gate()
        let connection = StubConnection { _ in
            try await gate.wait()
            return Response(status: .ok, body: "x")
        }
        .coalescing(clock: clock)
        let first = CallContext()
        var leading = try request()
        leading.options.callContext = first
        let leader = Task { [leading] in try await connection.send(leading) }
        try await gate.waitForWaiting(1)
        let follower = Task { [call] in
            var request = leading
            request.options.callContext = call
            return try await connection.send(request)
        }
        try await yield { !call.history.isEmpty }
        gate.open()
        _ = try await (leader.value, follower.value)

        #expect(call.history == [CallDecision(.joins, by: "coalescing", "an identical request is under way")])
        #expect(call.attempts == 0)
        #expect(first.attempts == 1)
    }

    @Test func `The history has a limit`() {
        let small = CallContext(keepingHistory: 2)
        for number in 1...5 { small.note(CallDecision(.waits, by: "law", "\(number)", waiting: .seconds(number))) }
        #expect(small.history.map(\.words) == ["1", "2"])
        #expect(small.history.map(\.delay) == [.seconds(1), .seconds(2)])
    }

    @Test func `A decision is not made where it is neither kept nor observed`() {
        let silent = CallContext(keepingHistory: 0)
        silent.note(Self.unwanted())
        let heard = Mutex<[String]>([])
        let telling = CallContext(keepingHistory: 0) { decision in heard.withLock { $0.append(decision.words) } }
        telling.note(CallDecision(.answers, by: "law", "heard"))
        #expect(silent.history.isEmpty && telling.history.isEmpty)
        #expect(heard.withLock { $0 } == ["heard"])
    }

    private static func unwanted() -> CallDecision {
        Issue.record("The decision was made.")
        return CallDecision(.answers, by: "law", "unwanted")
    }

    @Test func `Many tasks tell one call, and each decision is kept once`() async {
        let call = CallContext(keepingHistory: 2000)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<25 {
                group.addTask {
                    for number in 0..<40 { call.note(CallDecision(.answers, by: "\(task)", "\(number)")) }
                }
            }
        }
        #expect(Set(call.history).count == 1000 && call.history.count == 1000)
        for (task, decisions) in Dictionary(grouping: call.history, by: \.layer) {
            #expect(decisions.map(\.words) == (0..<40).map { "\($0)" }, "of task \(task)")
        }
    }
}
