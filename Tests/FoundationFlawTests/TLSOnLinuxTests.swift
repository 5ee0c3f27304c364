#if canImport(FoundationNetworking)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import FoundationNetworking
import HTTPTypes
import Testing

extension IsolatedTests {
    /// Servers that are not trusted.
    ///
    /// No test can use a certificate that is trusted, since on Linux only the system's file of authorities is.
    @Suite(
        // The server is the machine's `openssl`, which may be missing.
        .enabled(if: SecureServer.missingForTLS == nil, "There is no openssl on this machine."), .timeLimit(.minutes(3))
    )
    struct TLSOnLinuxTests {
        @Test func `URLSession asks no delegate whether it trusts a server`() async throws {
            let server = try await SecureServer.openssl()
            let delegate = Trusting()
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            defer { session.finishTasksAndInvalidate() }
            session.dataTask(with: try #require(URL(string: server.url))).resume()

            try await delegate.end.wait()
            #expect(!delegate.challenge.isOpen)
            withExtendedLifetime(server) {}
        }
    }
}

extension ProcessTests {
    @Suite(
        .enabled(if: SecureServer.missingForTLS == nil, "There is no openssl on this machine."), .timeLimit(.minutes(3))
    )
    struct TrustOnLinuxTests {
        @Test func `The environment cannot name an authority to trust`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let server = try await SecureServer.openssl()
                for name in ["SSL_CERT_FILE", "CURL_CA_BUNDLE"] {
                    unsafe setenv(name, server.root.path, 1)
                }

                let error = await #expect(throws: TransportError.self) {
                    try await URLSessionConnection().send(.get(server.url + "/"))
                }
                #expect(error?.code == .tls)
                withExtendedLifetime(server) {}
            }
        }
    }
}

/// Opens a gate at a challenge, and another at the end.
private final class Trusting: NSObject, URLSessionDataDelegate {
    let challenge = Gate()
    let end = Gate()

    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        self.challenge.open()
        completionHandler(.performDefaultHandling, nil)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        self.challenge.open()
        completionHandler(.performDefaultHandling, nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end.open()
    }
}
#endif
