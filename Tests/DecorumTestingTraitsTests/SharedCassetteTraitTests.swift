import Decorum
import DecorumTestingTraits
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Tests that share a cassette, one after the other, when it is written anew.
@Suite struct SharedCassetteTraitTests {
    private let folder = FileManager.default.temporaryDirectory.appending(
        path: "decorum-shared-\(UInt64.random(in: .min ... .max))")

    /// Runs tests of a suite, each of which asks for one path; gives the interactions of their cassette.
    private func runSuite(_ paths: [String], on day: Int, answer: String) async throws -> [Interaction] {
        let test = try #require(Test.current)
        let file = folder.appending(path: "shared.json").path
        let clock = VirtualClock(date: Date(timeIntervalSince1970: Double(day) * 86_400))
        try await CassettesTrait.cassettes(mode: .rewrite).provideScope(for: test, testCase: nil) {
            for path in paths {
                let cassette = try Cassette(at: file, mode: .rewrite, clock: clock)
                let stub = StubConnection { _ in Response(status: .ok, body: Body(Data((path + answer).utf8))) }
                let connection = CassetteConnection(cassette, recording: stub)
                _ = try await connection.send(.get("https://example.com" + path)).body.data(upTo: 100)
                try cassette.finish()
            }
        }
        return try Cassette(at: file, mode: .replay).interactions()
    }

    @Test func `The first replaces the file, the others add to it, and what is the same keeps its day`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = try await runSuite(["/b", "/a", "/old"], on: 1, answer: "")
        #expect(first.map(\.request.url) == ["/a", "/b", "/old"].map { "https://example.com" + $0 })

        let second = try await runSuite(["/b", "/a"], on: 2, answer: "")
        #expect(second == Array(first.prefix(2)))

        let third = try await runSuite(["/a", "/b", "/a"], on: 3, answer: "!")
        #expect(third.map(\.request.url) == ["/a", "/b"].map { "https://example.com" + $0 })
        #expect(third.allSatisfy { $0.recordedAt == Date(timeIntervalSince1970: 3 * 86_400) })
    }
}
