#if canImport(FoundationNetworking)
import Decorum
import DecorumTesting
import Foundation
import FoundationNetworking
import HTTPTypes
import Testing

extension IsolatedTests {
    /// Servers that are not trusted.
    ///
    /// A certificate that is trusted cannot be had here: Linux trusts the system's file of authorities and no other.
    @Suite(
        // The server is the `openssl` of the machine, which is not there everywhere.
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
                IsolatedTests.failAfterAMinute()
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

/// Opens gates when it is asked for trust, and at the end.
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
