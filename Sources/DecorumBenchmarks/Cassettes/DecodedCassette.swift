/// A cassette for comparison, decoded completely and at once by `Codable`.
struct DecodedCassette: Decodable {
    struct Interaction: Decodable {
        let request: Request
        let response: Response
        let at: String
    }

    struct Request: Decodable {
        let method: String
        let url: String
        let headers: [String: String]?
    }

    struct Response: Decodable {
        let status: Int
        let headers: [String: String]?
        let json: Item
    }

    struct Item: Decodable {
        let id: String
        let name: String
        let price: Double
        let tags: [String]
    }

    let cassette: Int
    let interactions: [Interaction]
}
