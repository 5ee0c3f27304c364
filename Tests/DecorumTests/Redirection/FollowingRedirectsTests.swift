import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct FollowingRedirectsTests {
    @Test func `A redirection is followed, and the metadata lists the hops`() async throws {
        let stub = StubConnection(.to("/2", status: 301), .to("https://b.example/3", status: 302), .ok)

        let response = try await stub.followingRedirects().send(.get("https://a.example/1#top"))

        #expect(response.status == .ok)
        #expect(stub.urls == ["https://a.example/1#top", "https://a.example/2#top", "https://b.example/3#top"])
        #expect(response.metadata.url?.absoluteString == "https://b.example/3#top")
        #expect(response.metadata.attempts == 3)
        #expect(response.metadata.redirects.map(\.status) == [301, 302])
        #expect(response.metadata.redirects.map(\.from.absoluteString) == Array(stub.urls.dropLast()))
        #expect(response.metadata.redirects.map(\.to.absoluteString) == Array(stub.urls.dropFirst()))
        #expect(response.metadata.redirects.map(\.method) == [.get, .get])
    }

    @Test func `Secrets that were dropped at a hop are not restored`() async throws {
        let stub = StubConnection(
            .to("https://b.example/2"), .to("https://a.example/3"), .to("https://a.example/4"), .ok)
        let request = try Request.get(
            "https://a.example/1", fields: [.authorization: "secret", .cookie: "a=1", .accept: "*/*"])

        _ = try await stub.followingRedirects().send(request)

        #expect(stub.requests.first == request)
        #expect(stub.requests.dropFirst().allSatisfy { $0.head.headerFields == [.accept: "*/*"] })
        #expect(stub.requests.count == 4)
    }

    @Test func `A field that a layer further in declares secret is dropped across origins`() async throws {
        let stub = StubConnection(.to("/2"), .to("https://b.example/3"), .ok)
        let connection = DeclaringConnection(base: stub).followingRedirects()

        _ = try await connection.send(.get("https://a.example/1", fields: [.ticket: "secret"]))

        #expect(stub.requests.map { $0.head.headerFields[.ticket] } == ["secret", "secret", nil])
    }

    @Test(arguments: [0, -5]) func `With a limit of 0, a redirection is the answer`(limit: Int) async throws {
        let stub = StubConnection(.to("/2", body: "moved"))
        let response = try await stub.followingRedirects(upTo: limit).send(.get("https://a.example/"))

        #expect(stub.requests.count == 1)
        #expect(response.status == .found)
        #expect(response.metadata.redirectionRefusal == .limit)
        #expect(response.metadata.redirects.isEmpty)
        #expect(try await response.body.text(upTo: 10) == "moved")
    }

    @Test(arguments: [(1, 2), (3, 4), (20, 21)])
    func `One redirection too many is an error`(limit: Int, count: Int) async throws {
        let stub = StubConnection { request in .to("/\(request.head.path?.utf8.count ?? 0)\(request.head.path ?? "")") }

        let error = await #expect(throws: RedirectionLimitError.self) {
            _ = try await stub.followingRedirects(upTo: limit).send(.get("https://a.example/?token=secret"))
        }

        #expect(stub.requests.count == count)
        #expect(error?.limit == limit)
        #expect(error?.redirections.count == count)
        #expect(error.map(String.init(describing:))?.contains("secret") == false)
    }

    @Test func `A redirection to a visited URL is an error`() async throws {
        let stub = StubConnection { request in .to(request.head.path == "/1" ? "/2#f" : "/1") }

        let error = await #expect(throws: RedirectionLoopError.self) {
            _ = try await stub.followingRedirects().send(.get("https://a.example/1?token=secret"))
        }

        #expect(stub.requests.count == 3)
        #expect(error?.redirections.count == 3)
        var shown = "\(try #require(error))"
        dump(error, to: &shown)
        #expect(shown.contains("https://a.example") && !shown.contains("secret"))
    }

    @Test func `The same URL with another method is not a loop`() async throws {
        let stub = StubConnection(.to("/1", status: 303), .ok)

        let response = try await stub.followingRedirects().send(.post("https://a.example/1", body: "content"))

        #expect(response.status == .ok)
        #expect(stub.requests.map(\.head.method) == [.post, .get])
    }

    @Test func `A redirection that sets a cookie may lead back once`() async throws {
        var welcome = Response.to("/1")
        welcome.head.headerFields[.setCookie] = "seen=1"
        let friendly = StubConnection(welcome, .ok)
        let stubborn = StubConnection(welcome, .to("/1"), .ok)

        #expect(try await friendly.followingRedirects().send(.get("https://a.example/1")).status == .ok)
        await #expect(throws: RedirectionLoopError.self) {
            _ = try await stubborn.followingRedirects().send(.get("https://a.example/1"))
        }
    }

    @Test(arguments: [
        ("sameOrigin", "https://a.example/2", true), ("sameOrigin", "https://b.example/2", false),
        ("httpsOnly", "https://b.example/2", true), ("httpsOnly", "http://a.example/2", false),
        ("httpsOnly, downgrades", "http://a.example/2", false), ("standard, downgrades", "http://a.example/2", true),
        ("standard", "http://a.example/2", false), ("standard", "https://b.example/2", true),
        ("sameOrigin and httpsOnly", "https://b.example/2", false), ("b alone", "https://b.example/2", true),
        ("b alone", "https://a.example/2", false), ("httpsOnly and b alone", "https://b.example/2", true),
        ("standard, downgrades and standard", "http://a.example/2", false),
    ])
    func `A policy decides which redirections are followed`(name: String, location: String, follows: Bool) async throws
    {
        let stub = StubConnection(.to(location), .ok)
        let policy = try #require(Self.policies.first { $0.description == name })

        let response = try await stub.followingRedirects(policy: policy).send(.get("https://a.example/1"))

        #expect(response.status == (follows ? .ok : 302))
        #expect(stub.requests.count == (follows ? 2 : 1))
        #expect((response.metadata.redirectionRefusal == nil) == follows)
    }

    @Test func `A request without an origin is resolved against the URL that answered`() async throws {
        let stub = StubConnection { request in
            var response = request.head.path == "/2" ? Response.ok : .to("/2")
            response.metadata.url = URL(string: "https://a.example/1")
            return response
        }

        let response = try await stub.followingRedirects().send(Request(.get, "/1"))

        #expect(response.status == .ok)
        #expect(stub.requests.last?.head.authority == "a.example")
    }

    @Test func `A small body is read to its end before the next request, and then released`() async throws {
        let transfer = GatedTransfer.open
        let stub = StubConnection(answers: [
            { _ in .to("/2", body: transfer.body(chunks: 16, of: 1024)) },
            { _ in
                #expect(transfer.isAlive == false)
                return .ok
            },
        ])

        #expect(try await stub.followingRedirects().send(.get("https://a.example/1")).status == .ok)
        #expect(transfer.bytesRead == 16 << 10)
    }

    @Test(arguments: [nil, 1 << 40])
    func `A large body is dropped before the next request`(length: Int64?) async throws {
        let transfer = GatedTransfer.open
        let stub = StubConnection(answers: [
            { _ in .to("/2", body: transfer.body(length: length, chunks: .max, of: 1000)) },
            { _ in
                #expect(transfer.isAlive == false)
                return .ok
            },
        ])

        #expect(try await stub.followingRedirects().send(.get("https://a.example/1")).status == .ok)
        #expect(transfer.bytesRead == (length == nil ? 17_000 : 0))
    }

    @Test func `Nothing is sent after the task is cancelled`() async throws {
        let stub = ClosureConnection { request in
            guard request.head.path == "/1" else {
                Issue.record("A request was sent after the cancellation.")
                return .ok
            }
            // Safe: the task is the one that runs this very closure.
            unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
            return .to("/2")
        }
        let task = Task { try await stub.followingRedirects().send(.get("https://a.example/1")) }

        await #expect(throws: CancellationError.self) { _ = try await task.value }
    }

    private static let onlyB = RedirectionPolicy("b alone") { $0.to.host() == "b.example" }
    private static let policies: [RedirectionPolicy] = [
        .standard, .sameOrigin, .httpsOnly, .standard.allowingDowngrades(), .httpsOnly.allowingDowngrades(), onlyB,
        .sameOrigin.and(.httpsOnly), .httpsOnly.and(onlyB), .standard.allowingDowngrades().and(.standard),
    ]
}

/// Redirections without an end, and calls with one.
@Suite(.timeLimit(.minutes(3))) struct RedirectionDeadlineTests {
    private let clock = VirtualClock()

    /// A server that redirects to another page each time, which takes it a second.
    private func leading(_ body: Body = .empty) -> StubConnection {
        StubConnection { [clock] request in
            clock.advance(by: .seconds(1))
            let number = Int(request.head.path?.dropFirst() ?? "") ?? 0
            return Response(status: .found, fields: [.location: "/\(number + 1)"], body: body)
        }
    }

    @Test func `Redirections are followed until the deadline, and the last one is returned`() async throws {
        let stub = leading()
        var request = try Request.get("https://a.example/0")
        request.options.deadline = clock.now + .seconds(5)
        let response = try await stub.followingRedirects(upTo: 1000, clock: clock).send(request)
        #expect(response.status == .found)
        #expect(response.metadata.redirectionRefusal == .deadline)
        #expect(response.metadata.redirects.count == 4)
        #expect(stub.requests.count == 5)
    }

    @Test func `The body of a redirection is not awaited beyond the deadline`() async throws {
        let never = Gate()
        let body = Body(replay: .once) { _ in
            try await never.wait()
            return try await Body("late").open()
        }
        let stub = leading(body)
        var request = try Request.get("https://a.example/0")
        request.options.deadline = clock.now + .milliseconds(1500)
        let connection = stub.followingRedirects(upTo: 1000, clock: clock)
        let call = Task { [request] in try await connection.send(request) }
        try await clock.waitForSleepers()
        // A second is left for the body without the deadline, and half of one with it.
        clock.advance(by: .milliseconds(500))
        let response = try await call.value
        #expect(response.metadata.redirectionRefusal == .deadline)
        #expect(stub.requests.count == 2)
    }
}

private struct DeclaringConnection<Base: Connection>: ComposedConnection {
    let base: Base

    var layer: Layer { Layer(name: "declaring", secretFields: [.ticket]) }

    func send(_ request: consuming Request) async throws -> Response {
        try await base.send(request)
    }
}

extension Response {
    fileprivate static let ok = Response(status: .ok)

    fileprivate static func to(
        _ location: String, status: HTTPResponse.Status = 302, body: Body = .empty
    ) -> Response {
        Response(status: status, fields: [.location: location], body: body)
    }
}

extension StubConnection {
    fileprivate var urls: [String] { requests.compactMap(\.url?.absoluteString) }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let ticket = Self("X-Ticket")!
}
