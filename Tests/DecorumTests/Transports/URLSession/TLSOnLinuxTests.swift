#if canImport(FoundationNetworking)
import Decorum
import DecorumTesting
import Foundation
import FoundationNetworking
import HTTPTypes
import Testing

extension IsolatedTests {
    /// Servers that are not trusted, or do not speak TLS at all.
    ///
    /// A certificate that is trusted cannot be had here: Linux trusts the system's file of authorities and no other.
    @Suite(
        // The server is the `openssl` of the machine, which is not there everywhere.
        .enabled(if: TLSServer.isAvailable, "There is no openssl on this machine."), .timeLimit(.minutes(1)))
    struct TLSOnLinuxTests {
        @Test(arguments: ["IP:127.0.0.1", "DNS:elsewhere.invalid"])
        func `A certificate that nobody vouches for is told, and nothing was sent`(name: String) async throws {
            let server = try await TLSServer(for: name)
            let request = try Request.post(
                "https://127.0.0.1:\(server.port)/", fields: [.authorization: "s3cret"], body: "s3cret")

            let error = await #expect(throws: TransportError.self) { try await URLSessionConnection().send(request) }
            #expect(error?.code == .tls)
            #expect(error?.stage == .connecting)
            let text = try #require(error?.underlying as? URLError).localizedDescription
            #expect(text.contains("certificate"))
            let output = try await server.output(with: "alert")
            #expect(!output.contains("s3cret"))
        }

        @Test func `A server of TLS that is asked in clear text is told`() async throws {
            let server = try await TLSServer(for: "IP:127.0.0.1")

            let error = await #expect(throws: TransportError.self) {
                try await URLSessionConnection().send(.get("http://127.0.0.1:\(server.port)/"))
            }
            #expect(error.map { [.malformedResponse, .connectionLost].contains($0.code) } == true)
            #expect(error?.stage == .head)
            withExtendedLifetime(server) {}
        }

        @Test func `A server that says nothing in place of TLS is given up after the idle timeout`() async throws {
            let server = try await TLSServer(for: "IP:127.0.0.1")
            server.suspend()
            let clock = VirtualClock()
            let request = try Request.get("https://127.0.0.1:\(server.port)/")
            let task = Task { try await URLSessionConnection(clock: clock).send(request) }

            try await clock.waitForSleepers()
            clock.advance(by: .seconds(60))
            let error = await #expect(throws: TransportError.self) { _ = try await task.value }
            #expect(error?.code == .timedOut)
            withExtendedLifetime(server) {}
        }

        @Test func `URLSession asks no delegate whether it trusts a server`() async throws {
            let server = try await TLSServer(for: "IP:127.0.0.1")
            let delegate = Trusting()
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            defer { session.finishTasksAndInvalidate() }
            session.dataTask(with: try #require(URL(string: "https://127.0.0.1:\(server.port)/"))).resume()

            try await delegate.end.wait()
            #expect(!delegate.challenge.isOpen)
            withExtendedLifetime(server) {}
        }
    }
}

extension IsolatedTests {
    @Suite(.enabled(if: TLSServer.isAvailable, "There is no openssl on this machine."), .timeLimit(.minutes(1)))
    struct TrustOnLinuxTests {
        @Test func `The environment cannot name an authority to trust`() async {
            await #expect(processExitsWith: .success) {
                IsolatedTests.failAfterAMinute()
                let server = try await TLSServer(for: "IP:127.0.0.1")
                for name in ["SSL_CERT_FILE", "CURL_CA_BUNDLE"] {
                    unsafe setenv(name, server.certificate.path, 1)
                }

                let error = await #expect(throws: TransportError.self) {
                    try await URLSessionConnection().send(.get("https://127.0.0.1:\(server.port)/"))
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
