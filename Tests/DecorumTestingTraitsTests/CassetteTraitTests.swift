import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTestingTraits

@Suite(.cassettes(rules: CassetteRules(unused: .allow))) struct CassetteTraitTests {
    @Test(.cassette(mode: .append)) func `A test (in parentheses) has a cassette of its own name`() async throws {
        let cassette = try #require(Cassette.current)
        let name = "A-test--in-parentheses--has-a-cassette-of-its-own-name.json"
        #expect(cassette.file.path.hasSuffix("Cassettes/CassetteTraitTests/" + name))
        #expect(cassette.rules.unused == .allow)
        #expect(try CassetteConnection().layers.first?.settings.first?.value == "append")
    }

    @Test(.cassette("greeting", mode: .replay)) func `A recorded answer is replayed`() async throws {
        let response = try await CassetteConnection().send(.get("https://api.example.com/greeting"))
        #expect(try await response.body.text(upTo: 100) == "hello")
    }

    @Test(arguments: ["de", "en"]) func `Each case of a parameterised test has its own`(language: String) async throws {
        try await withCassette("greeting-\(language)", mode: .live) { cassette in
            #expect(cassette.file.lastPathComponent == "greeting-\(language).json")
            #expect(Cassette.current === cassette)
        }
    }

    @Test func `A name that is too long for a file system is shortened and stays unique`() async throws {
        let names = ["a", "b"].map { String(repeating: "Grüße ", count: 100) + $0 }
        var files: [String] = []
        for name in names { try await withCassette(name, mode: .live) { files.append($0.file.lastPathComponent) } }
        #expect(Set(files).count == 2)
        #expect(files.allSatisfy { $0.utf8.count <= 255 && $0.hasPrefix("Grüße-Grüße-") && $0.hasSuffix(".json") })
    }

    @Test func `Without a cassette there is no connection to it`() {
        #expect(throws: NoCassetteError.self) { try CassetteConnection() }
    }
}

/// The cases of a test that share a cassette, each with recordings of its own.
@Suite(.serialized, .cassettes()) struct ParameterisedTests {
    enum Plan { case free, paid }

    @Test(arguments: ["de", "fr"], [Plan.free, .paid])
    func `A case is known by its arguments`(language: String, plan: Plan) throws {
        let name = try #require(Test.currentRecorderName)
        #expect(name.hasSuffix("ParameterisedTests.A case is known by its arguments(\(language), .\(plan))"), "\(name)")
    }

    struct Account: Sendable { let user = "a", password = "Hunter2!x" }

    @Test(arguments: [String(repeating: "long ", count: 40), "ghp_0123456789abcdefghijABCDEFGHIJ456789"], [Account()])
    func `Arguments that may hold a secret are known by a checksum`(text: String, account: Account) throws {
        let name = try #require(Test.currentRecorderName)
        let arguments = try #require(name.split(separator: "(").last)
        #expect(arguments.wholeMatch(of: /#[0-9a-f]{1,8}, #[0-9a-f]{1,8}\)/) != nil, "\(name)")
    }

    @Test(.cassette("greetings", mode: .replay), arguments: ["de", "fr"])
    func `Each case plays its own recording`(language: String) async throws {
        let response = try await CassetteConnection().send(.get("https://api.example.com/greeting"))
        #expect(try await response.body.text(upTo: 100) == ["de": "Hallo", "fr": "Bonjour"][language])
    }
}
