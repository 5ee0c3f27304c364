import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Servers whose redirections lead back to where a remembered one starts.
@Suite(.timeLimit(.minutes(3))) struct TurnedRedirectionsTests {
    private let memory = PermanentRedirections(limit: 10, lifetime: .seconds(100))
    private let clock = VirtualClock()
    private let start = "https://a.example/start"
    private let new = "https://a.example/new"

    private let moved = StubConnection { request in
        request.head.path == "/start"
            ? Response(status: .movedPermanently, fields: [.location: "/new"]) : Response(status: .ok)
    }

    private let turned = StubConnection { request in
        switch request.head.path {
        case "/new": Response(status: .movedPermanently, fields: [.location: "/start"])
        case "/form": Response(status: .seeOther, fields: [.location: "/start"])
        default: Response(status: .ok)
        }
    }

    private func remembering(_ stub: StubConnection, upTo limit: Int = 20) -> some Connection {
        stub.followingRedirects(upTo: limit, remembering: memory, clock: clock)
    }

    private func paths(_ stub: StubConnection) -> [String?] { stub.requests.map(\.head.path) }

    @Test func `It is asked again`() async throws {
        _ = try await remembering(moved).send(.get(start))
        for _ in 1...3 {
            let response = try await remembering(turned).send(.get(start))
            #expect(response.status == .ok)
            #expect(response.metadata.redirects.isEmpty)
        }
        #expect(paths(turned) == ["/new", "/start", "/start", "/start"])
    }

    @Test(arguments: [20, 2, 1])
    func `A request for the URL that was the new one is led back each time`(limit: Int) async throws {
        _ = try await remembering(moved).send(.get(start))
        for _ in 1...4 {
            let response = try await remembering(turned, upTo: limit).send(.get(new))
            #expect(response.status == .ok)
            #expect(response.metadata.redirects.count == 1)
            #expect(response.metadata.url?.absoluteString == start)
        }
        #expect(paths(turned) == ["/new", "/new", "/start", "/start", "/start", "/start"])
        #expect(memory.count == 1)
    }

    @Test func `A chain that starts with a POST asks each time, so that it never has to be repeated`() async throws {
        _ = try await remembering(moved).send(.get(start))
        for _ in 1...3 {
            let response = try await remembering(turned, upTo: 1).send(.post("https://a.example/form", body: "a"))
            #expect(response.status == .ok)
        }
        #expect(paths(turned) == ["/form", "/start", "/form", "/start", "/form", "/start"])
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
}
