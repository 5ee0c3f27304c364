#if CassetteImport
import DecorumTesting
import Foundation
import Testing

/// The program that records, which gets the start of every URL as its argument.
private let recorder = ProcessInfo.processInfo.environment["DECORUM_RECORDER"]

/// Has other tools record the cassettes in `Fixtures/cassettes`, where the environment asks for it.
@Suite(
    .enabled(if: recorder != nil, "DECORUM_RECORDER names no program that records"),
    .timeLimit(.minutes(15)))
struct OtherRecordersTests {
    @Test func `Other tools record the answers of the origin`() async throws {
        let origin = try LoopbackOrigin.forRecorders()
        _ = try await RunningScript.output(of: "\(RunningScript.quoted(try #require(recorder))) \(origin.url)")
        #expect(!origin.requests.isEmpty)
        origin.stop()
    }
}
#endif
