import Decorum

struct PreparationListings {
    func relative() async throws {
        let connection = try SystemConnection()
            .resolving(against: "https://api.example.com/v1/")
        let response = try await connection.send(.get("items?page=2"))
        // GET https://api.example.com/v1/items?page=2
        _ = response
    }

    func percentEncoded(name: String) throws {
        let repository = try Request.get("repos/\(PercentCoding.encode(name))?page=2")
        _ = repository
    }

    func addingDefaultFields() {
        let connection = SystemConnection()
            .addingDefaultFields([.accept: "application/json", .acceptLanguage: "en"])
        _ = connection
    }

    func addingDefaultFieldsOfClosure() {
        let connection = SystemConnection()
            .addingDefaultFields { request in
                request.head.method == .post ? [.contentType: "application/json"] : [:]
            }
        _ = connection
    }

    func overridingFields() {
        let connection = SystemConnection()
            .overridingFields(with: [.accept: "application/json"])
        _ = connection
    }

    func identifyingClient() throws {
        let connection = try SystemConnection()
            .identifyingClient(as: ClientInformation(name: "Reader", version: "2.1"))
        // User-Agent: Reader/2.1 (Linux 6.8.0)
        _ = connection
    }

    func acceptingLanguages() throws {
        let connection = try SystemConnection()
            .acceptingLanguages(["de-CH", "de", "en"])
        // Accept-Language: de-CH, de;q=0.9, en;q=0.8
        _ = connection
    }

    func acting(api: Origin, token: String, responses: MemoryResponseStore) throws {
        let connection = try SystemConnection()
            .authenticating(with: .bearer(token), for: api)
            .caching(in: responses)
            .acting(for: Principal("user-42"))
        _ = connection
    }

    func actingForSeveral(shared: some Connection, session: Session) {
        let connection = shared.acting(for: session.principal)
        _ = connection
    }

    struct Session {
        let principal: Principal
    }
}
