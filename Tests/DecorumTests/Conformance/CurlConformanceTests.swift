#if os(Linux)
import Decorum
import DecorumTesting
import Testing

extension IsolatedTests {
    /// libcurl's transport, held to the contract of all transports on each build of libcurl that the machine offers.
    @Suite(.timeLimit(.minutes(3))) struct CurlConformanceTests {
        @Test(arguments: TransportCase.all, CurlBuild.all)
        func `CurlConnection conforms`(rule: TransportCase, build: CurlBuild) async throws {
            let outcome = try await rule.check { conditions in try build.connection(conditions) }
            if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
        }
    }
}
#endif
