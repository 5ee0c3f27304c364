import Decorum
import DecorumTelemetry
import DecorumTesting
import Testing

@Suite struct FlowchartTests {
    private struct Named: Connection {
        let layers: [Layer]
        func send(_ request: consuming Request) async throws -> Response { Response(status: .ok) }
    }

    @Test func `Layers stand outermost first, with arrows to branches`() {
        let branch = Layer.Branch("fallback", [Layer(name: "inner"), Layer(name: "store")])
        let own = Layer.Branch("refresh", [Layer(name: "token")], carriesRequests: false)
        let connection = Named(layers: [
            Layer(name: "a", settings: [.init("limit", 3)]), Layer(name: "b", sending: .init(branches: [branch, own])),
            Layer(name: "transport"),
        ])
        #expect(
            connection.flowchart().split(separator: "\n    f")[0] == """
                flowchart TD
                    n1["1 a(limit: 3)"]
                    n1 --> n2
                    n2["2 b"]
                    n2 -->|"fallback"| n3
                    n3["3 inner"]
                    n3 --> n4
                    n4["4 store"]
                    n2 -.->|"refresh"| n5
                    n5["5 token"]
                    n2 --> n6
                    n6["6 transport"]
                """)
    }

    @Test func `Numbers and findings are those of the printed connection`() throws {
        let connection = StubConnection().retrying().validatingStatus().caching(in: MemoryResponseStore())
        let finding = try #require(connection.findings.first)
        let chart = connection.flowchart().split(separator: "\n")
        let number = try #require(finding.places.first).number
        #expect(chart.contains("    f1 -.- n\(number)"))
        #expect(chart.contains { $0.hasPrefix("    class n") && $0.hasSuffix(" \(finding.severity)") })
        #expect(chart.contains { $0.hasPrefix("    f1>\"") && $0.contains(finding.hazard.description) })
    }

    @Test(arguments: WaterfallExamples.hostile)
    func `No name ends its label`(name: String) {
        let branch = Layer.Branch(name, [Layer(name: name)])
        let layers = [Layer(name: name, settings: [.init(name, name)], sending: .init(branches: [branch]))]
        let lines = Named(layers: layers).flowchart().split(whereSeparator: \.isNewline)
        for line in lines where line.hasPrefix("    n") {
            let label = line.split(separator: "\"", omittingEmptySubsequences: false)
            #expect(label.count == 3)
            #expect(!label[1].contains { "<>&`".contains($0) })
        }
    }
}
