import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import Decorum

@Suite(.timeLimit(.minutes(3))) struct PermanentRedirectionsTests {
    private let memory = PermanentRedirections(limit: 10, lifetime: .seconds(100))
    private let clock = VirtualClock()
    private let start = "https://a.example/start"

    private func moved(
        _ location: String = "/new", status: HTTPResponse.Status = .movedPermanently, fields: HTTPFields = [:]
    ) -> StubConnection {
        StubConnection { request in
            guard request.head.path?.hasPrefix("/start") == true else { return Response(status: .ok, body: "new") }
            var response = Response(status: status, fields: fields)
            response.head.headerFields[.location] = location
            return response
        }
    }

    private func remembering(_ stub: StubConnection, policy: RedirectionPolicy = .standard) -> some Connection {
        stub.followingRedirects(policy: policy, remembering: memory, clock: clock)
    }

    private func paths(_ stub: StubConnection) -> [String?] { stub.requests.map(\.head.path) }

    @Test(arguments: [HTTPResponse.Status.movedPermanently, .permanentRedirect])
    func `A permanent redirection is asked for once`(status: HTTPResponse.Status) async throws {
        let stub = moved(status: status)
        for attempts in [2, 1, 1] {
            let response = try await remembering(stub).send(.get(start + "#part"))
            #expect(try await response.body.text(upTo: 10) == "new")
            #expect(response.metadata.attempts == attempts)
            #expect(response.metadata.redirects.map(\.status) == [status])
            #expect(response.metadata.url?.absoluteString == "https://a.example/new#part")
        }
        #expect(paths(stub) == ["/start", "/new", "/new", "/new"])
        #expect(memory.count == 1)
    }

    @Test func `It is asked for again after its lifetime`() async throws {
        let stub = moved()
        _ = try await remembering(stub).send(.get(start))
        clock.advance(by: .seconds(99))
        _ = try await remembering(stub).send(.get(start))
        clock.advance(by: .seconds(1))
        _ = try await remembering(stub).send(.get(start))
        #expect(paths(stub) == ["/start", "/new", "/new", "/start", "/new"])
    }

    @Test(
        arguments: [
            (301, [:], 100), (308, [:], 100), (300, [:], nil), (302, [:], nil), (303, [:], nil), (307, [:], nil),
            (301, [.cacheControl: "no-store"], nil), (301, [.cacheControl: "private, no-cache"], nil),
            (301, [.cacheControl: "max-age=0"], nil), (301, [.cacheControl: "max-age=x"], nil),
            (301, [.cacheControl: "max-age=30"], 30), (301, [.cacheControl: "max-age=9999"], 100),
            (301, [.cacheControl: "max-age=30", .age: "10"], 20),
            (301, [.cacheControl: "max-age=30", .age: "30"], nil),
            (301, [.cacheControl: "max-age=30", .date: halfMinuteAgo], nil),
            (301, [.expires: "Thu, 01 Jan 1970 00:01:00 GMT", .date: epoch, .age: "50"], 10),
            (301, [.expires: "0"], nil), (301, [.expires: "Thu, 01 Jan 1970 00:01:00 GMT", .date: epoch], 60),
            (301, [.expires: epoch, .date: epoch], nil), (301, [.setCookie: "a=b"], nil), (301, [.vary: "*"], nil),
            (301, [.vary: "Accept-Language"], 100),
        ] as [(Int, HTTPFields, Int?)])
    func `The lifetime follows from the response`(status: Int, fields: HTTPFields, seconds: Int?) throws {
        var response = HTTPResponse(status: .init(code: status), headerFields: fields)
        response.headerFields[.location] = "/new"
        let lifetime = try PermanentRedirections.lifetime(
            of: response, answering: .get(start), at: Date(timeIntervalSince1970: 0), upTo: .seconds(100))
        #expect(lifetime == seconds.map { .seconds($0) })
    }

    private static let epoch = "Thu, 01 Jan 1970 00:00:00 GMT"
    private static let halfMinuteAgo = "Wed, 31 Dec 1969 23:59:30 GMT"

    @Test func `The answer to a POST or a body is not remembered`() async throws {
        let stub = moved(status: .permanentRedirect)
        for _ in 1...2 {
            _ = try await remembering(stub).send(.post(start, body: "a"))
            _ = try await remembering(stub).send(Request(.get, start, body: "a"))
        }
        #expect(memory.count == 0)
    }

    @Test(arguments: [
        ("http://a.example/start", "http://a.example/new", 0), ("http://a.example/start", "http://b.example/", 0),
        ("http://a.example/start", "https://evil.example/", 0), ("http://a.example/start", "https://a.example/new", 1),
        ("https://a.example/start", "https://b.example/", 1),
    ])
    func `A redirection that could be forged is not remembered`(from: String, to: String, count: Int) async throws {
        _ = try await remembering(moved(to)).send(.get(from))
        #expect(memory.count == count)
    }

    @Test func `A redirection of more than 8 KiB is not kept`() async throws {
        let long = String(repeating: "a", count: 8200)
        _ = try await remembering(moved("/" + long)).send(.get(start))
        _ = try await remembering(moved(fields: [.vary: "Accept-Language"]))
            .send(.get(start, fields: [.acceptLanguage: long]))
        _ = try await remembering(moved()).send(.get(start + "?" + long))
        #expect(memory.count == 0)
        _ = try await remembering(moved("/" + long.prefix(8000))).send(.get(start))
        #expect(memory.count == 1)
    }

    @Test func `A policy that refuses a remembered redirection gets the server's own response`() async throws {
        let stub = moved("https://b.example/")
        _ = try await remembering(stub).send(.get(start))
        let response = try await remembering(stub, policy: .sameOrigin).send(.get(start))
        #expect(response.status == .movedPermanently)
        #expect(response.metadata.source == .stub)
        #expect(response.metadata.redirectionRefusal == .policy)
    }

    @Test func `A refused redirection is forgotten where the server has changed its mind`() async throws {
        _ = try await remembering(moved()).send(.get(start))
        var request = try Request.get(start)
        request.options.redirectionPolicy = .never
        let response = try await remembering(StubConnection { _ in Response(status: .ok) }).send(request)
        #expect(response.status == .ok)
        #expect(response.metadata.redirectionRefusal == nil)
        #expect(memory.count == 0)
    }

    @Test(arguments: ["no-cache", "no-store", "max-age=0"])
    func `A request for a fresh answer asks the server`(directive: String) async throws {
        let stub = moved()
        _ = try await remembering(stub).send(.get(start))
        _ = try await remembering(stub).send(.get(start, fields: [.cacheControl: directive]))
        #expect(paths(stub) == ["/start", "/new", "/start", "/new"])
    }

    @Test func `The fields in Vary select`() async throws {
        let stub = moved(fields: [.vary: "Accept-Language"])
        for language in ["de", "de", "en"] {
            _ = try await remembering(stub).send(.get(start, fields: [.acceptLanguage: language]))
        }
        #expect(paths(stub) == ["/start", "/new", "/new", "/start", "/new"])
    }

    @Test func `An unsafe request to the URL forgets it`() async throws {
        let stub = moved()
        _ = try await remembering(stub).send(.get(start))
        _ = try await remembering(stub).send(.delete("https://a.example/other"))
        #expect(memory.count == 1)
        _ = try await remembering(stub).send(.delete(start))
        #expect(memory.count == 0)
    }

    @Test func `A target that is gone or lost is forgotten, and a cancelled one is not`() async throws {
        let failing: [StubConnection] = [
            StubConnection { _ in Response(status: .notFound) },
            StubConnection { _ in throw TransportError(.hostNotFound, at: .connecting) },
        ]
        for stub in failing {
            _ = try await remembering(moved()).send(.get(start))
            #expect(memory.count == 1)
            _ = try? await remembering(stub).send(.get(start))
            #expect(paths(stub) == ["/new"])
            #expect(memory.count == 0)
        }
        _ = try await remembering(moved()).send(.get(start))
        _ = try? await remembering(StubConnection { _ in throw CancellationError() }).send(.get(start))
        #expect(memory.count == 1)
    }

    @Test func `The memory is bounded, and forgets the one that expires first`() async throws {
        let stub = moved()
        for number in 0..<50 {
            _ = try await remembering(stub).send(.get(start + "\(number)"))
            clock.advance(by: .seconds(1))
        }
        #expect(memory.count == 10)
        let sent = stub.requests.count
        _ = try await remembering(stub).send(.get(start + "49"))
        #expect(stub.requests.count == sent + 1)
        _ = try await remembering(stub).send(.get(start + "39"))
        #expect(stub.requests.count == sent + 3)
    }

    /// A server that redirects back to where a remembered redirection starts.
    private let turned = StubConnection { request in
        request.head.path == "/new"
            ? Response(status: .movedPermanently, fields: [.location: "/start"]) : Response(status: .ok)
    }

    @Test func `A redirection whose target leads back is asked for again`() async throws {
        _ = try await remembering(moved()).send(.get(start))
        for _ in 1...3 {
            let response = try await remembering(turned).send(.get(start))
            #expect(response.status == .ok)
            #expect(response.metadata.redirects.isEmpty)
        }
        #expect(paths(turned) == ["/new", "/start", "/start", "/start"])
    }

    @Test(arguments: [20, 2, 1])
    func `A request for the URL that was the new one is led back each time`(limit: Int) async throws {
        _ = try await remembering(moved()).send(.get(start))
        for _ in 1...4 {
            let response = try await turned.followingRedirects(upTo: limit, remembering: memory, clock: clock).send(
                .get("https://a.example/new"))
            #expect(response.status == .ok)
            #expect(response.metadata.redirects.count == 1)
            #expect(response.metadata.url?.absoluteString == start)
        }
        #expect(paths(turned) == ["/new", "/new", "/start", "/start", "/start", "/start"])
        #expect(memory.count == 1)
    }

    @Test func `An unsafe request that was redirected has succeeded, wherever the chain ends`() async throws {
        let leading = StubConnection { request in
            switch request.head.path {
            case "/start" where request.head.method == .post: Response(status: .seeOther, fields: [.location: "/gone"])
            case "/start": Response(status: .movedPermanently, fields: [.location: "/new"])
            case "/gone": Response(status: .notFound)
            default: Response(status: .ok)
            }
        }
        _ = try await remembering(leading).send(.get(start))
        #expect(memory.count == 1)
        #expect(try await remembering(leading).send(.post(start, body: "a")).status == .notFound)
        #expect(memory.count == 0)
    }

    @Test func `The redirection of one user is not followed for another`() async throws {
        let stub = moved()
        for user in ["alice", "bob", "alice", "bob"] {
            _ = try await remembering(stub).acting(for: Principal(user)).send(.get(start))
        }
        _ = try await remembering(stub).send(.get(start))
        _ = try await remembering(stub).send(.get(start, fields: [.authorization: "Bearer s"]))
        #expect(paths(stub).filter { $0 == "/start" }.count == 4)

        memory.removeRedirections(of: Principal("alice"))
        #expect(memory.count == 2)
        memory.removeRedirections(of: nil)
        #expect(memory.count == 1)
        memory.removeAll()
        #expect(memory.count == 0)
    }

    @Test func `Where a layer further in identifies the user, nothing is remembered without a principal`() async throws
    {
        let connection = moved()
            .intercepting { request, base in
                var request = request
                request.head.headerFields[.authorization] = "Bearer s"
                return try await base.send(request)
            }
            .followingRedirects(remembering: memory, clock: clock)
        _ = try await connection.send(.get(start))
        #expect(memory.count == 0)
        _ = try await connection.acting(for: Principal("ann")).send(.get(start))
        #expect(memory.count == 1)
    }

    @Test(arguments: [.authorization, .cookie, HTTPField.Name("X-Api-Key")])
    func `The redirection of a request with a credential is not kept`(name: HTTPField.Name?) async throws {
        let stub = moved()
        let name = try #require(name)
        for _ in 1...2 {
            _ = try await remembering(stub).send(.get(start, fields: [name: "s"]))
            _ = try await remembering(stub).acting(for: Principal("ann")).send(.get(start, fields: [name: "s"]))
        }
        #expect(memory.count == 0)
        #expect(paths(stub).filter { $0 == "/start" }.count == 4)
    }

    @Test func `A field that a layer further in declares secret is as good as a known one`() async throws {
        let ticket = try #require(HTTPField.Name("X-Ticket"))
        let stub = moved()
        let connection = stub.addingDefaultFields(secretFields: [ticket]) { _ in [:] }
            .followingRedirects(remembering: memory, clock: clock)
        for value in ["a", "b"] { _ = try await connection.send(.get(start, fields: [ticket: value])) }
        #expect(memory.count == 0)
        _ = try await connection.send(.get(start))
        _ = try await connection.send(.get(start, fields: [ticket: "a"]))
        #expect(paths(stub).filter { $0 == "/start" }.count == 4)
    }
}
