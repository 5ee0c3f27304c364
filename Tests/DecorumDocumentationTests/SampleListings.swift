import DecorumEndpoints
import DecorumTesting
import Testing

extension Endpoint where Value == Repository {
    static func latest(of owner: String) -> Self {
        .get("users/{owner}/repos/latest", ["owner": owner])
            .sampled(.json(Repository(id: 1, name: "swift")))
    }
}

@Test func stubOfSamples() async throws {
    let stub = StubConnection { try await SampleConnection().send($0) }
    #expect(try await stub.value(of: .latest(of: "apple")).id == 1)
    #expect(stub.requests.count == 1)
}
