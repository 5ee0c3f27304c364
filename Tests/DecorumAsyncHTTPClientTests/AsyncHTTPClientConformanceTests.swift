#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import DecorumAsyncHTTPClient
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import NIOSSL
import Testing

extension IsolatedTests {
    /// The transport over AsyncHTTPClient, checked with the contract of all transports.
    @Suite(.timeLimit(.minutes(3))) struct AsyncHTTPClientConformanceTests {
        @Test(arguments: TransportCase.all.excludingLimitationsOfAsyncHTTPClient.excludingAccidentsOfAsyncHTTPClient)
        func `AsyncHTTPClientConnection conforms`(rule: TransportCase) async throws {
            let outcome = try await rule.check { conditions in try .make(conditions) }
            if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
        }

        @Test(arguments: TransportCase.all.excludingLimitationsOfAsyncHTTPClient.exclusions)
        func `An exclusion is one that AsyncHTTPClient needs`(
            exclusion: ConformanceSuite<TransportCase>.Exclusion
        ) async throws {
            let outcome: ConformanceOutcome
            do {
                outcome = try await exclusion.excluded.check { conditions in try .make(conditions) }
            } catch {
                return
            }
            if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
            Issue.record("“\(exclusion.excluded)” is excluded and met.")
        }
    }
}

extension Connection where Self == AsyncHTTPClientConnection {
    /// Makes the transport that a case of the conformance suite asks for.
    fileprivate static func make(_ conditions: TransportConditions) throws -> AsyncHTTPClientConnection {
        var tls = TLSConfiguration.makeClientConfiguration()
        if let root = conditions.root { tls.trustRoots = .file(root.path) }
        if let identity = conditions.identity {
            let certificates = try NIOSSLCertificate.fromPEMFile(identity.certificate.path)
            tls.certificateChain = certificates.map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(file: identity.key.path, format: .pem))
        }
        var configuration = AsyncHTTPClientConnection.configuration()
        configuration.tlsConfiguration = tls
        return AsyncHTTPClientConnection(configuration: configuration, clock: conditions.clock)
    }
}

extension ConformanceSuite<TransportCase> {
    fileprivate var excludingLimitationsOfAsyncHTTPClient: Self {
        excluding(.informational, because: "AsyncHTTPClient does not hand out informational responses.")
            .excluding(.responseTrailers, because: "AsyncHTTPClient does not hand out trailer fields.")
            .excluding(.requestTrailers, because: "AsyncHTTPClient sends no trailer fields.")
            .excluding(.oddTargets, because: "What may not stand in a URL is percent-encoded.")
            .excluding(.reasonPhrases, because: "A reason phrase becomes the usual one of its status.")
            .excluding(.oddBytes, because: "Bytes of a field that are not UTF-8 become replacement characters.")
            .excluding(.foldedFields, because: "SwiftNIO refuses a field that is folded over two lines.")
            .excluding(.terseHeads, because: "SwiftNIO refuses a head with bare line feeds.")
    }

    fileprivate var excludingAccidentsOfAsyncHTTPClient: Self {
        excluding(.lowStatus, because: "A status below 100 ends the process.")
            .excluding(
                .requestBesideWaitingBytes,
                because: "A request on a pooled connection whose waiting bytes were not read yet fails."
            )
            .excluding(
                .closedIdle,
                because: "A request that meets a pooled connection while the server closes it fails."
            )
            .excluding(
                .thousand.overHTTP2,
                because: "Of far more requests at once than a server of HTTP/2 allows streams, some stand still.")
    }
}
#endif
