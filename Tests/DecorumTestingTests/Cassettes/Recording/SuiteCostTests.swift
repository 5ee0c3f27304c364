import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// The tests of a suite write one file, each when it ends: at the cost of what it adds, and losing nothing.
@Suite(.timeLimit(.minutes(3))) struct SuiteCostTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func record(_ test: String, _ paths: [String], in defaults: CassetteDefaults) async throws {
        let cassette = try defaults.cassette(at: folder.path("shared.json"), rules: nil, mode: .once, test: test)
        let stub = StubConnection { _ in Response(status: .ok, body: "a") }
        for path in paths {
            _ = try await CassetteConnection(cassette, recording: stub).send(.get("https://example.com" + path))
        }
        try await cassette.finish()
    }

    private func recorded() throws -> [Interaction] {
        try Cassette(at: folder.path("shared.json"), mode: .replay).interactions()
    }

    @Test func `A test that ends examines no recorded request that it has not made itself`() async throws {
        let count = Mutex(0)
        let probe = MatchingRule("probe") { _ in
            count.withLock { $0 += 1 }
            return ""
        }
        let rules = CassetteRules(matching: [.method, .url, .body, probe])
        let defaults = CassetteDefaults(rules: rules, shared: SharedCassettes(isPartial: true))
        for test in 0..<30 { try await record("test\(test)", ["/\(test)/a", "/\(test)/b"], in: defaults) }
        let before = count.withLock { $0 }
        try await record("last", ["/last"], in: defaults)
        // The number of keys does not grow with the number of tests; each of sixty requests had one before.
        #expect(count.withLock { $0 } - before < 20)
        #expect(try recorded().count == 61)
    }

    @Test func `Parallel tests of two suites, of which some are cancelled, lose nothing that was finished`()
        async throws
    {
        let suites = (0..<2).map { _ in CassetteDefaults(shared: SharedCassettes(isPartial: true)) }
        await withTaskGroup { group in
            for (number, suite) in suites.enumerated() {
                for test in 0..<20 {
                    group.addTask {
                        let task = Task { try await record("test\(number)-\(test)", ["/\(number)/\(test)"], in: suite) }
                        if test.isMultiple(of: 5) { task.cancel() }
                        _ = await task.result
                    }
                }
            }
        }
        let finished = Set(try recorded().flatMap(\.tests))
        let expected = (0..<2).flatMap { number in
            (0..<20).filter { !$0.isMultiple(of: 5) }.map { "test\(number)-\($0)" }
        }
        #expect(finished.isSuperset(of: expected))
    }
}
