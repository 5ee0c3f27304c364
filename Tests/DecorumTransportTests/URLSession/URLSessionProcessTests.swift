#if canImport(FoundationNetworking)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension ProcessTests {
    /// Failures that need an environment or descriptors of their own, and therefore their own process.
    @Suite(.timeLimit(.minutes(3))) struct URLSessionProcessTests {
        @Test func `A proxy that refuses to connect is reported as such, at the stage of connecting`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let proxy = try LoopbackOrigin()
                proxy.route(nil, "*", .script(.raw("HTTP/1.1 407 Who\r\nContent-Length: 2\r\n\r\nno")))
                unsafe setenv("https_proxy", proxy.url, 1)
                unsafe unsetenv("no_proxy")
                unsafe unsetenv("NO_PROXY")

                let error = await #expect(throws: TransportError.self) {
                    try await URLSessionConnection().send(.get("https://decorum.invalid/"))
                }
                #expect(error?.code == .proxyRefused)
                #expect(error?.stage == .connecting)
            }
        }

        @Test func `A process without free descriptors fails with a limit, at the stage of connecting`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let origin = try LoopbackOrigin()
                let connection = URLSessionConnection()
                var held: [Int32] = []
                while let descriptor = Optional(dup(0)), descriptor >= 0 { held.append(descriptor) }

                let error = await #expect(throws: TransportError.self) {
                    try await connection.send(.post(origin.url + "/", body: "hello"))
                }
                for descriptor in held { close(descriptor) }
                #expect(error?.code == .limitExceeded)
                #expect(error?.stage == .connecting)
            }
        }
    }
}
#endif
