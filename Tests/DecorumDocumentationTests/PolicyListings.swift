import Decorum

struct PolicyListings {
    func validatingStatus() async throws -> [Item] {
        let connection = SystemConnection().validatingStatus()
        do {
            let response = try await connection.send(.get("https://api.example.com/items"))
            return try await response.body.decode([Item].self, upTo: 1 << 20)
        } catch let error as StatusError where error.status == .serviceUnavailable {
            print(error)  // GET https://api.example.com was answered with the status 503.
            print(try await error.response.body.text(upTo: 1 << 16))
            return []
        }
    }

    struct Item: Decodable, Sendable {}
}
