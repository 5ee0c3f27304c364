import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

#if canImport(FoundationNetworking)
/// Each cause that the platform distinguishes on Linux, against a real socket.
@Suite(.timeLimit(.minutes(3))) struct URLSessionBrokenAnswerTests {
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

    static let rows: [Row] = [
        Row("closed before the first byte", .connectionLost, .head),
        Row("reset before the first byte", .connectionLost, .head, .reset),
        Row("reset within the body", .connectionLost, .body, .raw(ok + "Content-Length: 9\r\n\r\nhal"), .reset),
        Row("cut within the body", .truncated, .body, .raw(ok + "Content-Length: 9\r\n\r\nhal")),
        Row("cut before the body", .truncated, .body, .raw(ok + "Content-Length: 9\r\n\r\n")),
        Row("cut within a chunk", .truncated, .body, .raw(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhel")),
        Row("cut between chunks", .truncated, .body, .raw(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")),
        Row("cut before the chunks", .truncated, .body, .raw(ok + "Transfer-Encoding: chunked\r\n\r\n")),
        Row(
            "size of a chunk", .malformedResponse, .body, .raw(ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n")
        ),
        Row(
            "unknown coding", .undecodableContent, .body,
            .raw(ok + "Content-Encoding: x\r\nContent-Length: 3\r\n\r\nabc")),
        Row(
            "broken gzip", .undecodableContent, .body,
            .raw(ok + "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc")),
        Row("not HTTP", .malformedResponse, .head, .raw("SSH-2.0-OpenSSH\r\nabc\r\n\r\n")),
        Row("status that is no number", .malformedResponse, .head, .raw("HTTP/1.1 abc OK\r\n\r\n")),
        Row("status out of range", .malformedResponse, .head, .raw("HTTP/1.1 099 OK\r\n\r\n")),
        Row("version", .malformedResponse, .head, .raw("HTTP/4.1 200 OK\r\nContent-Length: 0\r\n\r\n")),
        Row("field without a colon", .malformedResponse, .head, .raw(ok + "no colon\r\nContent-Length: 0\r\n\r\n")),
        Row("length that is no number", .malformedResponse, .head, .raw(ok + "Content-Length: x\r\n\r\n")),
        Row("two lengths", .malformedResponse, .head, .raw(ok + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd")),
        Row(
            "huge field", .malformedResponse, .head,
            .raw(ok + "X: " + String(repeating: "x", count: 200_000) + "\r\n\r\n")),
        Row(
            "body that a redirection loses", .truncated, .body,
            .raw("HTTP/1.1 302 Found\r\nContent-Length: 5\r\n\r\nmoved")),
    ]

    @Test(arguments: rows)
    func `A broken answer has its code and stage`(row: Row) async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/", row.answer)
        let connection = URLSessionConnection()

        let error = await #expect(throws: TransportError.self) {
            let response = try await connection.send(.get(origin.url + "/?secret"))
            _ = try await response.body.data(upTo: 1 << 20)
        }

        #expect(error?.code == row.code)
        #expect(error?.stage == row.stage)
        #expect(!String(reflecting: error).contains("secret"))
    }
}
#endif
