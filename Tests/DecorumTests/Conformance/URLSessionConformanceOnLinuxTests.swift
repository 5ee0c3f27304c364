#if canImport(FoundationNetworking)
import Decorum
import DecorumTesting
import Foundation
import Testing

extension IsolatedTests {
    /// URLSession's transport on Linux, held to the contract of all transports.
    ///
    /// `DECORUM_SOAK=1` in the environment lets the random cancellation go on for 20 seconds.
    @Suite(.timeLimit(.minutes(3))) struct URLSessionConformanceOnLinuxTests {
        static let rules = TransportCase.all.excludingCrashesOfURLSession.excludingLimitationsOfURLSession

        @Test(arguments: rules)
        func `URLSessionConnection conforms`(rule: TransportCase) async throws {
            let soak = ProcessInfo.processInfo.environment["DECORUM_SOAK"] == "1" ? 20 : 2
            let outcome = try await rule.check(soaking: .seconds(soak)) { clock in URLSessionConnection(clock: clock) }
            if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
        }

        @Test(arguments: TransportCase.all.excludingLimitationsOfURLSession.exclusions)
        func `An exclusion is one that the platform needs`(exclusion: ConformanceSuite<TransportCase>.Exclusion) async {
            await #expect(throws: (any Error).self, "\(exclusion)") {
                try await exclusion.excluded.check { clock in URLSessionConnection(clock: clock) }
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
        excluding(.requestLines, because: "Fields go out in no order, and repeats as one list.")
            .excluding(.oddTargets, because: "Dot segments are taken out of a path, and odd characters encoded.")
            .excluding(.methodCase, because: "The methods that it knows are sent in capitals.")
            .excluding(.requestTrailers, because: "A request has no trailer fields.")
            .excluding(.streamedUpload, .interleaving, because: "A stream is read to its end before it is sent.")
            .excluding(.responseLines, because: "Fields come sorted, their names capitalized, and repeats as one list.")
            .excluding(.reasonPhrases, because: "The reason phrase is lost.")
            .excluding(.oddBytes, because: "A field that is not UTF-8 fails the response.")
            .excluding(.terseHeads, because: "A head with bare line feeds, or without blanks, fails the response.")
            .excluding(.redirectionsToNowhere, because: "The body of a redirection without a usable Location is lost.")
            .excluding(.unknownCodings, because: "A coding that libcurl does not know fails the response.")
            .excluding(.backPressure, because: "There is no way to slow a server down.")
            .excluding(
                .deadConnectionWithoutContent,
                because: "A request without content is sent again in silence when a pooled connection is dead.")
    }
}
#endif
