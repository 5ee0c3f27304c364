import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension TransportCase {
    /// Heads after which a transport could give one request the answer to another.
    public static let foreignAnswers: [TransportCase] = [
        .hostileHeads, .hostileHeadsBesideOthers, .foldedFirstLine, .waitingBytes, .requestBesideWaitingBytes,
    ]

    /// Content whose end is ambiguous is an error (RFC 9112, section 6.3), and its connection serves no other request.
    package static let hostileHeads = TransportCase.ofSubject("hostileHeads") { subject in
        for head in HostileHead.all {
            let bench = try await subject.bench()
            bench.origin.enqueue(head.answer)
            try await expectFailure(.malformedResponse, at: .head, in: head.name) { _ = try await bench.send().text() }
            try await bench.expectClosed()
            try await bench.expectUsable()
        }
    }

    /// Requests of others may wait for an answer of the same server at the moment when such a head arrives.
    package static let hostileHeadsBesideOthers = TransportCase.ofSubject("hostileHeadsBesideOthers") { subject in
        for head in HostileHead.all {
            let bench = try await subject.bench()
            bench.origin.route(nil, "*") { request in .init(body: request.path) }
            let (slow, bad) = (Gate(), Gate())
            bench.origin.route(.get, "/slow") { _ in
                .script(.openHead(["Content-Length": "5"]), .raw("/sl"), .wait(slow), .raw("ow"))
            }
            bench.origin.route(.get, "/hostile") { _ in head.answer(behind: bad) }
            let reader = try await bench.send(.get, "/slow")
            let request = try bench.request(.get, "/hostile")
            let failing = Task { _ = try await bench.connection.send(request).body.collectAll() }
            try await bad.waitForWaiting(1)
            let beside = try (0..<10).map { number in
                let request = try bench.request(.get, "/beside/\(number)")
                return Task { try await bench.connection.send(request).text() }
            }
            beside.first?.cancel()
            bad.open()

            try await expectFailure(.malformedResponse, at: .head, in: head.name) {
                try await failing.value
            }
            for (number, task) in beside.enumerated() {
                // A request that was on its way may fail, since it may wait on the connection of that head.
                guard case .success(let text) = await task.result else { continue }
                try expect(text, is: "/beside/\(number)", "answer beside \(head.name)")
            }
            for number in 0..<5 {
                let text = try await bench.send(.get, "/\(number)").text()
                try expect(text, is: "/\(number)", "answer behind \(head.name)")
            }
            slow.open()
            try expect(try await reader.text(), is: "/slow", "answer before \(head.name)")
        }
    }

    /// A folded line continues the field line before it, which the first line does not have (RFC 9112, section 2.2).
    package static let foldedFirstLine = failing(
        "foldedFirstLine", .malformedResponse, at: .head,
        ["HTTP/1.1 200 OK\r\n X-Folded: a\r\nContent-Length: 3\r\n\r\nabc"])

    /// Bytes that were not asked for are not an answer (RFC 9112, section 6.3).
    package static let waitingBytes = TransportCase.ofSubject("waitingBytes") { subject in
        let bench = try await benchWithWaitingBytes(subject)
        for method in [HTTPRequest.Method.get, .post] {
            let request = try bench.request(method, "/next", body: method == .post ? "content" : .empty)
            let text: String
            do {
                text = try await bench.connection.send(request).text()
            } catch let error as TransportError where error.code == .connectionLost {
                // It met the connection while that was about to close, which `requestBesideWaitingBytes` judges.
                continue
            }
            try expect(text, is: "own", "answer to a \(method)")
        }
    }

    /// A connection that holds bytes which were not asked for is closed, and not used again.
    package static let requestBesideWaitingBytes = TransportCase.ofSubject("requestBesideWaitingBytes") { subject in
        for method in [HTTPRequest.Method.get, .post] {
            let bench = try await benchWithWaitingBytes(subject)
            let request = try bench.request(method, "/next", body: method == .post ? "content" : .empty)
            let text = try await bench.connection.send(request).text()
            try expect(text, is: "own", "answer to a \(method)")
        }
    }

    /// Makes a transport with one idle connection, at the client's end of which an answer waits that was not asked for.
    private static func benchWithWaitingBytes(_ subject: TransportSubject) async throws -> TransportBench {
        let bench = try await subject.bench()
        let (sends, rests) = (Gate(), Gate())
        bench.origin.enqueue(
            .script(
                .head(.ok, ["Content-Length": "5"]), .raw("hello"), .wait(sends),
                .raw("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforeign"), .wait(rests)))
        bench.origin.route(nil, "/next", .init(body: "own"))
        try expect(try await bench.send().text(), is: "hello", "first answer")
        sends.open()
        // Bytes are at the other end of a loopback connection when the call that sends them returns.
        try await rests.waitForArrivals(1)
        rests.open()
        return bench
    }
}

/// Fields that leave open where content ends.
private struct HostileHead: Sendable {
    private let fields: String
    private let content: String

    var name: String { fields.debugDescription }

    /// A moment after the answer, as one takes it who believes the smaller length, another answer follows.
    var answer: LoopbackOrigin.Answer {
        .script(
            .raw("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n\(content)"), .pause(.milliseconds(20)),
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforeign"))
    }

    /// The same once a gate is open, with the other answer right behind it and the connection kept open.
    func answer(behind gate: Gate) -> LoopbackOrigin.Answer {
        .script(
            .wait(gate),
            .raw(
                "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n\(content)HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforeign"),
            .hang)
    }

    static let all =
        [
            "Content-Length: 30\r\nContent-Length: 3", "Content-Length: 3\r\nContent-Length: 30",
            "Content-Length: 3, 30", "Content-Length: 30, 3", "Content-Length: 0x3", "Content-Length: 3 0",
            "Content-Length: 3\r\n 0", "Content-Length: +3", "Content-Length: -3", "Content-Length: 3abc",
            "Content-Length: 3.0", "Content-Length: 9223372036854775808", "Content-Length: 99999999999999999999",
            "Content-Length: x", "Content-Length: 0, 3", "Content-Length: 3;", "Content-Length:", "Content-Length : 3",
        ].map { HostileHead(fields: $0, content: "abc") }
        + [
            "Content-Length: 3\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 3",
        ].map { HostileHead(fields: $0, content: "3\r\nabc\r\n0\r\n\r\n") }
}
