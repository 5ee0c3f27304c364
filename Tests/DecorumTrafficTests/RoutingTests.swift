import Decorum
import DecorumConformance
import DecorumTesting
import HTTPTypes
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3))) struct RoutingTests {
    private let base = StubConnection { _ in Response(status: .ok, body: "base") }
    private let images = StubConnection { _ in Response(status: .ok, body: "images") }

    @Test(arguments: DecoratorLaw.all.excluding(.shownDeclarations, because: "No request of the laws has a route."))
    func `The layer keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check { base in base.routing(byGroup: ["images": base]) }
    }

    @Test(arguments: ["images", "metrics", nil] as [RequestGroup?])
    func `M23: A request takes the connection of its group or closure, or the base`(group: RequestGroup?) async throws {
        let (call, answer) = (CallContext(keepingHistory: 10), group == "images" ? "images" : "base")
        let request = try Request.get("https://a.example/\(group?.description ?? "")", group: group, in: call)
        for connection in [
            base.routing(byGroup: ["images": images]),
            base.routing(by: { $0.head.path?.count }, to: ["/images".count: images]),
        ] as [any Connection] {
            #expect(try await connection.send(request).body.text(upTo: 100) == answer)
        }
        #expect(call.history.count { $0.kind == .routes && $0.layer == "routing" } == (answer == "images" ? 2 : 0))
    }

    @Test func `The connections are branches, which the check of the stack covers`() {
        let connection = base.routing(byGroup: ["images": images.retrying(), "a": images])
        #expect(connection.layers[0].branches.map(\.name) == ["a", "images"])
        #expect(connection.findings.contains { $0.description.contains("Nothing limits the time of a call") })
    }
}
