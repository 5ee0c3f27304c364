import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// Heads after which a transport could give one request the answer to another.
    public static let foreignAnswers: [TransportCase] = [
        .hostileHeads, .hostileHeadsRefused, .hostileHeadsBesideOthers, .foldedFirstLine, .waitingBytes,
        .requestBesideWaitingBytes,
    ]

    /// Where a head leaves open how long its content is, the connection must not serve another request.
    public static let hostileHeads = TransportCase(
        "hostileHeads", "After a head that contradicts itself, no request gets the answer to another one."
    ) { subject in
        for head in HostileHead.all {
            let bench = try await subject.bench()
            for number in 1...5 {
                bench.origin.route(.get, "/\(number)", .init(body: "answer \(number)"))
            }
            bench.origin.enqueue(head.answer)
            _ = try await outcome(of: "/hostile", on: bench, behind: head)
            for number in 1...5 {
                guard let text = try await outcome(of: "/\(number)", on: bench, behind: head) else { continue }
                try requireEqual(text, "answer \(number)", "The answer to request \(number) behind \(head.name)")
            }
        }
    }

    /// Content whose end is ambiguous is an error (RFC 9112, section 6.3).
    public static let hostileHeadsRefused = TransportCase(
        "hostileHeadsRefused", "A head that contradicts itself, or whose length is no number, fails as malformed."
    ) { subject in
        for head in HostileHead.all {
            let bench = try await subject.bench()
            bench.origin.enqueue(head.answer)
            try await requireTransportError(of: [.malformedResponse], at: .head, "A head with \(head.name)") {
                let response = try await bench.connection.send(bench.request())
                _ = try await response.body.collectAll()
            }
            try await bench.requireClosed(after: "a head with \(head.name)")
        }
    }

    /// Requests of others may wait for an answer of the same server at the moment when such a head arrives.
    public static let hostileHeadsBesideOthers = TransportCase(
        "hostileHeadsBesideOthers",
        "After a head that contradicts itself, requests before, beside and behind it get their own answers or none."
    ) { subject in
        for head in HostileHead.all {
            let bench = try await subject.bench()
            bench.origin.route(nil, "*") { request in .init(body: request.path) }
            let (slow, bad) = (Gate(), Gate())
            bench.origin.route(.get, "/slow") { _ in
                .script(.openHead(["Content-Length": "5"]), .raw("/sl"), .wait(slow), .raw("ow"))
            }
            bench.origin.route(.get, "/hostile") { _ in head.answer(behind: bad) }
            let reader = try await bench.connection.send(bench.request(.get, "/slow"))
            let request = try bench.request(.get, "/hostile")
            let failing = Task { _ = try await bench.connection.send(request).body.collectAll() }
            try await bad.waitForWaiting(1)
            let beside = try (0..<10).map { number in
                let request = try bench.request(.get, "/beside/\(number)")
                return Task { try await bench.connection.send(request).body.text(upTo: 100) }
            }
            beside.first?.cancel()
            bad.open()

            try await requireTransportError(of: [.malformedResponse], at: .head, "A head with \(head.name)") {
                try await failing.value
            }
            for (number, task) in beside.enumerated() {
                // A request that was on its way may fail, since it may wait on the connection of that head.
                guard case .success(let text) = await task.result else { continue }
                try requireEqual(text, "/beside/\(number)", "The answer beside \(head.name)")
            }
            for number in 0..<5 {
                let text = try await bench.connection.send(bench.request(.get, "/\(number)")).body.text(upTo: 100)
                try requireEqual(text, "/\(number)", "The answer to request \(number) behind \(head.name)")
            }
            slow.open()
            try requireEqual(try await reader.body.text(upTo: 100), "/slow", "The answer before \(head.name)")
        }
    }

    /// A folded line continues the field line before it, which the first line does not have (RFC 9112, section 2.2).
    public static let foldedFirstLine = TransportCase(
        "foldedFirstLine", "A head whose first field line is folded fails as malformed."
    ) { subject in
        let bench = try await subject.bench()
        try await requireTransportError(of: [.malformedResponse], at: .head, "A head that starts with a fold") {
            _ = try await bench.content(ofRaw: "HTTP/1.1 200 OK\r\n X-Folded: a\r\nContent-Length: 3\r\n\r\nabc")
        }
        try await bench.requireUsable(after: "a head that starts with a fold")
    }

    /// Bytes that were not asked for are not an answer (RFC 9112, section 6.3).
    public static let waitingBytes = TransportCase(
        "waitingBytes", "Bytes that wait on an idle connection are never the answer to the next request."
    ) { subject in
        let bench = try await benchWithWaitingBytes(subject)
        for method in [HTTPRequest.Method.get, .post] {
            let request = try bench.request(method, "/next", body: method == .post ? "content" : .empty)
            let text: String
            do {
                text = try await bench.connection.send(request).body.text(upTo: 100)
            } catch let error as TransportError where error.code == .connectionLost {
                // It met the connection while that was about to close, which `requestBesideWaitingBytes` judges.
                continue
            }
            try requireEqual(text, "own", "The answer to a \(method)")
        }
    }

    /// A connection that holds bytes which were not asked for is closed, and not used again.
    public static let requestBesideWaitingBytes = TransportCase(
        "requestBesideWaitingBytes",
        "Where bytes wait on an idle connection, the next request goes out on another."
    ) { subject in
        for method in [HTTPRequest.Method.get, .post] {
            let bench = try await benchWithWaitingBytes(subject)
            let request = try bench.request(method, "/next", body: method == .post ? "content" : .empty)
            let text = try await bench.connection.send(request).body.text(upTo: 100)
            try requireEqual(text, "own", "The answer to a \(method)")
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
        try requireEqual(
            try await bench.connection.send(bench.request()).body.text(upTo: 100), "hello", "The first answer")
        sends.open()
        // Bytes are at the other end of a loopback connection when the call that sends them returns.
        try await rests.waitForArrivals(1)
        rests.open()
        return bench
    }

    /// The content of an answer; nil where the request failed since the connection was closed.
    private static func outcome(
        of path: String, on bench: TransportBench, behind head: HostileHead
    ) async throws -> String? {
        let request = try bench.request(.get, path)
        return try await withDeadline(of: .seconds(20), "A request hangs behind \(head.name).") {
            do {
                let response = try await bench.connection.send(request)
                return String(decoding: try await response.body.collectAll().data, as: UTF8.self)
            } catch let error as TransportError {
                let isAllowed = path == "/hostile" || error.code == .connectionLost
                try require(isAllowed, "A request behind \(head.name) fails with \(error.code).")
                return nil
            }
        }
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

    private static func head(_ fields: String, _ content: String = "abc") -> HostileHead {
        HostileHead(fields: fields, content: content)
    }

    static let all: [HostileHead] = [
        head("Content-Length: 30\r\nContent-Length: 3"), head("Content-Length: 3\r\nContent-Length: 30"),
        head("Content-Length: 3, 30"), head("Content-Length: 30, 3"), head("Content-Length: 0x3"),
        head("Content-Length: 3 0"), head("Content-Length: 3\r\n 0"), head("Content-Length: +3"),
        head("Content-Length: -3"), head("Content-Length: 3abc"), head("Content-Length: 3.0"),
        head("Content-Length: 9223372036854775808"),
        head("Content-Length: 99999999999999999999"), head("Content-Length: x"), head("Content-Length: 0, 3"),
        head("Content-Length: 3;"), head("Content-Length:"), head("Content-Length : 3"),
        head("Content-Length: 3\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n"),
        head("Transfer-Encoding: chunked\r\nContent-Length: 3", "3\r\nabc\r\n0\r\n\r\n"),
    ]
}
