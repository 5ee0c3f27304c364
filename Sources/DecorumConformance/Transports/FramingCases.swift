import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension TransportCase {
    /// Where content ends: lengths, chunks, and content that is cut short.
    public static let framing: [TransportCase] = [
        .fixedLength, .chunked, .untilClose, .chunkedAndLength, .conflictingLengths, .truncatedLength,
        .truncatedChunks, .truncatedPrefix, .brokenChunks, .noContent, .head, .excessBytes,
    ]

    /// Content ends where `Content-Length` says, and the body knows its length or says that it does not.
    public static let fixedLength = TransportCase("fixedLength") { bench in
        for count in [0, 1, 100_000] {
            let response = try await bench.send(to: .generated(count: Int64(count)))
            let length = response.body.length
            try expect(length ?? Int64(count), is: Int64(count), "length")
            try expect(try await response.body.countPattern(), is: Int64(count), "bytes")
        }
        do {
            // A recipient may refuse such a response too (RFC 9110, section 8.6).
            let lengths = "Content-Length: 5\r\nContent-Length: 5\r\n"
            let text = try await bench.content(ofRaw: "HTTP/1.1 200 OK\r\n\(lengths)\r\nhello")
            try expect(text, is: "hello")
        } catch let error as TransportError {
            try expect(error.code, is: .malformedResponse, "code")
        }
    }

    /// The chunked coding is undone, with chunk extensions, and with no chunk but the last.
    public static let chunked = TransportCase("chunked") { bench in
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
    public static let untilClose = TransportCase("untilClose") { bench in
        try expect(try await bench.content(of: .untilClose(body: "hello")), is: "hello")
        try expect(try await bench.content(of: .untilClose(body: "")), is: "")
        try await bench.expectUsable()
    }

    /// `Transfer-Encoding` overrides `Content-Length`, unless the response is refused (RFC 9112, section 6.3).
    public static let chunkedAndLength = TransportCase("chunkedAndLength") { bench in
        for length in [2, 9] {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\nTransfer-Encoding: chunked\r\n\r\n"
            do {
                let text = try await bench.content(ofRaw: head + "5\r\nhello\r\n0\r\n\r\n")
                try expect(text, is: "hello")
            } catch let error as TransportError {
                try expect(error.code, is: .malformedResponse, "code")
            }
        }
    }

    /// Lengths that contradict each other, or are no numbers, make no response; the length 0 of an interim response contradicts
    /// nothing (RFC 9112, section 6.3).
    public static let conflictingLengths = TransportCase("conflictingLengths") { bench in
        for fields in ["Content-Length: 3\r\nContent-Length: 4", "Content-Length: x", "Content-Length: -1"] {
            try await expectFailure(.malformedResponse, in: fields.debugDescription) {
                _ = try await bench.content(ofRaw: "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nabcd")
            }
        }
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
    public static let truncatedLength = TransportCase("truncatedLength") { bench in
        for content in ["", "h", "hell"] {
            try await expectFailure(.truncated, at: .body, in: content) {
                _ = try await bench.content(ofRaw: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + content)
            }
        }
    }

    /// Chunked content without its last chunk is an error.
    public static let truncatedChunks = TransportCase("truncatedChunks") { bench in
        for body in ["", "5", "5\r\n", "5\r\nhel", "5\r\nhello", "5\r\nhello\r\n", "5\r\nhello\r\n0"] {
            try await expectFailure(.truncated, at: .body, in: body.debugDescription) {
                _ = try await bench.content(
                    ofRaw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
            }
        }
    }

    /// The bytes before a cut reach the reader before the error does, and the error stays.
    public static let truncatedPrefix = TransportCase("truncatedPrefix") { bench in
        let response = try await bench.send(
            to: .script(.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal"), .close))
        var reader = try await response.body.open()
        try expect(try await reader.next(), is: Data("hal".utf8), "first chunk")
        for _ in 0..<2 {
            try await expectFailure(at: .body) { _ = try await reader.next() }
        }
    }

    /// A size of a chunk that is no number makes the rest unreadable.
    public static let brokenChunks = TransportCase("brokenChunks") { bench in
        for size in ["zz", "-5", "0x5", "fffffffffffffffff"] {
            try await expectFailure(.malformedResponse, .truncated, at: .body, in: size) {
                _ = try await bench.content(
                    ofRaw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\nhello\r\n0\r\n\r\n")
            }
        }
    }

    /// 204 and 304 have no content, whatever their fields say (RFC 9112, section 6.3).
    public static let noContent = TransportCase("noContent") { bench in
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
    public static let head = TransportCase("head") { bench in
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
    public static let excessBytes = TransportCase.ofSubject("excessBytes") { subject in
        for _ in 0..<5 {
            let bench = try await subject.bench()
            let text = try await bench.content(
                of: .script(
                    .raw(
                        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
                    )))
            try expect(text, is: "hello")
            do {
                try await bench.expectUsable()
            } catch let error as TransportError {
                // The connection may be used again before the bytes have come.
                try expect(error.code, is: .connectionLost, "code")
            }
        }
    }
}

extension TransportCase {
    /// Heads that break the rules of HTTP.
    public static let malformed: [TransportCase] = [
        .malformedHeads, .lowStatus, .unusualHeads, .foldedFields, .terseHeads, .cutHead, .noHead, .largeFields,
        .refusedConnection, .unknownHost,
    ]

    /// Bytes that are not HTTP are an error, not a response.
    public static let malformedHeads = TransportCase("malformedHeads") { bench in
        for answer in [
            "SSH-2.0-OpenSSH\r\nabc\r\n\r\n", "hello\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n",
            "HTTP/4.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 0\r\n\r\n",
        ] {
            try await expectFailure(.malformedResponse, at: .head, in: answer.debugDescription) {
                _ = try await bench.content(ofRaw: answer)
            }
        }
        try await bench.expectUsable()
    }

    /// A status has three digits, of which the first is one of five (RFC 9110, section 15).
    public static let lowStatus = TransportCase("lowStatus") { bench in
        try await expectFailure(.malformedResponse, at: .head) {
            _ = try await bench.content(ofRaw: "HTTP/1.1 099 OK\r\n\r\n")
        }
        try await bench.expectUsable()
    }

    /// A head that is odd but allowed, or harmless and common, is a response.
    public static let unusualHeads = TransportCase("unusualHeads") { bench in
        // The next request cannot meet the connection while it is about to close.
        let rest = "Connection: close\r\nContent-Length: 5\r\n\r\nhello"
        for head in [
            "HTTP/1.0 200 OK\r\n", "HTTP/1.1 200 \r\n", "HTTP/1.1 999 Odd\r\n",
            "HTTP/1.1 200 OK\r\nX-Empty:\r\n", "HTTP/1.1 200 OK\r\nX-Blank: \t a \t\r\n",
        ] {
            try expect(try await bench.content(ofRaw: head + rest), is: "hello", head.debugDescription)
        }
    }

    /// A field that goes on in a second line is one field (RFC 9112, section 5.2).
    public static let foldedFields = TransportCase("foldedFields") { bench in
        let answer = "HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\nContent-Length: 5\r\n\r\nhello"
        try expect(try await bench.content(ofRaw: answer), is: "hello")
    }

    /// Heads that lack blanks or carriage returns, which a recipient must or may accept (RFC 9112, sections 2.2, 4 and
    /// 5).
    public static let terseHeads = TransportCase("terseHeads") { bench in
        for answer in [
            "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", "HTTP/1.1 200 OK\r\nContent-Length:5\r\n\r\nhello",
            "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
        ] {
            try expect(try await bench.content(ofRaw: answer), is: "hello", answer.debugDescription)
        }
    }

    /// A head that is cut is an error, not an empty response.
    public static let cutHead = TransportCase("cutHead") { bench in
        for answer in ["H", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"] {
            try await expectFailure(at: .head, in: answer.debugDescription) {
                _ = try await bench.content(ofRaw: answer)
            }
        }
        try await bench.expectUsable()
    }

    /// A connection that breaks without a byte says so, so that a layer above may try again.
    public static let noHead = TransportCase("noHead") { bench in
        for answer in [LoopbackOrigin.Answer.closing, .resetting] {
            try await expectFailure(.connectionLost, at: .head) {
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
        try await expectFailure(.connectionLost, .truncated, at: .body) { _ = try await reader.next() }
    }

    /// Fields of some size pass; without a bound, a server could fill the memory.
    public static let largeFields = TransportCase("largeFields") { bench in
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
    public static let refusedConnection = TransportCase.ofSubject("refusedConnection") { subject in
        let origin = try LoopbackOrigin.refusing()
        let connection = try subject.make()
        try await expectFailure(.connectionRefused, at: .connecting) {
            _ = try await connection.send(.post(origin.url + "/", body: "hello"))
        }
    }

    /// A name without an address has its own code, at the stage of connecting.
    public static let unknownHost = TransportCase.ofSubject("unknownHost") { subject in
        let connection = try subject.make()
        try await expectFailure(.hostNotFound, at: .connecting) {
            _ = try await connection.send(.get("http://conformance.invalid/"))
        }
    }
}
