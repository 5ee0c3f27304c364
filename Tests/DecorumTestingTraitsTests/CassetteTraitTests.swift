import Decorum
import DecorumTestingTraits
import Foundation
import HTTPTypes
import Testing

@Suite(.cassettes(rules: CassetteRules(unused: .allow))) struct CassetteTraitTests {
    @Test(.cassette(mode: .append)) func `A test has a cassette of its own name`() async throws {
        let cassette = try #require(Cassette.current)
        #expect(cassette.file.path.hasSuffix("Cassettes/CassetteTraitTests/A-test-has-a-cassette-of-its-own-name.json"))
        #expect(cassette.rules.unused == .allow)
        #expect(try CassetteConnection().layers.first?.settings.first?.value == "append")
    }

    @Test(.cassette("greeting", mode: .replay)) func `A recorded answer is replayed`() async throws {
        let response = try await CassetteConnection().send(.get("https://api.example.com/greeting"))
        #expect(try await response.body.text(upTo: 100) == "hello")
    }

    @Test(arguments: ["de", "en"]) func `Each case of a parameterised test has its own`(language: String) async throws {
        try await withCassette("greeting-\(language)", mode: .append) { cassette in
            #expect(cassette.file.lastPathComponent == "greeting-\(language).json")
            #expect(Cassette.current === cassette)
        }
    }

    @Test func `Without a cassette there is no connection to it`() {
        #expect(throws: NoCassetteError.self) { try CassetteConnection() }
    }
}
