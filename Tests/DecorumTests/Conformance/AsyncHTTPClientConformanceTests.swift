#if AsyncHTTPClient
import Decorum
import DecorumTesting
import Foundation
import Testing

/// The transport over AsyncHTTPClient, held to the contract of all transports.
///
/// `DECORUM_SOAK=1` in the environment lets the random cancellation go on for 20 seconds.
@Suite(.timeLimit(.minutes(3))) struct AsyncHTTPClientConformanceTests {
    static let rules = TransportCase.all

    @Test(arguments: rules)
    func `AsyncHTTPClientConnection conforms`(rule: TransportCase) async throws {
        let soak = ProcessInfo.processInfo.environment["DECORUM_SOAK"] == "1" ? 20 : 2
        let outcome = try await rule.check(soaking: .seconds(soak)) { clock in
            AsyncHTTPClientConnection(clock: clock)
        }
        if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
    }
}
#endif
