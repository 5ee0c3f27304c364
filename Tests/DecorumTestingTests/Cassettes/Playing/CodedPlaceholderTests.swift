import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A placeholder is the same one in whatever spelling of its characters a URL or a form has it.
@Suite struct CodedPlaceholderTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func interaction(_ request: String, answer: String) -> String {
        #"{"request": {\#(request)}, "response": {"status": 200, "text": "\#(answer)"}}"#
    }

    private func cassette(_ interactions: String...) throws -> Cassette {
        try folder.write(
            #"{"cassette": 1, "interactions": [\#(interactions.joined(separator: ",\n"))]}"#, to: "a.json")
        return try Cassette(at: folder.path("a.json"), mode: .replay, rules: CassetteRules(unused: .allow))
    }

    private static let spellings = ["Redacted2AAAAAAA", "Redacted2%41AAAAAA", "%52edacted2AAA%41%41AA"]

    @Test(arguments: spellings)
    func `A placeholder in a query chooses its recording`(placeholder: String) async throws {
        let cassette = try cassette(
            interaction(
                #""method": "GET", "url": "https://example.com/me?token=Redacted1AAAAAAA""#, answer: "Ann"),
            interaction(
                #""method": "GET", "url": "https://example.com/me?token=Redacted2AAAAAAA""#, answer: "Bob"))
        let response = try await CassetteConnection(cassette)
            .send(.get("https://example.com/me?token=\(placeholder)"))
        #expect(try await response.body.text(upTo: 100) == "Bob")
    }

    @Test(arguments: spellings)
    func `A placeholder in a form chooses its recording`(placeholder: String) async throws {
        let form = #""headers": {"Content-Type": "application/x-www-form-urlencoded"}"#
        let start = #""method": "POST", "url": "https://example.com/me", \#(form), "text": "#
        let cassette = try cassette(
            interaction(start + #""token=Redacted1AAAAAAA""#, answer: "Ann"),
            interaction(start + #""token=Redacted2AAAAAAA""#, answer: "Bob"))
        let response = try await CassetteConnection(cassette).send(
            .post(
                "https://example.com/me", fields: [.contentType: "application/x-www-form-urlencoded"],
                body: Body(Data("token=\(placeholder)".utf8))))
        #expect(try await response.body.text(upTo: 100) == "Bob")
    }

    @Test(arguments: spellings)
    func `A placeholder at a place without a name matches in each spelling`(placeholder: String) async throws {
        let cassette = try cassette(
            interaction(
                #""method": "GET", "url": "https://example.com/a/\#(placeholder)/b?page=1""#, answer: "found"))
        let response = try await CassetteConnection(cassette)
            .send(.get("https://example.com/a/Redacted7AAAAAAA/b?page=1"))
        #expect(try await response.body.text(upTo: 100) == "found")
    }
}
