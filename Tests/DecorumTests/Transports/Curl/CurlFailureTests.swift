#if os(Linux)
@testable import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Each cause that can be told apart, as a table and against real sockets.
@Suite(.timeLimit(.minutes(1))) struct CurlFailureTests {
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
        (CurlFailure(code: 56, stage: .connecting, proxyStatus: 407), .unreachable),
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
    func `Each code has its cause`(row: Int) throws {
        let (failure, code) = Self.table[row]
        let underlying = CurlError(code: Int(failure.code), text: "text")
        let error = try #require(failure.error(underlying: underlying) as? TransportError)

        #expect(error.code == code)
        #expect(error.stage == failure.stage)
        #expect(error.underlying as? CurlError == underlying)
    }

    @Test func `A URL that libcurl refuses is an invalid request`() {
        let error = CurlFailure(code: 3, stage: .connecting).error(underlying: CurlError(code: 3, text: ""))
        #expect((error as? InvalidRequestError)?.reason == .invalidURL)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let answer: LoopbackOrigin.Answer
        let code: TransportError.Code
        let stage: TransportError.Stage

        init(
            _ name: String, _ code: TransportError.Code, _ stage: TransportError.Stage,
            _ steps: LoopbackOrigin.Step...
        ) {
            testDescription = name
            answer = LoopbackOrigin.Answer(steps: steps + [.close])
            self.code = code
            self.stage = stage
        }
    }

    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"

    static let rows: [Row] = [
        Row("closed before the first byte", .connectionLost, .head),
        Row("reset before the first byte", .connectionLost, .head, .reset),
        Row("closed within the head", .connectionLost, .head, .raw(ok + "Content-Length: 0\r\n")),
        Row("closed within a line", .connectionLost, .head, .raw(ok + "Content-Len")),
        Row("closed after an informational head", .connectionLost, .head, .head(.continue)),
        Row("reset within the body", .connectionLost, .body, .raw(ok + "Content-Length: 9\r\n\r\nhal"), .reset),
        Row("cut within the body", .truncated, .body, .raw(ok + "Content-Length: 9\r\n\r\nhal")),
        Row("cut before the body", .truncated, .body, .raw(ok + "Content-Length: 9\r\n\r\n")),
        Row("cut within a chunk", .truncated, .body, .raw(chunked + "5\r\nhel")),
        Row("cut between chunks", .truncated, .body, .raw(chunked + "5\r\nhello\r\n")),
        Row("cut before the chunks", .truncated, .body, .raw(chunked)),
        Row("size of a chunk", .malformedResponse, .body, .raw(chunked + "zz\r\nhello\r\n")),
        Row("size of a chunk with a prefix", .malformedResponse, .body, .raw(chunked + "0x5\r\nhello\r\n0\r\n\r\n")),
        Row("not HTTP", .malformedResponse, .head, .raw("SSH-2.0-OpenSSH\r\nabc\r\n\r\n")),
        Row("status that is no number", .malformedResponse, .head, .raw("HTTP/1.1 abc OK\r\n\r\n")),
        Row("status out of range", .malformedResponse, .head, .raw("HTTP/1.1 099 OK\r\n\r\n")),
        Row("version", .malformedResponse, .head, .raw("HTTP/4.1 200 OK\r\nContent-Length: 0\r\n\r\n")),
        Row("field without a colon", .malformedResponse, .head, .raw(ok + "no colon\r\nContent-Length: 0\r\n\r\n")),
        Row("length that is no number", .malformedResponse, .head, .raw(ok + "Content-Length: x\r\n\r\n")),
        Row("negative length", .malformedResponse, .head, .raw(ok + "Content-Length: -1\r\n\r\n")),
        Row("two lengths", .malformedResponse, .head, .raw(ok + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd")),
        Row(
            "huge field", .malformedResponse, .head,
            .raw(ok + "X: " + String(repeating: "x", count: 200_000) + "\r\n\r\n")),
        Row("huge head", .limitExceeded, .head, .raw(ok + String(repeating: "X: xxxxxxxxxxxxx\r\n", count: 70_000))),
        Row("many fields", .malformedResponse, .head, .raw(ok + String(repeating: "X:\r\n", count: 20_000) + "\r\n")),
        Row(
            "endless informational heads", .limitExceeded, .head,
            .raw(String(repeating: "HTTP/1.1 103 Hints\r\nLink: <a>\r\n\r\n", count: 40_000))),
    ]

    @Test(arguments: rows)
    func `A broken answer has its code and stage`(row: Row) async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/", row.answer)
        let connection = try CurlConnection()

        let error = await #expect(throws: TransportError.self) {
            let response = try await connection.send(.get(origin.url + "/?secret"))
            _ = try await response.body.data(upTo: 1 << 20)
        }

        #expect(error?.code == row.code)
        #expect(error?.stage == row.stage)
        #expect(!String(reflecting: error).contains("secret"))
        #expect(origin.requests.count == 1)
    }

    @Test func `What arrived before the cut is given before the error`() async throws {
        let origin = try LoopbackOrigin()
        origin.enqueue(.script(.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal"), .close))
        let response = try await CurlConnection().send(.get(origin.url + "/"))

        var reader = try await response.body.open()
        #expect(try await reader.next() == Data("hal".utf8))
        await #expect(throws: TransportError.self) { try await reader.next() }
        await #expect(throws: TransportError.self) { try await reader.next() }
    }

    @Test func `A refused connection is told, and nothing was sent`() async throws {
        let origin = try LoopbackOrigin.refusing()

        let error = await #expect(throws: TransportError.self) {
            try await CurlConnection().send(.get(origin.url + "/"))
        }
        #expect(error?.code == .connectionRefused)
        #expect(error?.stage == .connecting)
        #expect((error?.underlying as? CurlError)?.code == 7)
    }

    @Test func `A host without an address is told, and nothing was sent`() async throws {
        let error = await #expect(throws: TransportError.self) {
            try await CurlConnection().send(.get("http://decorum.invalid/"))
        }
        #expect(error?.code == .hostNotFound)
        #expect(error?.stage == .connecting)
    }

    @Test func `A server that does not speak TLS is told, and nothing was sent`() async throws {
        let origin = try LoopbackOrigin()

        let error = await #expect(throws: TransportError.self) {
            try await CurlConnection().send(.get("https://127.0.0.1:\(origin.port)/"))
        }
        #expect(error?.code == .tls)
        #expect(error?.stage == .connecting)
    }
}
#endif
