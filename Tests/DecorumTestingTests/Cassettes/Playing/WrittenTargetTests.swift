import Decorum
import DecorumTesting
import Foundation
import Testing

/// A request that is written exactly like a recorded one is found without its key, and with the same result.
@Suite struct WrittenTargetTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The answers to requests for targets, from a cassette that has one interaction for each of others.
    private func answers(
        to targets: [String], recorded: [String], rules: CassetteRules = CassetteRules(unused: .allow)
    ) async throws -> [String] {
        let interactions = recorded.enumerated().map { index, target in
            """
            {"request": {"method": "GET", "url": "https://example.com\(target)"},
            "response": {"status": 200, "text": "\(index)"}}
            """
        }
        try folder.write(
            #"{"cassette": 1, "interactions": [\#(interactions.joined(separator: ","))]}"#, to: "feed.json")
        let connection = CassetteConnection(try Cassette(at: folder.path("feed.json"), mode: .replay, rules: rules))
        var answers: [String] = []
        for target in targets {
            let response = try? await connection.send(.get("https://example.com" + target))
            answers.append(try await response?.body.text(upTo: 100) ?? "miss")
        }
        return answers
    }

    @Test func `Equivalent URLs are played in the order of the file, however the request is written`() async throws {
        let recorded = ["/?a=1&b=2", "/?b=2&a=1", "/%61", "/a"]
        let queries = ["/?b=2&a=1", "/?b=2&a=1", "/?a=1&b=2"]
        #expect(try await answers(to: queries, recorded: recorded) == ["0", "1", "miss"])
        #expect(try await answers(to: ["/a", "/%61"], recorded: recorded) == ["2", "3"])
        #expect(try await answers(to: ["/%61", "/a"], recorded: recorded) == ["2", "3"])
    }

    @Test func `A secret in a URL matches its placeholder, another secret and itself`() async throws {
        let recorded = ["/?access_token=Redacted1AAAAAAAAAAA", "/?access_token=Redacted1AAAAAAAAAAA&x=1"]
        let targets = [
            "/?access_token=Redacted1AAAAAAAAAAA", "/?access_token=another-secret&x=1", "/?access_token=a-third",
        ]
        #expect(try await answers(to: targets, recorded: recorded) == ["0", "1", "miss"])
    }

    @Test func `A rule that ignores an item does so in a request that is written like a recording`() async throws {
        let rules = CassetteRules(matching: [.url(ignoring: "ts")], unused: .allow)
        let targets = ["/?ts=2&x=1", "/?x=1", "/?ts=9&x=1", "/?x=1"]
        #expect(
            try await answers(to: targets, recorded: ["/?x=1", "/?ts=2&x=1", "/?ts=3&x=1"], rules: rules)
                == ["0", "1", "2", "miss"])
    }
}
