import DecorumEndpoints
import DecorumTesting
import Testing

private struct Repository: Codable, Sendable {
    let id: Int
    let name: String
}

extension Endpoint where Value == Repository {
    static func repository(_ owner: String, _ name: String) -> Self {
        .get("repos/{owner}/{name}", ["owner": owner, "name": name])
            .sampled(.json(Repository(id: 1, name: name)))
    }
}

@Suite struct SampleListings {
    @Test func sample() async throws {
        let connection = SampleConnection()
        #expect(try await connection.value(of: Endpoint<Repository>.repository("apple", "swift")).name == "swift")
    }

    @Test func stub() async throws {
        let stub = StubConnection { try await SampleConnection().send($0) }
        #expect(try await stub.value(of: Endpoint<Repository>.repository("apple", "swift")).id == 1)
        #expect(stub.requests.count == 1)
    }
}
