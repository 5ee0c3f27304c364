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

        @Test(arguments: DeadConnectionChecks.Check.allCases)
        func `Requests that meet the end of a pooled connection are sent again as they may be`(
            check: DeadConnectionChecks.Check
        ) async throws {
            try await DeadConnectionChecks.run(check, over: AsyncHTTPClientConnection())
        }

        @Test func `The layer decodes and encodes all content`() async throws {
            let connection = AsyncHTTPClientConnection()
            try await CodingChecks(connection).checkAnswers()
            try await CodingChecks(connection).checkTruncatedMessage()
            try await CodingChecks(connection).checkTruncatedCoding()
            try await CodingChecks(connection).checkBomb()
            try await CodingChecks(connection).checkRequests()
        }
    }
}

extension ProcessTests {
    /// The resources that the transport takes, each measured in a process of its own.
    @Suite(.timeLimit(.minutes(10))) struct AsyncHTTPClientEnduranceTests {
        @Test(arguments: EnduranceChecks.Check.allCases)
        func `The transport takes no more than it needs`(check: EnduranceChecks.Check) async {
            await #expect(processExitsWith: .success) { [check] in
                try await EnduranceChecks.run(check) { AsyncHTTPClientConnection() }
            }
        }
    }
}

/// The texts of errors, as a developer meets them.
@Suite(.timeLimit(.minutes(3))) struct ErrorTextTests {
    @Test func `The texts of AsyncHTTPClientConnection match the golden file`() async throws {
        var texts = ErrorTexts("AsyncHTTPClientConnection")
        let failures = TransportFailures { clock, root in try .make(clock: clock, root: root) }
        try await failures.addPlain(to: &texts)
        try await failures.addUntrusted(to: &texts)
        try await failures.addTrusted(to: &texts)
        try texts.check()
    }
}

extension Connection where Self == AsyncHTTPClientConnection {
    /// Makes the transport that a case of the conformance suite asks for.
    fileprivate static func make(_ conditions: TransportConditions) throws -> AsyncHTTPClientConnection {
        try make(clock: conditions.clock, root: conditions.root, identity: conditions.identity)
    }

    fileprivate static func make(
        clock: any DatedClock, root: URL?, identity: TransportConditions.Identity? = nil
    ) throws -> AsyncHTTPClientConnection {
        var tls = TLSConfiguration.makeClientConfiguration()
        if let root { tls.trustRoots = .file(root.path) }
        if let identity {
            let certificates = try NIOSSLCertificate.fromPEMFile(identity.certificate.path)
            tls.certificateChain = certificates.map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(file: identity.key.path, format: .pem))
        }
        var configuration = AsyncHTTPClientConnection.configuration()
        configuration.tlsConfiguration = tls
        return AsyncHTTPClientConnection(configuration: configuration, clock: clock)
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
                because: "Of far more requests at once than a server of HTTP/2 allows streams, some stand still."
            )
            .excluding(
                .randomCancellation.overHTTP2,
                because: "Beside cancelled ones, a request stood still once in some hundreds of thousands.")
    }
}
#endif
