#if os(Linux)
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Testing

extension IsolatedTests {
    /// libcurl 7.88 sometimes forgets on a busy machine that a transfer can continue, often when transfers share connections.
    @Suite(.timeLimit(.minutes(5))) struct CurlForgottenTransferTests {
        private static let rounds = Footprint.isSoak ? 200 : 5

        @Test(
            arguments: [TransportCase.sharedConnection, .connectionLimit, .fixedLength.overHTTP2],
            CurlBuild.all.prefix(1))
        func `No transfer is forgotten`(
            rule: TransportCase, build: CurlBuild
        ) async throws {
            // Several at a time, since libcurl forgets when its thread is interrupted between two transfers.
            let outcomes = try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        var outcomes: [ConformanceOutcome] = []
                        for _ in 0..<Self.rounds { outcomes.append(try await rule.check { try build.connection($0) }) }
                        return outcomes
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            if case .skipped(let reason)? = outcomes.first { try Test.cancel("\(reason)") }
            #expect(outcomes.count == 4 * Self.rounds)
        }
    }
}
#endif
