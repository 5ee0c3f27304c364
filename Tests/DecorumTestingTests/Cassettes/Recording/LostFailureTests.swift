import Decorum
import DecorumTesting
import HTTPTypes
import Synchronization
import Testing

/// The note of a new recording that has lost the failure for which a test was recorded.
@Suite(.timeLimit(.minutes(3))) struct LostFailureTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    /// Sends requests in a mode, each answered with a status.
    private func record(_ mode: CassetteMode, _ exchanges: [(path: String, status: Int)]) async throws -> String? {
        let cassette = try recorder.cassette(mode)
        let left = Mutex(exchanges.map(\.status))
        let connection = CassetteConnection(
            cassette,
            recording: StubConnection { _ in Response(status: .init(code: left.withLock { $0.removeFirst() })) })
        for (path, _) in exchanges { _ = try await connection.send(.get("https://example.com" + path)) }
        try await cassette.finish()
        return cassette.noteOfFinishedTest
    }

    @Test func `A new recording without the failures of the old one is written with a note`() async throws {
        let old = [("/a", 503), ("/a", 429), ("/a", 200), ("/b", 401), ("/b", 200)]
        #expect(try await record(.once, old) == nil)
        let note = try #require(try await record(.rewrite, [("/a", 503), ("/a", 200), ("/b", 200)]))
        #expect(note.hasPrefix("The new recording of ") && note.contains(" has lost failures "), "\(note)")
        #expect(
            note.contains(":\n  GET https://example.com/a  429\n  GET https://example.com/b  401\nfix: restore "),
            "\(note)")
    }

    @Test func `No note tells a failure that the recording still has, that was not repeated, or of another request`()
        async throws
    {
        let old = [("/a", 503), ("/a", 200), ("/b", 503), ("/items/1", 503), ("/items/1", 200)]
        #expect(try await record(.once, old) == nil)
        let new = [("/a", 503), ("/a", 200), ("/b", 200), ("/items/2", 503), ("/items/2", 200)]
        #expect(try await record(.rewrite, new) == nil)
    }
}
