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

    @Test(.cassette(mode: .append)) func `A name (in parentheses) is a part of it`() throws {
        #expect(try #require(Cassette.current).file.lastPathComponent == "A-name--in-parentheses--is-a-part-of-it.json")
    }

    @Test func `A name that is too long for a file system is shortened and stays unique`() async throws {
        let names = ["a", "b"].map { String(repeating: "Grüße ", count: 100) + $0 }
        var files: [String] = []
        for name in names {
            try await withCassette(name, mode: .append) { files.append($0.file.lastPathComponent) }
        }
        #expect(Set(files).count == 2)
        #expect(files.allSatisfy { $0.utf8.count <= 255 && $0.hasPrefix("Grüße-Grüße-") && $0.hasSuffix(".json") })
    }

    @Test func `Without a cassette there is no connection to it`() {
        #expect(throws: NoCassetteError.self) { try CassetteConnection() }
    }
}
