#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import DecorumAsyncHTTPClient
import DecorumTestSupport
import Foundation
import NIOSSL
import Testing

/// The texts of errors, as a developer meets them.
@Suite(.timeLimit(.minutes(3))) struct ErrorTextTests {
    @Test func `The texts of AsyncHTTPClientConnection are those of the golden file`() async throws {
        var texts = ErrorTexts("AsyncHTTPClientConnection")
        let failures = TransportFailures { clock, root in
            var tls = TLSConfiguration.makeClientConfiguration()
            if let root { tls.trustRoots = .file(root.path) }
            var configuration = AsyncHTTPClientConnection.configuration()
            configuration.tlsConfiguration = tls
            return AsyncHTTPClientConnection(configuration: configuration, clock: clock)
        }
        try await failures.addPlain(to: &texts)
        try await failures.addUntrusted(to: &texts)
        try await failures.addTrusted(to: &texts)
        try texts.check()
    }
}
#endif
