import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension TransportCase {
    /// Responses that are read while they arrive, slowly, in part or not at all.
    public static let streaming: [TransportCase] = [
        .earlyHead, .chunksAsTheyArrive, .slowDrip, .largeContent, .backPressure, .readOnce, .unreadDrop, .partialDrop,
        .informational, .responseTrailers,
    ]

    /// A response is returned when its head is there, before any of its content.
    package static let earlyHead = TransportCase("earlyHead") { bench in
        let gate = Gate()
        for steps: [LoopbackOrigin.Step] in [
            [.openHead(["Content-Length": "2"]), .wait(gate), .raw("hi")],
            [.openHead(["Transfer-Encoding": "chunked"]), .wait(gate), .chunk("hi"), .lastChunk()],
        ] {
            gate.close()
            bench.origin.enqueue(.init(steps: steps))
            let response = try await withDeadline { try await bench.send() }
            gate.open()
            try expect(try await response.text(), is: "hi")
        }
    }

    /// A chunk reaches the reader when it arrives, not when a buffer is full.
    package static let chunksAsTheyArrive = TransportCase("chunksAsTheyArrive") { bench in
        let gate = Gate()
        bench.origin.enqueue(
            .script(
                .openHead(["Transfer-Encoding": "chunked"]), .chunk("a"), .wait(gate), .chunk("b"), .wait(gate),
                .chunk("c"), .wait(gate), .lastChunk()))
        try await withDeadline {
            var reader = try await bench.send().body.open()
            for letter in ["a", "b", "c"] {
                try expect(try await reader.next(), is: Data(letter.utf8), "next chunk")
                gate.admit()
            }
            try expect(try await reader.next(), is: nil, "end")
            try expect(try await reader.next(), is: nil, "end")
        }
    }

    /// A response may arrive in packets of one byte.
    package static let slowDrip = TransportCase("slowDrip") { bench in
        let answer =
            "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
        let response = try await bench.send(to: .script(.trickle(answer, every: .milliseconds(1))))
        try expect(response.head.headerFields[.eTag], is: #""1""#, "ETag")
        try expect(try await response.text(), is: "hello world")
    }

    /// Large content arrives whole and in order, however it is framed and read.
    package static let largeContent = TransportCase("largeContent") { bench in
        for isChunked in [false, true] {
            let response = try await bench.send(to: .generated(count: 32 << 20, chunked: isChunked))
            try expect(try await response.body.countPattern(), is: 32 << 20, "bytes")
        }
    }

    /// A reader who takes nothing holds the server back, so that neither memory nor disk fill up.
    package static let backPressure = TransportCase("backPressure") { bench in
        let start = ContinuousClock.now
        let whole = try await bench.send(to: .generated(count: 64 << 20))
        try expect(try await whole.body.countPattern(), is: 64 << 20, "bytes")
        let timeForAll = ContinuousClock.now - start

        let gate = Gate()
        let response = try await bench.send(
            to: .script(.head(.ok, ["Content-Length": "\(64 << 20)"]), .generated(64 << 20), .wait(gate)))
        var reader = try await response.body.open()
        let first = try await reader.next() ?? Data()
        // Real time, since no event tells that a server is held back: three times what the whole takes a quick reader.
        try await Task.sleep(for: timeForAll * 3 + .milliseconds(200))
        try expect(gate.waitingCount, is: 0, "servers")
        gate.open()
        try expect(try await reader.countPattern(from: Int64(first.count)), is: 64 << 20, "bytes")
    }

    /// A response's body can be opened once; the second time is an error, not an empty body.
    package static let readOnce = TransportCase("readOnce") { bench in
        let response = try await bench.send(to: .chunked(chunks: ["hello"]))
        try expect(try await response.body.collectAll().data.count, is: 5, "bytes")
        try await expectError(BodyReadTwiceError.self) { _ = try await response.body.collectAll() }
    }

    /// A response that is dropped unread gives its connection back, by closing it.
    package static let unreadDrop = TransportCase.ofSubject("unreadDrop") { subject in
        for answer in [LoopbackOrigin.Answer.generated(count: 1 << 40), .script(.openHead([:]), .raw("a"), .hang)] {
            let bench = try await subject.bench()
            _ = try await bench.send(to: answer)
            try await bench.expectClosed()
            try await bench.expectUsable()
        }
    }

    /// A reader that is dropped before the end closes its connection.
    package static let partialDrop = TransportCase("partialDrop") { bench in
        for _ in 0..<3 {
            var reader = try await bench.send(to: .generated(count: 1 << 40)).body.open()
            for _ in 0..<10 { _ = try await reader.next() }
        }
        try await bench.expectClosed()
        try await bench.expectUsable()
    }

    /// Informational responses are in the metadata, and are not the answer.
    package static let informational = TransportCase("informational") { bench in
        let response = try await bench.send(
            to: LoopbackOrigin.Answer(body: "hello").after(
                .head(.continue), .head(.init(code: 103), ["Link": "</a>"]), .head(.init(code: 102))))
        try expect(response.status, is: .ok, "status")
        try expect(response.metadata.informational.map(\.status.code), is: [100, 103, 102], "statuses")
        try expect(
            response.metadata.informational.map { $0.headerFields.first?.value }, is: [nil, "</a>", nil], "fields")
        try expect(try await response.text(), is: "hello")
    }

    /// Trailer fields reach the reader at the end.
    package static let responseTrailers = TransportCase("responseTrailers") { bench in
        let response = try await bench.send(
            to: .chunked(chunks: ["hello"], trailers: ["ETag": "1", "Server": "a", "ETag": "2"]))
        let trailers = try await response.body.collectAll().trailers
        try expect(trailers, is: [.eTag: "1", .server: "a", .eTag: "2"], "trailers")
        try await bench.expectUsable()
    }
}
