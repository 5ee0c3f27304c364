import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)

extension IsolatedTests {
    /// URLSession's transport on Linux, held to the contract of all transports.
    @Suite(.timeLimit(.minutes(3))) struct URLSessionConformanceTests {
        static let rules = TransportCase.all.excludingCrashesOfURLSession.excludingLimitationsOfURLSession
            .excluding(TransportCase.http2, because: "HTTP/2 takes TLS, and the system's certificates decide.")

        @Test(arguments: rules)
        func `URLSessionConnection conforms`(rule: TransportCase) async throws {
            let outcome = try await rule.check { conditions in URLSessionConnection(clock: conditions.clock) }
            if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
        }

        @Test(.enabled(if: Footprint.isSoak, "DECORUM_SOAK is not set"))
        func `Each exclusion is one that the platform needs`() async throws {
            try await TransportCase.all.excludingLimitationsOfURLSession.exclusions.forEach(atMost: 8) { exclusion in
                let outcome: ConformanceOutcome
                do {
                    outcome = try await exclusion.excluded.check { conditions in
                        URLSessionConnection(clock: conditions.clock)
                    }
                } catch {
                    return
                }
                if outcome == .met { Issue.record("“\(exclusion.excluded)” is excluded and met.") }
            }
        }
    }
}

extension ConformanceSuite<TransportCase> {
    fileprivate var excludingCrashesOfURLSession: Self {
        excluding(
            .responseTrailers, .cutHead,
            because: "Trailer fields, and a connection that ends within the head, end the process."
        )
        .excluding(
            .randomCancellation,
            because: "Closing many sockets at once ends the process now and then, in a source of libdispatch's.")
    }

    fileprivate var excludingLimitationsOfURLSession: Self {
        excluding(
            .trustedServer, .clientCertificate,
            because: "The system's certificates decide, and no client certificate can be set."
        )
        .excluding(.requestLines, because: "Fields go out in no order, and repeats as one list.")
        .excluding(.oddTargets, because: "Dot segments are taken out of a path, and odd characters encoded.")
        .excluding(.methodCase, because: "The methods that it knows are sent in capitals.")
        .excluding(.requestTrailers, because: "A request has no trailer fields.")
        .excluding(
            .streamedUpload, .interleaving, .heldUpload, .idleBesideProducer, .answerBesideUpload, .answerBeforeReset,
            because: "A stream is read to its end before it is sent."
        )
        .excluding(
            .refusedExpectation, because: "After a 417, libcurl drops the answer and sends again without Expect."
        )
        .excluding(.responseLines, because: "Fields come sorted, their names capitalized, and repeats as one list.")
        .excluding(.reasonPhrases, because: "The reason phrase is lost.")
        .excluding(.oddBytes, because: "A field that is not UTF-8 fails the response.")
        .excluding(.foldedFirstLine, because: "A head that starts with a fold fails as something unknown.")
        .excluding(
            .waitingBytes, .requestBesideWaitingBytes,
            because: "Bytes that wait on an idle connection are taken for the next answer."
        )
        .excluding(.terseHeads, because: "A head with bare line feeds, or without blanks, fails the response.")
        .excluding(.redirectionsToNowhere, because: "The body of a redirection without a usable Location is lost.")
        .excluding(.unknownCodings, because: "A coding that libcurl does not know fails the response.")
        .excluding(.backPressure, because: "There is no way to slow a server down.")
        .excluding(
            .deadConnectionWithoutContent,
            because: "A request without content is sent again in silence when a pooled connection is dead.")
    }
}
#else
/// URLSession's transport on Apple's systems, held to the cases that need no exclusion there.
@Suite(.timeLimit(.minutes(3))) struct URLSessionConformanceTests {
    static let rules: [TransportCase] = [
        .announcedUploads, .methodsWithContent, .fileUploads, .earlyAnswer, .brokenUpload, .lineBreaks, .metadata,
        .invalidRequests,
    ]

    // A stream is opened once its connection is made, so that a transport whose only body fails has made one.
    @Test(arguments: rules + [.close, .cancelledClose, .cancelAll, .cancelAllOfClosed, .lettingGo, .outliving])
    func `URLSessionConnection conforms`(rule: TransportCase) async throws {
        let outcome = try await rule.check { conditions in URLSessionConnection(clock: conditions.clock) }
        if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
    }

    @Test(arguments: rules + [.cancelAll, .outliving])
    func `A connection over a session of the app conforms`(rule: TransportCase) async throws {
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let outcome = try await rule.check { conditions in
            try URLSessionConnection(session: session, clock: conditions.clock)
        }
        if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
    }
}
#endif
