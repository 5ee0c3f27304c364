import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTestingTraits

/// The cases of a test that share a cassette, each with recordings of its own.
@Suite struct ParameterisedTests {
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

    @Test func `A test without arguments is known by its name`() throws {
        #expect(try #require(Test.currentRecorderName).hasSuffix(".A test without arguments is known by its name"))
    }

    @Test func `Only a named cassette of a suite may be that of a parameterised test`() {
        let text = ParameterizedCassetteError(test: "greeting(language:)").description
        #expect(text.contains("withCassette(\"name-\\(argument)\")"))
        #expect(
            text.hasSuffix(
                "write .cassette(\"name\") in a suite with .cassettes(), where each case has its own recordings"))
    }

    @Test(arguments: [false, true])
    func `Cases have their own recordings, in whatever order they run`(isReversed: Bool) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "decorum-cases-\(UInt64.random(in: .min ... .max))")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "shared.json").path
        func run(_ mode: CassetteMode, _ cases: [String]) async throws {
            let defaults = CassetteDefaults(shared: SharedCassettes(isPartial: false))
            for name in cases {
                let cassette = try defaults.cassette(at: file, rules: nil, mode: mode, test: "test(\(name))")
                let stub = StubConnection(Response(status: .ok, body: Body(Data(name.utf8))))
                let response = try await CassetteConnection(cassette, recording: stub)
                    .send(.get("https://example.com/me"))
                #expect(try await response.body.text(upTo: 100) == name)
                try await cassette.finish()
            }
        }
        try await run(.once, isReversed ? ["b", "a"] : ["a", "b"])
        try await run(.replay, ["a", "b"])
        try await run(.replay, ["b", "a"])
    }
}

/// A trait gives each case of a parameterised test its own recordings in a shared cassette.
@Suite(.serialized, .cassettes()) struct ParameterisedTraitTests {
    @Test(.cassette("greetings", mode: .replay), arguments: ["de", "fr"])
    func `Each case plays its own recording`(language: String) async throws {
        let response = try await CassetteConnection().send(.get("https://api.example.com/greeting"))
        #expect(try await response.body.text(upTo: 100) == ["de": "Hallo", "fr": "Bonjour"][language])
    }
}
