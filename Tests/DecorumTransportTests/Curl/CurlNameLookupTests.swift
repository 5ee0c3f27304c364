#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension ProcessTests {
    /// The effect of a slow name lookup on other exchanges.
    @Suite(.timeLimit(.minutes(3))) struct CurlNameLookupTests {
        @Test(.enabled("only a superuser can replace the name server") { await SilentNameServer.isPossible() })
        func `A name lookup without a response does not delay other exchanges`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let origin = try LoopbackOrigin()
                origin.route(nil, "*", "ok")
                let names = try SilentNameServer()
                let connection = try CurlConnection()
                let lookup = Task { try await connection.send(.get("http://silent.test/")) }
                await names.waitForQuestion()

                lookup.cancel()
                await #expect(throws: CancellationError.self) { try await lookup.value }
                let start = ContinuousClock.now
                let response = try await connection.send(.get(origin.url + "/"))

                #expect(try await response.body.text(upTo: 10) == "ok")
                #expect(start.duration(to: .now) < .seconds(8))
            }
        }
    }
}
#endif
