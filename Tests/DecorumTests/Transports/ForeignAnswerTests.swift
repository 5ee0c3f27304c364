import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Heads that leave open where the answer ends, with requests of others before, beside and behind them.
///
/// No request ever gets what was meant for another one.
@Suite(.timeLimit(.minutes(3))) struct ForeignAnswerTests {
    static let heads = [
        "Content-Length: 30\r\nContent-Length: 3", "Content-Length: 3\r\nContent-Length: 30", "Content-Length: 3, 30",
        "Content-Length: 30, 3", "Content-Length: 0x3", "Content-Length: 3 0", "Content-Length: 3\r\n 0",
        "Content-Length: 3\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 3",
        "Content-Length: 0, 3", "Content-Length: +3", "Content-Length: -3", "Content-Length: 3abc",
        "Content-Length: 3;",
        "Content-Length: 9223372036854775808", "Content-Length: 99999999999999999999999", "Content-Length: x",
    ]

    // An answer to a request that was never sent.
    static let rest = "abcHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforeign"

    @Test(arguments: heads, makers)
    func `A head that leaves open where the answer ends fails, and no other request gets its rest`(
        head: String, make: TransportMaker
    ) async throws {
        let origin = try LoopbackOrigin()
        origin.route(nil, "*") { request in .init(body: request.path) }
        let (slow, bad) = (Gate(), Gate())
        origin.route(.get, "/slow") { _ in
            .script(.head(.ok, ["Content-Length": "5"]), .raw("/sl"), .wait(slow), .raw("ow"))
        }
        origin.route(.get, "/bad") { _ in
            .script(.wait(bad), .raw("HTTP/1.1 200 OK\r\n\(head)\r\n\r\n\(Self.rest)"), .hang)
        }
        let connection = make.connection()
        let reader = try await connection.send(.get(origin.url + "/slow"))
        let badRequest = try Request.get(origin.url + "/bad")
        let failing = Task { try await connection.send(badRequest).body.data(upTo: 1000) }
        try await bad.waitForWaiting(1)
        let beside = try (0..<10).map { number in
            let request = try Request.get(origin.url + "/beside/\(number)")
            return Task { try await connection.send(request).body.text(upTo: 100) }
        }
        beside.first?.cancel()
        bad.open()

        let error = await #expect(throws: TransportError.self) { _ = try await failing.value }
        #expect(error?.code == .malformedResponse)
        #expect(error?.stage == .head)
        for (number, task) in beside.enumerated() {
            // One that was on its way may be lost, since nothing tells whether it waits behind the bad answer.
            guard case .success(let text) = await task.result else { continue }
            #expect(text == "/beside/\(number)")
        }
        for number in 0..<5 {
            #expect(try await connection.send(.get(origin.url + "/\(number)")).body.text(upTo: 100) == "/\(number)")
        }
        slow.open()
        #expect(try await reader.body.text(upTo: 100) == "/slow")
    }
}

struct TransportMaker: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let connection: @Sendable () -> any Connection
}

private let makers: [TransportMaker] = [
    TransportMaker(testDescription: "system") { SystemConnection(connectionsPerHost: 3) },
    TransportMaker(testDescription: "URLSession") { URLSessionConnection(connectionsPerHost: 3) },
]
