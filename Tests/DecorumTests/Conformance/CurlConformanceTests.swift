#if os(Linux)
import Decorum
import DecorumTesting
import Testing

extension IsolatedTests {
    /// libcurl's transport, held to the contract of all transports.
    ///
    /// What builds of libcurl differ in is TLS: the further ones are held to all of it with `DECORUM_SOAK=1` alone.
    @Suite(.timeLimit(.minutes(3))) struct CurlConformanceTests {
        private static let further =
            Footprint.isSoak ? Array(TransportCase.all) : TransportCase.tls + TransportCase.http2

        @Test(arguments: TransportCase.all, CurlBuild.all.prefix(1))
        func `CurlConnection conforms`(rule: TransportCase, build: CurlBuild) async throws {
            try await check(rule, build)
        }

        @Test(arguments: further, CurlBuild.all.dropFirst())
        func `CurlConnection conforms with a further build`(rule: TransportCase, build: CurlBuild) async throws {
            try await check(rule, build)
        }

        private func check(_ rule: TransportCase, _ build: CurlBuild) async throws {
            let outcome = try await rule.check { conditions in try build.connection(conditions) }
            if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
        }
    }
}
#endif
