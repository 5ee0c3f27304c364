import Decorum
import DecorumArchive
import DecorumTestingTraits
import Foundation
import HTTPTypes
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
}

@Suite(.cassettes()) struct AccountTests {
    @Test(.cassette("account")) func guest() async throws {
        let response = try await CassetteConnection().send(.get("https://api.example.com/me"))
        #expect(response.status == .unauthorized)
    }

    @Test(.cassette("account")) func member() async throws {
        let request = try Request.get("https://api.example.com/me", fields: [.authorization: "Bearer my-token"])
        let response = try await CassetteConnection().send(request)
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

extension CassetteRules {
    static var signed: CassetteRules {
        var rules = CassetteRules(matching: [.method, .url(ignoring: "nonce"), .body(ignoring: "**.nonce")])
        rules.ignoredFields.formUnion(["X-Date", "X-Signature"].compactMap { HTTPField.Name($0) })
        return rules
    }
}

private func credentials() -> CassetteRules {
    let rules = CassetteRules(matching: [.method, .url, .body, .header(.authorization)])
    return rules
}

private func expiry() -> CassetteRules {
    var rules = CassetteRules()
    rules.expiry = .init(after: .seconds(90 * 86_400), .recordAnew)
    return rules
}

private func hosts() -> CassetteRules {
    var rules = CassetteRules()
    rules.passedHosts = ["*.telemetry.example", "localhost"]
    return rules
}

private func missHandler() -> CassetteRules {
    var rules = CassetteRules()
    rules.onMiss = { miss, request in
        request.url.hasSuffix("/metrics") ? .answer(RecordedResponse(status: 204)) : .fail
    }
    return rules
}

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
    let imported = try ImportedCassette(contentsOf: URL(filePath: "cassettes/feed.har")).decodingContent()
    try cassette.archive().document().write(to: URL(filePath: "feed.har"))
    _ = (rules, connection, imported)
}

struct CallLog: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool {
        try document.root["calls"] != nil
    }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> String {
        for call in try document.root["calls"]?.elements ?? [] {
            let url = try call.required("url", as: "the URL")
            let response = RecordedResponse(
                status: call["status"]?.integer ?? 200, fields: try draft.fields(call["headers"]),
                body: RecordedBody(Data((call["answer"]?.text ?? "").utf8)))
            let request = RecordedRequest(method: "GET", url: url.text ?? "")
            draft.append(Interaction(request: request, response: response), at: call)
        }
        return "call log"
    }
}

private func compiledComparison() async throws {
    let comparison = try await StackComparison(
        playing: "Tests/Cassettes/feed.json",
        through: [
            "plain": { base, clock in base.retrying(clock: clock) },
            "cached": { base, clock in base.retrying(clock: clock).caching(in: MemoryResponseStore(), clock: clock) },
        ])
    print(comparison)
}

private func compiledOpening() async throws {
    let cassette = try Cassette(at: "Tests/Cassettes/feed.json")
    let connection = CassetteConnection(cassette).retrying()
    _ = try await connection.send(.get("https://api.example.com/feed"))
    try await cassette.finish()
}

private func compiledServing() async throws {
    let cassette = try Cassette(at: "Tests/Cassettes/feed.json", mode: .replay)
    let origin = try LoopbackOrigin(playing: cassette)
    let feed = try await download(origin.url + "/feed")
    origin.stop()
    try await cassette.finish()
    print(feed.count)
}

private func download(_ url: String) async throws -> Data {
    try await URLSession.shared.data(from: #require(URL(string: url))).0
}
