import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Complete responses that come before the server has read the content, or without its reading it.
@Suite(.timeLimit(.minutes(3))) struct URLSessionEarlyAnswerTests {
    let connection = URLSessionConnection()
    let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
        origin.route(.get, "/", .init(body: "ok"))
    }

    enum Source: CaseIterable {
        case bytes, stream

        var body: Body {
            let bytes = BytePattern.bytes(16 << 20)
            return switch self {
            case .bytes: Body(bytes)
            case .stream:
                Body(
                    chunks: AsyncStream { continuation in
                        continuation.yield(bytes)
                        continuation.finish()
                    })
            }
        }
    }

    @Test(arguments: Source.allCases, [HTTPResponse.Status.ok, .contentTooLarge])
    func `An answer is whole though the server does not read on`(
        source: Source, status: HTTPResponse.Status
    ) async throws {
        let gate = Gate()
        for text in ["early", ""] {
            let early = LoopbackOrigin.Answer.script(
                .receive(atLeast: 1), .head(status, ["Content-Length": "\(text.utf8.count)"]), .raw(text),
                .wait(gate), .reset)
            origin.route(.put, "/early/\(text)", answering: .afterHead, early)
            async let beside = connection.send(.get(origin.url + "/")).body.text(upTo: 10)

            let response = try await connection.send(.put(origin.url + "/early/\(text)", body: source.body))
            #expect(response.status == status)
            #expect(try await response.body.text(upTo: 10) == text)
            #expect(try await beside == "ok")
        }
        gate.open()
        #expect(try await connection.send(.get(origin.url + "/")).body.text(upTo: 10) == "ok")
    }

    @Test func `A connection whose content was sent whole is used again`() async throws {
        for _ in 0..<5 {
            origin.enqueue(.init(body: "ok"))
            let response = try await connection.send(.put(origin.url + "/", body: Body(BytePattern.bytes(300_000))))
            #expect(try await response.body.text(upTo: 10) == "ok")
        }

        #expect(origin.connectionCount == 1)
    }
}
