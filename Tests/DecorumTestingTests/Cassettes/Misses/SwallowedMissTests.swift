import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Code between a test and its cassette hides errors; the cassette does not forget them.
@Suite(.timeLimit(.minutes(3))) struct SwallowedMissTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(
            """
            {"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "https://example.com/feed"},
            "response": {"status": 200, "headers": {"Cache-Control": "max-age=0"}, "text": "news"}}]}
            """, to: "feed.json")
    }

    private func cassette() throws -> Cassette { try Cassette(at: folder.path("feed.json"), mode: .replay) }

    @Test func `A miss that somebody swallows is thrown at the end`() async throws {
        let cassette = try cassette()
        let connection = CassetteConnection(cassette)
        _ = try await connection.send(.get("https://example.com/feed"))
        _ = try? await connection.send(.get("https://example.com/new"))
        let miss = await #expect(throws: CassetteMissError.self) { try await cassette.finish() }
        #expect(miss?.request == "GET https://example.com/new")
        #expect(miss?.number == 2)
    }

    @Test(arguments: [true, false])
    func `A miss behind a cache fails the test, also where the cache answers in its place`(isUnreachable: Bool)
        async throws
    {
        let cassette = try cassette()
        var policy = CachingPolicy()
        // By default, a cache does not take a miss for a server that cannot be reached.
        if isUnreachable { policy.meansServerNotReached = { _ in true } }
        let connection = CassetteConnection(cassette).caching(in: MemoryResponseStore(), policy: policy)
        _ = try await connection.send(.get("https://example.com/feed")).body.text(upTo: 100)
        // The stored response is stale, and the only recording is played.
        let answer = try? await connection.send(.get("https://example.com/feed")).body.text(upTo: 100)
        #expect(answer == (isUnreachable ? "news" : nil))
        await #expect(throws: CassetteMissError.self) { try await cassette.finish() }
    }

    @Test func `Several misses are all told, and the first ones in full`() async throws {
        let cassette = try cassette()
        let connection = CassetteConnection(cassette).retrying(clock: ImpatientClock())
        for number in 1...7 { _ = try? await connection.send(.get("https://example.com/\(number)")) }
        let error = await #expect(throws: CassetteFailuresError.self) { try await cassette.finish() }
        #expect(error?.failures.count == 7)
        let text = try #require(error).description
        #expect(text.hasPrefix("7 requests failed at the cassette "))
        #expect(text.contains("GET https://example.com/5") && !text.contains("GET https://example.com/6"))
        #expect(text.hasSuffix("and 2 more"))
    }

    @Test func `Tasks that miss at the same time are all kept`() async throws {
        let cassette = try cassette()
        let connection = CassetteConnection(cassette)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<30 {
                group.addTask { _ = try? await connection.send(.get("https://example.com/\(number)")) }
            }
        }
        let error = await #expect(throws: CassetteFailuresError.self) { try await cassette.finish() }
        #expect(error?.failures.count == 30)
    }

    @Test func `A miss keeps a cassette that appends from nothing, and a served one from passing`() async throws {
        let cassette = try cassette()
        let origin = try LoopbackOrigin(playing: cassette)
        defer { origin.stop() }
        let response = try await SystemConnection().send(.get(origin.url + "/unknown"))
        #expect(response.status == .badGateway)
        await #expect(throws: CassetteMissError.self) { try await cassette.finish() }
    }
}
