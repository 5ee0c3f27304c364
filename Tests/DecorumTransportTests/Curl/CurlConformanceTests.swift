#if os(Linux)
@testable import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Testing

extension IsolatedTests {
    /// libcurl's transport, held to the contract of all transports.
    ///
    /// Builds of libcurl differ in TLS; the further ones run all other cases only with `DECORUM_SOAK=1`.
    @Suite(.timeLimit(.minutes(3))) struct CurlConformanceTests {
        private static let further =
            Footprint.isSoak ? Array(rules) : TransportCase.tls + TransportCase.http2

        private static let rules = TransportCase.all.excluding(
            .refusedExpectation, because: "libcurl hides the content of a 417 from a request with Expect.")

        @Test(arguments: rules, CurlBuild.all.prefix(1))
        func `CurlConnection conforms`(rule: TransportCase, build: CurlBuild) async throws {
            try await check(rule, build)
        }

        @Test(arguments: rules.exclusions)
        func `An exclusion is one that libcurl needs`(
            exclusion: ConformanceSuite<TransportCase>.Exclusion
        ) async throws {
            let build = try #require(CurlBuild.all.first)
            await #expect(throws: ConformanceFailure.self, "“\(exclusion.excluded)” is excluded and met.") {
                _ = try await exclusion.excluded.check { conditions in try build.connection(conditions) }
            }
        }

        @Test(arguments: further, CurlBuild.all.dropFirst())
        func `CurlConnection conforms with a further build`(rule: TransportCase, build: CurlBuild) async throws {
            try await check(rule, build)
        }

        // Unless the app asks for HTTP/2, streams go over HTTP/1.1.
        @Test(
            arguments: [
                TransportCase.wholeUploads, .emptyUploads, .echo, .streamedUpload, .failingUpload, .wrongLength,
                .answerBesideUpload, .earlyAnswer,
            ].map(\.overHTTP2), CurlBuild.all)
        func `CurlConnection conforms with uploads over HTTP/2`(rule: TransportCase, build: CurlBuild) async throws {
            try await check(rule, build, .http2)
        }

        // libcurl 7.88 sometimes forgets on a busy machine that a transfer can continue, often when transfers share
        // connections; several at a time, since it forgets when its thread is interrupted between two transfers.
        @Test(
            arguments: [TransportCase.sharedConnection, .connectionLimit, .fixedLength.overHTTP2],
            CurlBuild.all.prefix(1))
        func `No transfer is forgotten`(rule: TransportCase, build: CurlBuild) async throws {
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { for _ in 0..<(Footprint.isSoak ? 200 : 3) { try await check(rule, build) } }
                }
                try await group.waitForAll()
            }
        }

        @Test(arguments: DeadConnectionChecks.Check.allCases)
        func `Requests that meet the end of a pooled connection are sent again as they may be`(
            check: DeadConnectionChecks.Check
        ) async throws {
            try await DeadConnectionChecks.run(check, over: CurlConnection())
        }

        private func check(
            _ rule: TransportCase, _ build: CurlBuild, _ protocols: CurlConnection.Protocols = .negotiated
        ) async throws {
            let outcome = try await rule.check { conditions in try build.connection(conditions, protocols) }
            if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
        }
    }
}

/// An installed build of libcurl.
struct CurlBuild: Sendable, CustomTestStringConvertible {
    let testDescription: String

    /// The installed ones of Debian's builds with OpenSSL and GnuTLS; the build with NSS does not accept PEM files.
    static let all = CurlLibrary.names
        .filter { name in (try? CurlLibrary([name])) != nil }.map(CurlBuild.init)

    func library() throws -> CurlLibrary { try CurlLibrary([testDescription]) }

    /// Makes the transport for a case of the conformance suite.
    func connection(
        _ conditions: TransportConditions, _ protocols: CurlConnection.Protocols = .negotiated
    ) throws -> CurlConnection {
        var tls = TLSOptions()
        if let root = conditions.root { tls.roots = .file(root) }
        tls.identity = conditions.identity.map { .files(certificate: $0.certificate, key: $0.key) }
        return try CurlConnection(library: library(), protocols: protocols, tls: tls, clock: conditions.clock)
    }
}
#endif
