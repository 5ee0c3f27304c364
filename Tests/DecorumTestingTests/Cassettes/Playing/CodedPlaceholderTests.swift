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

    @Test(arguments: ["<BOB_TOKEN>", "%3CBOB_TOKEN%3E", "%3cBOB%5FTOKEN%3e"])
    func `A name that VCR wrote chooses its recording`(name: String) async throws {
        let interactions = ["ANN", "BOB"].map { user in
            """
            - request:
                method: get
                uri: https://example.com/me?key=<\(user)_TOKEN>
              response:
                status:
                  code: 200
                body:
                  encoding: UTF-8
                  string: \(user)
              recorded_at: Fri, 20 Nov 2026 10:00:00 GMT
            """
        }
        try folder.write(
            "---\nhttp_interactions:\n\(interactions.joined(separator: "\n"))\nrecorded_with: VCR 6.0.0\n",
            to: "vcr.yml")
        let cassette = try Cassette(
            at: folder.path("vcr.yml"), mode: .replay, rules: CassetteRules(unused: .allow))
        let connection = CassetteConnection(cassette)
        let path = name.hasPrefix("<") ? "%3CBOB_TOKEN>" : name
        let response = try await connection.send(.get("https://example.com/me?key=\(path)"))
        #expect(try await response.body.text(upTo: 100) == "BOB")
    }
}
