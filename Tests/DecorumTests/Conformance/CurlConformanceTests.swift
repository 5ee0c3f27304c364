#if os(Linux)
import Decorum
import DecorumTesting
import Foundation
import Testing

extension IsolatedTests {
    /// libcurl's transport, held to the contract of all transports.
    @Suite(.timeLimit(.minutes(3))) struct CurlConformanceTests {
        @Test(arguments: TransportCase.all)
        func `CurlConnection conforms`(rule: TransportCase) async throws {
            let soak = ProcessInfo.processInfo.environment["DECORUM_SOAK"] == "1" ? 20 : 2
            let outcome = try await rule.check(soaking: .seconds(soak)) { clock in try CurlConnection(clock: clock) }
            if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
        }
    }
}
#endif
