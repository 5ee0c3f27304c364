import Decorum

private func urlSession() async throws {
    let connection = URLSessionConnection(connectionsPerHost: 4, idleTimeout: .seconds(30))
    let response = try await connection.send(.get("https://example.com/feed"))
    for try await chunk in response.body { print(chunk.count) }
}
