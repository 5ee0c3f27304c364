import Decorum
import DecorumArchive
import DecorumTestingTraits
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct CassetteListings {
    @Test(.cassette) func feed() async throws {
        let connection = try CassetteConnection().retrying()
        let response = try await connection.send(.get("https://api.example.com/feed"))
        #expect(try await response.body.text(upTo: 1 << 20).contains("news"))
    }

    @Test func `Each case has a cassette`() async throws {
        for language in ["de", "en"] {
            try await withCassette("feed-\(language)") { cassette in
                let request = try Request.get("https://api.example.com/feed?lang=\(language)")
                let response = try await CassetteConnection(cassette).send(request)
                #expect(response.status == .ok)
            }
        }
    }

    @Test func `A test of any framework has a cassette`() async throws {
        try await withCassette("feed") {
            try await test($0)
        }
    }

    func test(_ cassette: Cassette) async throws {
        let connection = CassetteConnection(cassette).retrying()
        let response = try await connection.send(.get("https://api.example.com/feed"))
        #expect(response.status == .ok)
    }
}

extension CassetteRules {
    static let api = CassetteRules(
        matching: [.method, .url(ignoring: "ts"), .body(ignoring: "**.nonce"), .header(.accept)],
        repeats: .last)
}

extension CassetteRules {
    static let poller = CassetteRules(matching: [.method, .url(ignoring: "ts"), .body], repeats: .last)
}

@Suite(.cassettes(rules: .api)) struct FeedTests {}

private func leavesAWord() -> CassetteRules {
    var rules = CassetteRules()
    rules.allowedSecrets.append(.json("choices.token"))
    return rules
}

private func compiledListings(cassette: Cassette) async throws {
    try await withCassette { cassette in
        let connection = CassetteConnection(cassette).retrying()
        let response = try await connection.send(.get("https://api.example.com/feed"))
        #expect(response.status == .ok)
    }
    let rules = CassetteRules(matching: [.method, .url(ignoring: "ts"), .body, .header(.accept)])
    let connection = SystemConnection().retrying().recording(on: cassette)
    let imported = try ImportedCassette(contentsOf: URL(filePath: "cassettes/feed.yml")).decodingContent()
    try cassette.archive().document().write(to: URL(filePath: "feed.har"))
    _ = (rules, connection, imported)
}

private func compiledOpening() async throws {
    let cassette = try Cassette(at: "Tests/Cassettes/feed.json")
    let connection = CassetteConnection(cassette).retrying()
    _ = try await connection.send(.get("https://api.example.com/feed"))
    try cassette.finish()
}

private func compiledServing() async throws {
    let cassette = try Cassette(at: "Tests/Cassettes/feed.json", mode: .replay)
    let origin = try LoopbackOrigin(playing: cassette)
    let feed = try await download(origin.url + "/feed")
    origin.stop()
    try cassette.finish()
    print(feed.count)
}

private func download(_ url: String) async throws -> Data {
    try await URLSession.shared.data(from: #require(URL(string: url))).0
}
