import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// The failures that only one of two runs has: the recorded run or the verified one.
@Suite(.timeLimit(.minutes(3))) struct TransientFailureTests {
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
        let note = try #require(cassette.noteOfFinishedTest)
        #expect(note.hasPrefix("The server has not failed where the cassette "), "\(note)")
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
        let note = try #require(cassette.noteOfFinishedTest)
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
        #expect(cassette.noteOfFinishedTest == nil)
    }

    @Test func `A request after a lasting error is no retry`() async throws {
        try await record([404])
        let cassette = try await run(.verify, failures: [], #"{"state":"fine"}"#)
        let error = await #expect(throws: CassetteDriftError.self) { try await cassette.finish() }
        #expect(error?.description.contains("is recorded, and no longer requested") == true)
    }

    @Test(arguments: [(503, "503"), (0, "connectionRefused")])
    func `A failure of the server that a retry gets over is a warning`(status: Int, failure: String) async throws {
        try await record([])
        let cassette = try await run(.verify, failures: [status], #"{"state":"fine"}"#)
        try await cassette.finish()
        let note = try #require(cassette.noteOfFinishedTest)
        #expect(note.contains(" has no such failure:\n  GET https://example.com/flaky"), "\(note)")
        #expect(
            note.contains("\n    the server has failed (\(failure)), and the recording has no such failure"), "\(note)")
        #expect(note.contains("\nfix: keep the recording; "), "\(note)")
    }

    @Test func `A server that asks to wait has not failed`() async throws {
        try await record([])
        let cassette = try await run(.verify, failures: [429, 429], #"{"state":"fine"}"#)
        try await cassette.finish()
        let note = try #require(cassette.noteOfFinishedTest)
        #expect(
            note.contains("\n    the server has asked to wait 2 times (429), and the recording has no such"), "\(note)")
    }

    @Test func `The answer to the retry is compared with the recorded one`() async throws {
        try await record([])
        let cassette = try await run(.verify, failures: [503, 503], #"{"state":1}"#)
        let error = await #expect(throws: CassetteDriftError.self) { try await cassette.finish() }
        let text = try #require(error).description
        #expect(error?.drifts.count == 2 && text.contains("\n    the server has failed 2 times (503)"), "\(text)")
        #expect(text.contains("\n    $.state  was a string, is a number\n"), "\(text)")
        #expect(!text.contains("sent once more"), "\(text)")
    }

    @Test func `Retries that all fail are told with the failure`() async throws {
        try await record([])
        let cassette = try await run(.verify, failures: [503, 503, 503], "{}")
        let error = await #expect(throws: CassetteDriftError.self) { try await cassette.finish() }
        let text = try #require(error).description
        #expect(error?.drifts.count == 1 && text.contains("status  was 200, is 503, so the server fails"), "\(text)")
        #expect(text.contains("the client has sent it 2 times more, and it was not answered well again"), "\(text)")
    }

    @Test func `A retry that the end of the call cancels is not answered`() async throws {
        try await record([])
        let cassette = try recorder.cassette(.verify)
        let left = Mutex<[any Error]>([TransportError(.deadlineExceeded, at: .head), CancellationError()])
        let connection = CassetteConnection(
            cassette, recording: StubConnection { _ in throw left.withLock { $0.removeFirst() } })
        for _ in 1...2 { _ = try? await connection.send(.get("https://example.com/flaky")) }
        let error = await #expect(throws: CassetteDriftError.self) { try await cassette.finish() }
        let text = try #require(error).description
        #expect(text.contains("outcome  was a response, is deadlineExceeded"), "\(text)")
        #expect(text.contains("the client has sent it once more, and it was not answered well again"), "\(text)")
        #expect(text.contains("\nfix: `CASSETTE=verify swift test` asks the server again when it is well; "), "\(text)")
    }
}
