import Decorum
import DecorumTesting
import Foundation
import Testing

/// The listings of the catalog of `Decorum`.
@Suite struct CatalogListings {
    func landingPage() async throws {
        let connection = try StandardStack(for: "https://example.com/").composed()
        let response = try await connection.send(.get("feed"))
        let text = try await response.body.text(upTo: 1 << 20)
        _ = text
    }

    func landingPageByHand() {
        let connection = SystemConnection()
            .retrying()
            .caching(in: MemoryResponseStore())
            .followingRedirects()
        _ = connection
    }

    @Test func composingAStack() throws {
        let api = try Origin("https://api.example.com")
        let token = "token"
        let statistics = ExchangeStatistics()

        let connection = try SystemConnection()
            .logging(to: .standardError, as: .attempt, detail: .fields)
            .observing(statistics, as: .attempt)
            .authenticating(with: .bearer(token), for: api)
            .pacing()
            .retrying()
            .caching(in: MemoryResponseStore())
            .decompressing()
            .followingRedirects()
            .addingDefaultFields([.accept: "application/json"])
            .addingRequestID()
            .resolving(against: "https://api.example.com/v1/")
            .acting(for: Principal("user-42"))
            .limitingTime()
            .observing(statistics)
            .validatingStatus()

        let names = [
            "validatingStatus", "observing", "limitingTime", "acting", "resolving", "addingRequestID",
            "addingDefaultFields",
            "followingRedirects", "decompressing", "caching", "retrying", "pacing", "authenticating", "observing",
            "logging",
        ]
        #expect(connection.layers.map(\.name) == names + SystemConnection().layers.map(\.name))
    }

    @Test(arguments: [false, true]) func combiningLayersConditionally(isVerbose: Bool) {
        var connection: any Connection = SystemConnection().retrying()
        if isVerbose {
            connection = connection.logging(to: .standardError)
        }

        #expect(connection.layers.count == (isVerbose ? 3 : 2))
    }

    @Test func keepingSecrets() async throws {
        let token = "token"
        let api = try Origin("https://api.example.com")
        let uploads = try Origin("https://uploads.example.com")
        let connection = try SystemConnection()
            .authenticating(with: .bearer(token), for: api, uploads)
            .followingRedirects()

        #expect(connection.layers.first?.name == "followingRedirects")
    }

    @Test func declaringASecretField() async throws {
        let ticket = "ticket"
        let stub = StubConnection(
            Response(status: .found, fields: [.location: "https://other.example/"]), Response(status: .ok))
        var request = try Request.get("https://example.com/")

        request.head.headerFields[.uploadTicket] = ticket
        request.options.secretFields.insert(.uploadTicket)

        _ = try await stub.followingRedirects().send(request)
        #expect(stub.requests.map { $0.head.headerFields[.uploadTicket] } == ["ticket", nil])
    }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let uploadTicket = Self("Upload-Ticket")!
}
