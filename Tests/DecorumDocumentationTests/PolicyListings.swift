import Decorum

struct PolicyListings {
    func validatingStatus() async throws -> [Item] {
        let connection = SystemConnection().validatingStatus()
        do {
            var request = try Request.get("https://api.example.com/items")
            request.options.routeName = "items"
            let response = try await connection.send(request)
            return try await response.decode([Item].self, upTo: 1 << 20)
        } catch let error as StatusError where error.status == .serviceUnavailable {
            print(error)  // GET https://api.example.com/items (route “items”) was answered with the status 503.
            print(try await error.response.body.text(upTo: 1 << 16))
            return []
        }
    }

    struct Item: Decodable, Sendable {}
}
