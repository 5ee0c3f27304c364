#if os(Linux)
@testable import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Each cause of a failure as a table, and with real sockets where the conformance suite is less precise.
@Suite(.timeLimit(.minutes(3))) struct CurlFailureTests {
    static let table: [(failure: CurlFailure, code: TransportError.Code)] = [
        (CurlFailure(code: 5, stage: .connecting), .hostNotFound),
        (CurlFailure(code: 6, stage: .connecting), .hostNotFound),
        (CurlFailure(code: 7, stage: .connecting), .connectionRefused),
        (CurlFailure(code: 7, stage: .connecting, systemError: ECONNREFUSED), .connectionRefused),
        (CurlFailure(code: 7, stage: .connecting, systemError: ENOENT), .connectionRefused),
        (CurlFailure(code: 7, stage: .connecting, systemError: EHOSTUNREACH), .unreachable),
        (CurlFailure(code: 7, stage: .connecting, systemError: ENETUNREACH), .unreachable),
        (CurlFailure(code: 7, stage: .connecting, systemError: ETIMEDOUT), .timedOut),
        (CurlFailure(code: 28, stage: .connecting), .timedOut),
        (CurlFailure(code: 97, stage: .connecting), .unreachable),
        (CurlFailure(code: 56, stage: .connecting, proxyStatus: 407), .proxyRefused),
        (CurlFailure(code: 7, stage: .connecting, lacksSockets: true), .limitExceeded),
        (CurlFailure(code: 92, stage: .head, detail: "not closed cleanly: PROTOCOL_ERROR (err 1)"), .malformedResponse),
        (CurlFailure(code: 92, stage: .head, detail: "not closed cleanly: CANCEL (err 8)"), .connectionLost),
        (CurlFailure(code: 56, stage: .head), .connectionLost),
        (CurlFailure(code: 55, stage: .head), .connectionLost),
        (CurlFailure(code: 52, stage: .head), .connectionLost),
        (CurlFailure(code: 65, stage: .head), .connectionLost),
        (CurlFailure(code: 92, stage: .body), .connectionLost),
        (CurlFailure(code: 16, stage: .head), .malformedResponse),
        (CurlFailure(code: 1, stage: .head), .malformedResponse),
        (CurlFailure(code: 1, stage: .connecting), .other),
        (CurlFailure(code: 8, stage: .head), .malformedResponse),
        (CurlFailure(code: 27, stage: .head), .malformedResponse),
        (
            CurlFailure(code: 56, stage: .body, detail: "Malformed encoding found in chunked-encoding"),
            .malformedResponse
        ),
        (CurlFailure(code: 43, stage: .body, detail: "Failed reading the chunked-encoded stream"), .malformedResponse),
        (CurlFailure(code: 18, stage: .body), .truncated),
        (
            CurlFailure(code: 56, stage: .body, detail: "The TLS connection was non-properly terminated."), .truncated
        ),
        (
            CurlFailure(code: 56, stage: .body, detail: "SSL_read: SSL routines::unexpected eof while reading"),
            .truncated
        ),
        (CurlFailure(code: 56, stage: .head, detail: "unexpected eof while reading"), .connectionLost),
        (CurlFailure(code: 56, stage: .body), .connectionLost),
        (CurlFailure(code: 61, stage: .body), .undecodableContent),
        (CurlFailure(code: 35, stage: .connecting), .tls),
        (CurlFailure(code: 58, stage: .connecting), .tls),
        (CurlFailure(code: 60, stage: .connecting), .tls),
        (CurlFailure(code: 77, stage: .connecting), .tls),
        (CurlFailure(code: 90, stage: .connecting), .tls),
        (CurlFailure(code: 89, stage: .connecting), .limitExceeded),
        (CurlFailure(code: 4711, stage: .head), .other),
    ]

    @Test(arguments: table.indices)
    func `Each code of libcurl has its code of TransportError`(row: Int) throws {
        let (failure, code) = Self.table[row]
        let underlying = CurlError(code: Int(failure.code), text: "text")
        let error = try #require(failure.error(underlying: underlying) as? TransportError)

        #expect(error.code == code)
        #expect(error.stage == failure.stage)
        #expect(error.underlying as? CurlError == underlying)
    }

    @Test(arguments: [
        ("HTTP/2 stream 1 was not closed cleanly: REFUSED_STREAM (err 7)", TransportError.Stage.head, true),
        ("HTTP/2 stream 1 was not closed cleanly: REFUSED_STREAM (err 7)", .body, false),
        ("HTTP/2 stream 1 was not closed cleanly: CANCEL (err 8)", .head, false),
    ])
    func `A refused stream was not processed`(detail: String, stage: TransportError.Stage, isUnprocessed: Bool) throws {
        let failure = CurlFailure(code: 92, stage: stage, detail: detail)
        let error = try #require(failure.error(underlying: CurlError(code: 92, text: "")) as? TransportError)
        #expect(error.isUnprocessed == isUnprocessed)
    }

    @Test func `A URL that libcurl refuses is an invalid request`() {
        let error = CurlFailure(code: 3, stage: .connecting).error(underlying: CurlError(code: 3, text: ""))
        #expect((error as? InvalidRequestError)?.reason == .invalidURL)
    }

    @Test(
        arguments: [
            (5, "http://p.example:3128", 0, "p.example:3128"), (7, "p.example", 0, "p.example:1080"),
            (7, "socks5h://[::1]:9/", 0, "[::1]:9"), (60, "https://p.example", 0, "p.example:443"),
            (35, "https://p.example", 0, "p.example:443"), (60, "https://p.example", 200, nil),
            (60, "http://p.example", 0, nil), (6, "socks5://p.example", 0, nil), (97, "socks5://p.example", 0, nil),
        ] as [(Int32, String, Int, String?)])
    func `A failure on the way to a proxy names the proxy`(
        code: Int32, url: String, status: Int, proxy: String?
    ) throws {
        let failure = CurlFailure(
            code: code, stage: .connecting, proxyStatus: status, proxy: try CurlProxyAddress(url), detail: "text")
        let error = failure.error(underlying: CurlError(code: Int(code), text: "text"))
        let located = TransportError.locate(error, at: try Origin("https://a.example"), after: nil)
        let named = try #require(located as? TransportError)
        #expect(named.proxy == proxy)
        let text = named.description
        if let proxy {
            #expect(text.contains("roxy \(proxy)") && !text.contains("a.example"), "\(text)")
        } else {
            #expect(text.contains("a.example"), "\(text)")
        }
    }

    @Test func `A certificate that the client has refused is not an alert of the server`() throws {
        let failure = CurlFailure(code: 60, stage: .connecting, detail: "alert: certificate has expired")
        let error = failure.error(underlying: CurlError(code: 60, text: "")) as? TransportError
        #expect(error?.tlsProblem == .expired)
    }

    private static let ok = "HTTP/1.1 200 OK\r\n"

    static let answers: [(step: LoopbackOrigin.Step, code: TransportError.Code)] = [
        (.head(.continue), .connectionLost),
        // A huge field, a huge head, many fields, and informational heads without an end.
        (.raw(ok + "X: " + String(repeating: "x", count: 200_000) + "\r\n\r\n"), .malformedResponse),
        (.raw(ok + String(repeating: "X: xxxxxxxxxxxxx\r\n", count: 70_000)), .limitExceeded),
        (.raw(ok + String(repeating: "X:\r\n", count: 20_000) + "\r\n"), .malformedResponse),
        (.raw(String(repeating: "HTTP/1.1 103 Hints\r\nLink: <a>\r\n\r\n", count: 40_000)), .limitExceeded),
    ]

    @Test(arguments: answers.indices)
    func `A broken answer has its code and stage`(row: Int) async throws {
        let (step, code) = Self.answers[row]
        let origin = try LoopbackOrigin()
        origin.route(.get, "/", LoopbackOrigin.Answer(steps: [step, .close]))
        let connection = try CurlConnection()

        let error = await #expect(throws: TransportError.self) {
            let response = try await connection.send(.get(origin.url + "/?secret"))
            _ = try await response.body.data(upTo: 1 << 20)
        }

        #expect(error?.code == code)
        #expect(error?.stage == .head)
        #expect(!String(reflecting: error).contains("secret"))
        #expect(origin.requests.count == 1)
    }
}
#endif
