import Decorum
import DecorumConformance
import DecorumTesting
import HTTPTypes
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct RoutingTests {
    private let base = StubConnection { _ in Response(status: .ok, body: "base") }
    private let images = StubConnection { _ in Response(status: .ok, body: "images") }

    @Test(arguments: DecoratorLaw.all.excluding(.shownDeclarations, because: "No request of the laws has a route."))
    func `The layer keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check { base in base.routing(byGroup: ["images": base]) }
    }

    @Test(arguments: [("images", "images"), ("metrics", "base"), (nil, "base")] as [(RequestGroup?, String)])
    func `A request takes the connection of its group, or the base`(group: RequestGroup?, answer: String) async throws {
        let call = CallContext(keepingHistory: 10)
        var request = try Request.get("https://a.example/", group: group)
        request.options.callContext = call
        let response = try await base.routing(byGroup: ["images": images]).send(request)
        #expect(try await response.body.text(upTo: 100) == answer)
        #expect(call.history.contains { $0.kind == .routes && $0.layer == "routing" } == (answer == "images"))
    }

    @Test func `A closure chooses the connection, and a name without one means the base`() async throws {
        let connection = base.routing(by: { $0.head.path?.count }, to: [1: images])
        for (path, answer) in [("/", "images"), ("/a", "base")] {
            #expect(try await connection.send(.get("https://a.example\(path)")).body.text(upTo: 100) == answer)
        }
    }

    @Test func `The connections are branches, which the check of the stack covers`() throws {
        let changing = images.limiting(LimitPolicy(Limits(.fixed(1)))).retrying()
        let connection = base.routing(byGroup: ["images": changing, "a": images])
        #expect(connection.layers[0].sending.branches.map(\.name) == ["a", "images"])
        #expect(connection.layers[0].sending.times == 1...1)
        #expect(connection.findings.contains { $0.description.contains("Nothing limits the time of a call") })
    }
}
