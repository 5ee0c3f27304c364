#if os(macOS) || os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Many tests at once, as a test suite runs them, over and over.
@Suite(.serialized, .timeLimit(.minutes(Footprint.isSoak ? 30 : 5))) struct CassetteSoakTests {
    static let rounds = Footprint.isSoak ? 100 : 2
    /// Each test reads the one file twice in a round, so a round takes far longer than one with a file for each test.
    static let roundsOnOneFile = Footprint.isSoak ? 30 : 2
    static let testCount = Footprint.isSoak ? 50 : 9
    let folder = TemporaryFolder()

    /// A test of a suite: a few requests, of which some are the same, one after the other and at once.
    private static func perform(_ number: Int, on cassette: Cassette) async throws -> [String] {
        // The posts are under way at the same time.
        let posts = Gate()
        let stub = StubConnection { request in
            if request.head.method == .post { try await posts.wait() }
            return Response(
                status: .ok, fields: [.contentType: "application/json"],
                body: Body(Data(#"{"path":"\#(request.head.path ?? "")","test":\#(number)}"#.utf8)))
        }
        let connection = CassetteConnection(cassette, recording: stub)
        var texts: [String] = []
        for path in ["/login", "/items/\(number)", "/login"] {
            texts.append(
                try await connection.send(.get("https://example.com\(path)?t=\(number)")).body.text(upTo: 1000))
        }
        let more = try await withThrowingTaskGroup(of: String.self) { group in
            for index in 0..<3 {
                group.addTask {
                    let request = try Request.post(
                        "https://example.com/search?t=\(number)", fields: [.contentType: "application/json"],
                        body: Body(Data(#"{"index": \#(index)}"#.utf8)))
                    return try await connection.send(request).body.text(upTo: 1000)
                }
            }
            if cassette.mode != .replay { try await posts.waitForWaiting(3) }
            posts.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        return texts + more.sorted()
    }

    /// Runs all tests at once, each with its own cassette.
    private func run(_ mode: CassetteMode, path: @escaping @Sendable (Int) -> String) async throws -> [[String]] {
        try await withThrowingTaskGroup(of: (Int, [String]).self) { group in
            for number in 0..<Self.testCount {
                group.addTask {
                    let cassette = try Cassette(
                        at: path(number), mode: mode, rules: CassetteRules(unused: .allow), clock: VirtualClock())
                    let texts = try await Self.perform(number, on: cassette)
                    try await cassette.finish()
                    return (number, texts)
                }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    @Test func `Many tests with a cassette each record and replay the same each time`() async throws {
        var files: [String]?
        for round in 0..<Self.rounds {
            let folder = folder
            let path = { @Sendable (number: Int) in folder.path("\(round)/\(number).json") }
            let recorded = try await run(.once, path: path)
            let written = try (0..<Self.testCount).map { try folder.text("\(round)/\($0).json") }
            #expect(written == files ?? written)
            files = written
            #expect(try await run(.replay, path: path) == recorded)
            #expect(try await run(.rewrite, path: path) == recorded)
            #expect(try (0..<Self.testCount).map { try folder.text("\(round)/\($0).json") } == written)
            try FileManager.default.removeItem(atPath: folder.path("\(round)"))
        }
    }

    @Test func `Many tests on one file record and replay the same each time`() async throws {
        var file: String?
        for round in 0..<Self.roundsOnOneFile {
            let path = folder.path("\(round).json")
            // Cassettes that are opened after the first has finished find the file, so they add to it.
            let recorded = try await run(.append) { _ in path }
            let written = try folder.text("\(round).json")
            #expect(written == file ?? written)
            file = written
            #expect(try await run(.replay) { _ in path } == recorded)
            #expect(written.components(separatedBy: #""request""#).count - 1 == 6 * Self.testCount)
        }
    }
}
#endif
