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
        let process = Process()
        process.executableURL = URL(filePath: try #require(recorder))
        process.arguments = [origin.url]
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }

        #expect(status == 0)
        #expect(!origin.requests.isEmpty)
        origin.stop()
    }
}
