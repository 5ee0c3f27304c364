import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension TransportCase {
    /// Content ends where `Content-Length` says, and the body knows its length or says that it does not.
    package static let fixedLength = TransportCase("fixedLength") { bench in
        for count in [0, 1, 100_000] {
            let response = try await bench.send(to: .generated(count: Int64(count)))
            let length = response.body.length
            try expect(length ?? Int64(count), is: Int64(count), "length")
            try expect(try await response.body.countPattern(), is: Int64(count), "bytes")
        }
        // A recipient may refuse such a response too (RFC 9110, section 8.6).
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello"
        do {
            try expect(try await bench.content(ofRaw: answer), is: "hello")
        } catch let error as TransportError {
            try expect(error.code, is: .malformedResponse, "code")
        }
    }

    /// The chunked coding is undone, with chunk extensions, and with no chunk but the last.
    package static let chunked = TransportCase("chunked") { bench in
        try expect(
            try await bench.content(of: .chunked(chunks: ["a", "bc", String(repeating: "d", count: 5000)])),
            is: "abc" + String(repeating: "d", count: 5000), "content")
        try expect(try await bench.content(of: .chunked(chunks: [String]())), is: "")
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        for body in [
            "5;x=y\r\nhello\r\n0\r\n\r\n", "0005\r\nhello\r\n00\r\n\r\n", "2\r\nhe\r\n3;a\r\nllo\r\n0;b\r\n\r\n",
        ] {
            try expect(try await bench.content(ofRaw: head + body), is: "hello", "content of \(body)")
        }
        let response = try await bench.send(to: .generated(count: 1 << 20, chunked: true))
        try expect(try await response.body.countPattern(), is: 1 << 20, "bytes")
    }

    /// Content without a length and a coding ends where the connection does.
    package static let untilClose = TransportCase("untilClose") { bench in
        try expect(try await bench.content(of: .untilClose(body: "hello")), is: "hello")
        try expect(try await bench.content(of: .untilClose(body: "")), is: "")
        try await bench.expectUsable()
    }

    /// The length 0 of an interim response contradicts nothing.
    package static let interimLength = TransportCase("interimLength") { bench in
        let interim = "HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n"
        for rest in [
            "Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "\r\nhello",
        ] {
            // The next request cannot meet the connection while it is about to close.
            let text = try await bench.content(ofRaw: "\(interim)HTTP/1.1 200 OK\r\nConnection: close\r\n\(rest)")
            try expect(text, is: "hello")
        }
    }

    /// Content that is shorter than its length is an error; what is there is given before.
    package static let truncatedLength = failing(
        "truncatedLength", .truncated, at: .body,
        ["", "h", "hell"].map { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + $0 })

    /// Chunked content without its last chunk is an error.
    package static let truncatedChunks = failing(
        "truncatedChunks", .truncated, at: .body,
        ["", "5", "5\r\n", "5\r\nhel", "5\r\nhello", "5\r\nhello\r\n", "5\r\nhello\r\n0"].map { chunkedHead + $0 })

    /// The bytes before a cut reach the reader before the error does, and the error stays.
    package static let truncatedPrefix = TransportCase("truncatedPrefix") { bench in
        let response = try await bench.send(
            to: .script(.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal"), .close))
        var reader = try await response.body.open()
        try expect(try await reader.next(), is: Data("hal".utf8), "first chunk")
        for _ in 0..<2 {
            try await expectFailure(at: .body) { _ = try await reader.next() }
        }
    }

    /// A size of a chunk that is no number makes the rest unreadable.
    package static let brokenChunks = failing(
        "brokenChunks", .malformedResponse, .truncated, at: .body,
        ["zz", "-5", "0x5", "fffffffffffffffff"].map { chunkedHead + $0 + "\r\nhello\r\n0\r\n\r\n" })

    static let chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    /// Creates a case whose answers, each with the end of the connection behind it, are errors.
    static func failing(
        _ name: String, _ codes: TransportError.Code..., at stage: TransportError.Stage, _ answers: [String]
    ) -> TransportCase {
        TransportCase(name) { bench in
            for answer in answers {
                try await expectFailure(codes, at: stage, in: answer.debugDescription) {
                    _ = try await bench.content(ofRaw: answer)
                }
            }
            try await bench.expectUsable()
        }
    }

    /// Creates a case whose answers have the content “hello”.
    private static func greeting(_ name: String, _ answers: [String]) -> TransportCase {
        TransportCase(name) { bench in
            for answer in answers {
                try expect(try await bench.content(ofRaw: answer), is: "hello", answer.debugDescription)
            }
        }
    }

    /// 204 and 304 have no content, whatever their fields say (RFC 9112, section 6.3).
    package static let noContent = TransportCase("noContent") { bench in
        for code in [204, 304] {
            for field in [("Content-Length", "5"), ("Transfer-Encoding", "chunked"), ("Content-Encoding", "gzip")] {
                let fields = RawFields([.init(name: field.0, value: field.1)])
                let response = try await bench.send(to: .script(.head(.init(code: code), fields)))
                try expect(response.status.code, is: code, "status")
                try expect(try await response.text(), is: "", "content of \(code)")
            }
            try await bench.expectUsable()
        }
    }

    /// A response to `HEAD` has the fields of content that is not there.
    package static let head = TransportCase("head") { bench in
        let fields: RawFields = ["Content-Encoding": "gzip", "Content-Length": "1234", "ETag": #""1""#]
        let response = try await bench.send(.head, to: .script(.head(.ok, fields)))
        try expect(response.head.headerFields[.contentLength], is: "1234", "length")
        try expect(response.head.headerFields[.contentEncoding], is: "gzip", "coding")
        try expect(response.metadata.decodedContentCodings, is: [], "codings")
        try expect(try await response.text(), is: "")
        try await bench.expectUsable()
        try expect(bench.origin.connectionCount, is: 1, "connections")
    }

    /// Bytes that follow a response are not the response to the next request.
    package static let excessBytes = TransportCase.ofSubject("excessBytes") { subject in
        for _ in 0..<5 {
            let bench = try await subject.bench()
            let second = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" + second
            try expect(try await bench.content(of: .script(.raw(answer))), is: "hello")
            do {
                try await bench.expectUsable()
            } catch let error as TransportError {
                // The connection may be used again before the bytes have come.
                try expect(error.code, is: .connectionLost, "code")
            }
        }
    }

    /// Bytes that are not HTTP are an error, not a response.
    package static let malformedHeads = failing(
        "malformedHeads", .malformedResponse, at: .head,
        [
            "SSH-2.0-OpenSSH\r\nabc\r\n\r\n", "hello\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n",
            "HTTP/4.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 0\r\n\r\n",
        ])

    /// A status has three digits, of which the first is one of five (RFC 9110, section 15).
    package static let lowStatus = failing(
        "lowStatus", .malformedResponse, at: .head, ["HTTP/1.1 099 OK\r\n\r\n"])

    /// A head that is odd but allowed, or harmless and common, is a response.
    package static let unusualHeads = greeting(
        "unusualHeads",
        [
            "HTTP/1.0 200 OK\r\n", "HTTP/1.1 200 \r\n", "HTTP/1.1 999 Odd\r\n",
            "HTTP/1.1 200 OK\r\nX-Empty:\r\n", "HTTP/1.1 200 OK\r\nX-Blank: \t a \t\r\n",
            // The next request cannot meet the connection while it is about to close.
        ].map { $0 + "Connection: close\r\nContent-Length: 5\r\n\r\nhello" })

    /// A field that goes on in a second line is one field (RFC 9112, section 5.2).
    package static let foldedFields = greeting(
        "foldedFields", ["HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\nContent-Length: 5\r\n\r\nhello"])

    /// Heads without blanks or carriage returns, which a recipient must or may accept (RFC 9112, sections 2.2, 4 and 5).
    package static let terseHeads = greeting(
        "terseHeads",
        [
            "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", "HTTP/1.1 200 OK\r\nContent-Length:5\r\n\r\nhello",
            "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
        ])

    /// A head that is cut is an error, not an empty response.
    package static let cutHead = failing(
        "cutHead", at: .head, ["H", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"])

    /// A connection that breaks without a byte says so, so that a layer above may try again.
    package static let noHead = TransportCase("noHead") { bench in
        for answer in [LoopbackOrigin.Answer.closing, .resetting] {
            try await expectFailure([.connectionLost], at: .head) {
                // On a new connection, which leaves no doubt about whether the request was read.
                try await bench.origin.waitForOpenConnections(0)
                _ = try await bench.send(.post, to: answer, body: "hello")
            }
        }
        try await bench.origin.waitForOpenConnections(0)
        let gate = Gate()
        let response = try await bench.send(
            to: .script(.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal"), .wait(gate), .reset))
        var reader = try await response.body.open()
        try expect(try await reader.next(), is: Data("hal".utf8), "first chunk")
        // A reset destroys what has arrived and was not read yet.
        gate.open()
        try await expectFailure([.connectionLost, .truncated], at: .body) { _ = try await reader.next() }
    }

    /// Fields of some size pass; without a bound, a server could fill the memory.
    package static let largeFields = TransportCase("largeFields") { bench in
        let value = String(repeating: "x", count: 32 << 10)
        let response = try await bench.send(to: .init(fields: ["Server": value]))
        try expect(response.head.headerFields[.server] == value, "the field as sent")
        let huge = String(repeating: "x", count: 8 << 20)
        do {
            let response = try await bench.send(to: .init(fields: ["Server": huge]))
            try expect(response.head.headerFields[.server] == huge, "the field as sent")
        } catch let error as TransportError {
            try expect(error.stage, is: .head, "stage")
        }
    }

    /// A port without a server has its own code, at the stage of connecting.
    package static let refusedConnection = TransportCase.ofSubject("refusedConnection") { subject in
        let origin = try LoopbackOrigin.refusing()
        let connection = try subject.make()
        try await expectFailure([.connectionRefused], at: .connecting) {
            _ = try await connection.send(.post(origin.url + "/", body: "hello"))
        }
    }

    /// A name without an address has its own code, at the stage of connecting.
    package static let unknownHost = TransportCase.ofSubject("unknownHost") { subject in
        let connection = try subject.make()
        try await expectFailure([.hostNotFound], at: .connecting) {
            _ = try await connection.send(.get("http://conformance.invalid/"))
        }
    }

    /// Content whose end is ambiguous is an error (RFC 9112, section 6.3), and its connection serves no other request.
    package static let hostileHeads = TransportCase.ofSubject("hostileHeads") { subject in
        for head in HostileHead.all {
            let bench = try await subject.bench()
            bench.origin.enqueue(head.answer)
            try await expectFailure([.malformedResponse], at: .head, in: head.name) {
                _ = try await bench.send().text()
            }
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

            try await expectFailure([.malformedResponse], at: .head, in: head.name) {
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
