import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct TransportErrorTextTests {
    private static let codes: [TransportError.Code] = [
        .connectionRefused, .hostNotFound, .unreachable, .timedOut, .deadlineExceeded, .connectionLost, .truncated,
        .malformedResponse,
        .tls, .undecodableContent, .unreadableBody, .expectationFailed, .proxyRefused, .limitExceeded, .closed, .other,
        .init("ofAnApp"),
    ]

    @Test(arguments: codes) func `Each code has a text of one or two sentences`(code: TransportError.Code) throws {
        var texts: Set<String> = []
        for stage in [TransportError.Stage.connecting, .head, .body] {
            var error = TransportError(code, at: stage)
            texts.insert(error.description)
            error.origin = try Origin("https://api.example.com")
            error.elapsed = .milliseconds(12)
            #expect(error.description.contains("api.example.com"))
            texts.insert(error.description)
            error.detail = "words of a platform."
            error.attempts = 3
            #expect(error.description.hasSuffix(" The request was tried 3 times."))
            texts.insert(error.description)
        }
        for text in texts {
            #expect(text.first?.isUppercase == true && text.hasSuffix("."))
            #expect(!text.contains("..") && !text.contains("  ") && !text.contains(" ,") && !text.contains(".”"))
            #expect(text.components(separatedBy: ". ").count <= 3, "\(text)")
        }
    }

    @Test func `An error that knows its server keeps it`() throws {
        let refused = TransportError(.connectionRefused, at: .connecting)
        let near = TransportError.locate(refused, at: try Origin("https://proxy.example"), after: .seconds(1))
        let far = TransportError.locate(near, at: try Origin("https://api.example.com"), after: .seconds(2))
        #expect("\(far)".contains("proxy.example:443 was refused after 1.00 s."))
    }

    @Test(arguments: [
        (10, 60, "The deadline of one attempt of the request"), (60, 60, "The deadline of the call"),
        (10, 9.99, "The deadline of the request"),
    ])
    func `A passed deadline says whose it was: that of an attempt, of the call or of the request`(
        attempt: Double, own: Double, event: String
    ) async throws {
        let clock = VirtualClock()
        let stub = StubConnection { _ in throw TransportError(.deadlineExceeded, at: .head) }
        let connection = stub.limitingTime(.init(.seconds(attempt)), as: .attempt, clock: clock)
            .limitingTime(TimePolicy(call: .seconds(30)), clock: clock)
        var request = try Request.get("https://api.example.com/")
        request.options.deadline = clock.now + .seconds(own)
        let error = await #expect(throws: TransportError.self) { try await connection.send(request) }
        #expect(error?.description.hasPrefix(event) == true)
    }

    @Test func `Words of a platform are cut to one line without secrets`() {
        var error = TransportError(.tls, at: .connecting)
        error.detail =
            "failed for https://me:s3cret@a.example/?token=s3cret\r\nGET /\u{1B}[2J"
            + String(repeating: "x", count: 999)
        var dumped = ""
        dump(error, to: &dumped)
        for text in ["\(error)", String(reflecting: error), error.localizedDescription, dumped] {
            #expect(!text.contains("s3cret") && !text.contains("\u{1B}"))
            #expect(text.contains("https://REDACTED@a.example/?token=REDACTED GET /"))
        }
        #expect(!"\(error)".contains("\n"))
        #expect("\(error)".utf8.count < 400)
    }

    @Test func `A character of many bytes does not pass the bound, and no character turns the line`() {
        var error = TransportError(.other, at: .head)
        error.detail = "a" + String(repeating: "\u{301}", count: 30_000)
        #expect("\(error)".utf8.count < 300)
        error.detail = "a\u{202E}b"
        #expect("\(error)".contains("(“a b”)"))
    }

    private struct LeakyError: Error, CustomStringConvertible {
        let description = "s3cret"
    }

    @Test func `Content that cannot be read shows a reason only where it is safe`() {
        let reasons: [(any Error, String)] = [
            (LeakyError(), "LeakyError"),
            (BodyLengthError(), "The body does not have as many bytes as its length says"),
        ]
        for (reason, text) in reasons {
            let error = TransportError(.unreadableBody, at: .head, underlying: reason)
            #expect(error.description == "The content of the request to the server could not be read: \(text).")
        }
    }

    // The words of libraries as they were seen, or as their sources have them.
    @Test(
        arguments: [
            ("SSL certificate problem: unable to get local issuer certificate", .untrusted),
            ("SSL certificate problem: self-signed certificate in certificate chain", .untrusted),
            ("server certificate verification failed. CAfile: none CRLfile: none", .unverified),
            ("The certificate issuer is unknown", .untrusted),
            ("SSL certificate problem: certificate has expired", .expired),
            ("server verification failed: certificate has expired.", .expired),
            ("SSL certificate problem: certificate is not yet valid", .notYetValid),
            ("SSL: no alternative certificate subject name matches target host name 'a.example'", .wrongName),
            ("SSL: certificate subject name 'b.example' does not match target host name 'a.example'", .wrongName),
            ("NIOSSLExtraError.failedToValidateHostname: Couldn't find a.example in certificate", .wrongName),
            ("SSL: public key does not match pinned public key", .wrongKey),
            ("OpenSSL/3.0.19: error:0A00010B:SSL routines::wrong version number", .noTLS),
            ("gnutls_handshake() failed: An unexpected TLS packet was received.", .noTLS),
            ("sslv3 alert handshake failure", .refused),
            ("tlsv13 alert certificate required", .refused),
            ("gnutls_handshake() failed: A TLS fatal alert has been received: Certificate is required", .refused),
            ("could not load PEM client certificate from a.pem", .unusableIdentity),
            ("certificate verify failed", .unverified),
            ("certificate verify failed for alertmanager.corp", .unverified),
            ("SSL_ERROR_SYSCALL in connection to expired.example:443", nil),
            ("OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to alert:443", nil),
            ("certificate subject name 'expired' does not match target host name 'alert'", .wrongName),
            ("certificate subject name (expired.example) does not match target host name 'alert'", .wrongName),
            ("unable to get local issuer certificate of self-signed-alert.expired.example:8443", .untrusted),
            ("certificate of alerting.example: certificate has expired", .expired),
            ("SSL certificate problem: alertness", nil),
            ("something else", nil),
        ] as [(String, TransportError.TLSProblem?)])
    func `Words of TLS libraries name the problem`(words: String, problem: TransportError.TLSProblem?) {
        #expect(TransportError.TLSProblem(words: words) == problem)
    }
}
