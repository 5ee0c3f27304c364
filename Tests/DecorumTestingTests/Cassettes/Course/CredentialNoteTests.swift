import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// A recording answers a request without its credentials too, and the test is told.
@Suite struct CredentialNoteTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A cassette whose requests to `/0`, `/1` and so on were recorded with some values of `Authorization`, behind a refresh.
    private func cassette(_ values: String?...) throws -> Cassette {
        let interactions = values.enumerated().map { number, value in
            let fields = value.map { #", "headers": {"Authorization": "\#($0)"}"# } ?? ""
            return #"{"request": {"method": "GET", "url": "https://example.com/\#(number)"\#(fields)},"#
                + #" "response": {"status": 200, "text": "a"}}"#
        }
        let refresh =
            #"{"request": {"method": "POST", "url": "https://example.com/refresh", "text": "Redacted2AAAAAAAA"},"#
            + #" "response": {"status": 200, "text": "a"}}"#
        let list = (interactions + [refresh]).joined(separator: ",\n")
        try folder.write("{\"cassette\": 1, \"interactions\": [\n\(list)]}", to: "a.json")
        return try Cassette(at: folder.path("a.json"), mode: .replay, rules: CassetteRules(unused: .allow))
    }

    private func send(_ values: String?..., to cassette: Cassette) async throws {
        for (number, value) in values.enumerated() {
            let fields: HTTPFields = value.map { [.authorization: $0] } ?? [:]
            _ = try await CassetteConnection(cassette)
                .send(.get("https://example.com/\(number)", fields: fields))
        }
    }

    private static let access = "Bearer Redacted1AAAAAAAA"
    private static let refresh = "Bearer Redacted2AAAAAAAA"

    @Test func `A request that has lost its credentials is told, and the test passes`() async throws {
        let cassette = try cassette(Self.access, nil, Self.access)
        try await send(Self.access, nil, nil, to: cassette)
        let note = try #require(cassette.notesOfPassedTest.first)
        #expect(cassette.notesOfPassedTest.count == 1)
        #expect(note.hasPrefix("1 request differs from the recording of "))
        #expect(note.contains("a.json in `Authorization`. Requests are matched without credentials"))
        #expect(note.contains("\n  GET https://example.com/2 (line 4) was recorded with it, and has none now\nfix: "))
        try await cassette.finish()
    }

    @Test func `A placeholder that recorded requests have elsewhere alone is told`() async throws {
        let cassette = try cassette(Self.access, Self.access)
        try await send(Self.access, Self.refresh, to: cassette)
        let note = try #require(cassette.notesOfPassedTest.first)
        #expect(
            note.contains("\n  GET https://example.com/1 (line 3) has a secret that recorded requests have elsewhere"))
    }

    @Test func `A token that was refreshed earlier or later, or that only this machine has, is no difference`()
        async throws
    {
        let early = try cassette(Self.access, Self.access, Self.refresh, "Redacted3AAAAAAAA", Self.access)
        try await send(
            Self.access, Self.refresh, Self.refresh, "a key of this machine", "Bearer Redacted4AAAAAAAA", to: early)
        #expect(early.notesOfPassedTest.isEmpty)
    }

    @Test func `A server that plays a cassette notes the credentials of its clients`() async throws {
        let cassette = try cassette(Self.access, Self.access)
        let origin = try LoopbackOrigin(playing: cassette)
        defer { origin.stop() }
        for (number, fields) in [[.authorization: Self.access], [:] as HTTPFields].enumerated() {
            _ = try await SystemConnection().send(.get("\(origin.url)/\(number)", fields: fields))
        }
        let note = try #require(cassette.notesOfPassedTest.first)
        #expect(note.hasPrefix("1 request differs") && note.contains("example.com/1 (line 3) was recorded with it"))
    }

    @Test func `Credentials that were not recorded, and requests that were not sent, are no difference`() async throws {
        let cassette = try cassette(nil, Self.access)
        try await send(Self.access, to: cassette)
        #expect(cassette.notesOfPassedTest.isEmpty)
    }

    @Test func `Unused requests for a token are told with the credentials that are lost`() async throws {
        try folder.write(
            """
            {"cassette": 1, "interactions": [
            {"request": {"method": "POST", "url": "https://example.com/token"},
             "response": {"status": 200, "json": {"access_token": "Redacted1AAAAAAAA"}}},
            {"request": {"method": "GET", "url": "https://example.com/0", "headers": {"Authorization": "\(Self.access)"}},
             "response": {"status": 200, "text": "a"}}]}
            """, to: "a.json")
        let cassette = try Cassette(at: folder.path("a.json"), mode: .replay)
        try await send(nil, to: cassette)
        let error = await #expect(throws: UnusedInteractionsError.self) { try await cassette.finish() }
        let text = try #require(error).description
        #expect(text.contains("\nfix: the client asks for no token, since it sends no credentials; "), "\(text)")
    }

    @Test func `The tests of a suite list their requests once`() async throws {
        _ = try cassette(Self.access)
        let shared = SharedCassettes(isPartial: false)
        var notes: [String] = []
        for test in ["one", "two"] {
            let cassette = try Cassette(
                at: folder.path("a.json"), mode: .replay, rules: CassetteRules(unused: .allow), clock: SystemClock(),
                suite: shared, isNamed: true, test: test)
            try await send(nil, to: cassette)
            notes += cassette.notesOfPassedTest
        }
        #expect(notes.count == 2 && notes[0].contains("(line 2) was recorded with it"), "\(notes)")
        #expect(notes.last?.hasSuffix(" in `Authorization`, as in a test before. That test names the remedy.") == true)
    }

    @Test func `A kind of difference that no test of the suite has told is told in full`() async throws {
        _ = try cassette(Self.access)
        let shared = SharedCassettes(isPartial: false)
        var notes: [String] = []
        let courses: [(String, String?)] = [("one", nil), ("two", Self.refresh), ("three", Self.refresh)]
        for (test, value) in courses {
            let cassette = try Cassette(
                at: folder.path("a.json"), mode: .replay, rules: CassetteRules(unused: .allow), clock: SystemClock(),
                suite: shared, isNamed: true, test: test)
            try await send(value, to: cassette)
            notes += cassette.notesOfPassedTest
        }
        try #require(notes.count == 3, "\(notes)")
        #expect(notes[1].contains("(line 2) has a secret that recorded requests have elsewhere\nfix: "), "\(notes[1])")
        #expect(notes[2].hasSuffix(", as in a test before. That test names the remedy."), "\(notes[2])")
    }

    @Test func `A test without a suite lists three requests`() async throws {
        let cassette = try cassette(Self.access, Self.access, Self.access, Self.access, Self.access)
        try await send(nil, nil, nil, nil, nil, to: cassette)
        let note = try #require(cassette.notesOfPassedTest.first)
        #expect(note.hasPrefix("5 requests differ from the recording of "))
        #expect(note.contains("example.com/2 (line 4) was recorded with it, and has none now\n  and 2 more\nfix: "))
    }

    @Test func `A request for a token is looked for in the file that another test of the suite has written`()
        async throws
    {
        let interactions = [("a", "a"), ("z", "gone")].map { path, test in
            #"{"request": {"method": "GET", "url": "https://example.com/\#(path)"},"#
                + #" "response": {"status": 200, "text": "a"}, "tests": ["\#(test)"]}"#
        }
        try folder.write(
            "{\"cassette\": 1, \"interactions\": [\n\(interactions.joined(separator: ",\n"))]}", to: "a.json")
        let shared = SharedCassettes(isPartial: false)
        let courses: [(String, CassetteMode)] = [("a", .replay), ("b", .once)]
        for (test, mode) in courses {
            let cassette = try CassetteDefaults(shared: shared).cassette(
                at: folder.path("a.json"), rules: nil, mode: mode, test: test)
            let connection = CassetteConnection(cassette, recording: StubConnection(Response(status: .ok)))
            _ = try await connection.send(.get("https://example.com/\(test)"))
            try await cassette.finish()
        }
        // The interaction now has a place that the file did not have when the first test opened it.
        let text = try #require(shared.unused().first).description
        #expect(text.contains("GET https://example.com/z") && text.contains("fix: gone did not run; "), "\(text)")
    }

    @Test func `A test that has failed is told of lost credentials too`() async throws {
        let cassette = try cassette(Self.access)
        try await send(nil, to: cassette)
        var notes: [String] = []
        await cassette.reportFailedTest(shown: []) {
            Issue.record($0)
        } noting: {
            notes.append($0)
        }
        #expect(notes.count == 1 && notes.first?.contains("(line 2) was recorded with it") == true, "\(notes)")
    }
}
