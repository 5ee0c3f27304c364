import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// The recorded failures that a verified run does not meet, whose retries are not sent then.
@Suite(.timeLimit(.minutes(3))) struct RecoveryTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    /// Sends a request until it is answered well, at most three times; a failure of 0 is one of the connection.
    private func run(_ mode: CassetteMode, failures: [Int], _ text: String) async throws -> Cassette {
        let cassette = try recorder.cassette(mode)
        let left = Mutex(failures)
        let connection = CassetteConnection(
            cassette,
            recording: StubConnection { _ in
                let failure = left.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                if failure == 0 { throw TransportError(.connectionRefused, at: .connecting) }
                return failure.map { Response(status: .init(code: $0)) } ?? TestRecorder.json(text)
            })
        for _ in 1...3 {
            let status = try? await connection.send(.get("https://example.com/flaky")).status
            if status == .ok { break }
        }
        return cassette
    }

    private func record(_ failures: [Int]) async throws {
        try await run(.once, failures: failures, #"{"state":"well"}"#).finish()
    }

    @Test(arguments: [(503, "503"), (0, "connectionRefused")])
    func `A retry that a server without its failure spares is a warning, and keeps its recording`(
        status: Int, failure: String
    ) async throws {
        try await record([status])
        let cassette = try await run(.verify, failures: [], #"{"state":"fine"}"#)
        try await cassette.finish()
        let note = try #require(cassette.noteOfRecovery)
        #expect(note.hasPrefix("The server no longer fails as the cassette "), "\(note)")
        #expect(
            note.contains(
                "\n    the recording holds a failure (\(failure)) that the server does not have now, so its retry (line "
            ),
            "\(note)")
        #expect(note.contains("not sent\nfix: keep the recording; "), "\(note)")
        #expect(!note.contains("CASSETTE=rewrite") && !note.contains("no longer requested"), "\(note)")
    }

    @Test func `All retries of a failure are told together`() async throws {
        try await record([503, 429])
        let cassette = try await run(.verify, failures: [], #"{"state":"fine"}"#)
        try await cassette.finish()
        let note = try #require(cassette.noteOfRecovery)
        #expect(note.contains("a failure (503)") && note.contains("so its 2 retries (lines "), "\(note)")
    }

    @Test func `The answer without the failure is compared with that of the retry`() async throws {
        try await record([503])
        let cassette = try await run(.verify, failures: [], #"{"state":1}"#)
        let error = await #expect(throws: CassetteDriftError.self) { try await cassette.finish() }
        let text = try #require(error).description
        #expect(error?.drifts.count == 2 && text.hasPrefix("The server no longer answers as"), "\(text)")
        #expect(text.contains("\n    $.state  was a string, is a number\n"), "\(text)")
        #expect(text.hasSuffix("records the test anew, but loses the failure that the server does not have now"))
        #expect(cassette.noteOfRecovery == nil)
    }

    @Test(arguments: [404, 401]) func `A request after a lasting error is no retry`(status: Int) async throws {
        try await record([status])
        let cassette = try await run(.verify, failures: [], #"{"state":"fine"}"#)
        let error = await #expect(throws: CassetteDriftError.self) { try await cassette.finish() }
        #expect(error?.description.contains("is recorded, and no longer requested") == true)
    }
}
