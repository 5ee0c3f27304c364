import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// Responses that are read while they arrive, slowly, in part or not at all.
    public static let streaming: [TransportCase] = [
        .earlyHead, .chunksAsTheyArrive, .slowDrip, .largeContent, .backPressure, .readOnce, .unreadDrop, .partialDrop,
        .informational, .responseTrailers,
    ]

    /// A response is returned when its head is there, before any of its content.
    public static let earlyHead = TransportCase(
        "earlyHead", "A response is returned as soon as its head has arrived."
    ) { subject in
        let bench = try await subject.bench()
        let gate = Gate()
        for steps: [LoopbackOrigin.Step] in [
            [.openHead(["Content-Length": "2"]), .wait(gate), .raw("hi")],
            [.openHead(["Transfer-Encoding": "chunked"]), .wait(gate), .chunk("hi"), .lastChunk()],
        ] {
            gate.close()
            bench.origin.enqueue(.init(steps: steps))
            let response = try await withDeadline("The head was not returned before the content.") {
                try await bench.connection.send(bench.request())
            }
            gate.open()
            try requireEqual(try await response.body.collectAll().data, Data("hi".utf8), "The content")
        }
    }

    /// A chunk reaches the reader when it arrives, not when a buffer is full.
    public static let chunksAsTheyArrive = TransportCase(
        "chunksAsTheyArrive", "Each piece of content reaches the reader before the next one is sent."
    ) { subject in
        let bench = try await subject.bench()
        let gate = Gate()
        bench.origin.enqueue(
            .script(
                .openHead(["Transfer-Encoding": "chunked"]), .chunk("a"), .wait(gate), .chunk("b"), .wait(gate),
                .chunk("c"), .wait(gate), .lastChunk()))
        try await withDeadline("A chunk did not reach the reader before the next one.") {
            var reader = try await bench.connection.send(bench.request()).body.open()
            for letter in ["a", "b", "c"] {
                try requireEqual(try await reader.next(), Data(letter.utf8), "The next chunk")
                gate.admit()
            }
            try requireEqual(try await reader.next(), nil, "The end")
            try requireEqual(try await reader.next(), nil, "What follows the end")
        }
    }

    /// A response may arrive in packets of one byte.
    public static let slowDrip = TransportCase(
        "slowDrip", "A response that arrives byte by byte is the same response."
    ) { subject in
        let bench = try await subject.bench()
        let answer =
            "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
        let response = try await bench.send(to: .script(.trickle(answer, every: .milliseconds(1))))
        try requireEqual(response.head.headerFields[.eTag], #""1""#, "The ETag")
        try requireEqual(
            try await response.body.collectAll().data, Data("hello world".utf8), "The content")
    }

    /// Large content arrives whole and in order, however it is framed and read.
    public static let largeContent = TransportCase(
        "largeContent", "32 MiB arrive whole and in order, with a length and in chunks."
    ) { subject in
        let bench = try await subject.bench()
        for isChunked in [false, true] {
            let response = try await bench.send(to: .generated(count: 32 << 20, chunked: isChunked))
            try requireEqual(try await response.body.countPattern(), 32 << 20, "The number of bytes")
        }
    }

    /// A reader who takes nothing holds the server back, so that neither memory nor disk fill up.
    public static let backPressure = TransportCase(
        "backPressure", "A server cannot send 64 MiB to a caller who reads only the first chunk."
    ) { subject in
        let bench = try await subject.bench()
        let start = ContinuousClock.now
        let whole = try await bench.send(to: .generated(count: 64 << 20))
        try requireEqual(try await whole.body.countPattern(), 64 << 20, "The number of bytes")
        let timeForAll = ContinuousClock.now - start

        let gate = Gate()
        let response = try await bench.send(
            to: .script(.head(.ok, ["Content-Length": "\(64 << 20)"]), .generated(64 << 20), .wait(gate)))
        var reader = try await response.body.open()
        let first = try await reader.next() ?? Data()
        // Real time, since no event tells that a server is held back: three times what the whole takes a quick reader.
        try await Task.sleep(for: timeForAll * 3 + .milliseconds(200))
        try requireEqual(gate.waitingCount, 0, "The number of servers that have sent everything")
        gate.open()
        var offset = Int64(first.count)
        while let chunk = try await reader.next() {
            try require(BytePattern.matches(chunk, at: offset), "The bytes behind \(offset) are wrong.")
            offset += Int64(chunk.count)
        }
        try requireEqual(offset, 64 << 20, "The number of bytes")
    }

    /// A response's body can be opened once; the second time is an error, not an empty body.
    public static let readOnce = TransportCase(
        "readOnce", "Opening a response's body for the second time throws BodyReadTwiceError."
    ) { subject in
        let bench = try await subject.bench()
        let response = try await bench.send(to: .chunked(chunks: ["hello"]))
        try requireEqual(try await response.body.collectAll().data.count, 5, "The number of bytes")
        do {
            _ = try await response.body.collectAll()
        } catch is BodyReadTwiceError {
            return
        }
        throw ConformanceFailure("A body was read a second time.")
    }

    /// A response that is dropped unread gives its connection back, by closing it.
    public static let unreadDrop = TransportCase(
        "unreadDrop", "Dropping a response unread closes its connection, and the next response is its own."
    ) { subject in
        for answer in [LoopbackOrigin.Answer.generated(count: 1 << 40), .script(.openHead([:]), .raw("a"), .hang)] {
            let bench = try await subject.bench()
            _ = try await bench.send(to: answer)
            try await bench.requireClosed(after: "an unread response was dropped")
            try await bench.requireUsable(after: "an unread response was dropped")
        }
    }

    /// A reader that is dropped before the end closes its connection.
    public static let partialDrop = TransportCase(
        "partialDrop", "Dropping a reader before the end closes its connection, and the next response is its own."
    ) { subject in
        let bench = try await subject.bench()
        for _ in 0..<3 {
            var reader = try await bench.send(to: .generated(count: 1 << 40)).body.open()
            for _ in 0..<10 { _ = try await reader.next() }
        }
        try await bench.requireClosed(after: "a reader was dropped")
        try await bench.requireUsable(after: "a reader was dropped")
    }

    /// Informational responses are in the metadata, and are not the answer.
    public static let informational = TransportCase(
        "informational", "Each 1xx comes in the metadata, in order, before the response that answers."
    ) { subject in
        let bench = try await subject.bench()
        let response = try await bench.send(
            to: LoopbackOrigin.Answer(body: "hello").after(
                .head(.continue), .head(.init(code: 103), ["Link": "</a>"]), .head(.init(code: 102))))
        try requireEqual(response.status, .ok, "The status")
        try requireEqual(response.metadata.informational.map(\.status.code), [100, 103, 102], "The statuses before")
        try requireEqual(
            response.metadata.informational.map { $0.headerFields.first?.value }, [nil, "</a>", nil], "Their fields")
        try requireEqual(try await response.body.collectAll().data, Data("hello".utf8), "The content")
    }

    /// Trailer fields reach the reader at the end.
    public static let responseTrailers = TransportCase(
        "responseTrailers", "Trailer fields reach the reader at the end of the content, repeats too."
    ) { subject in
        let bench = try await subject.bench()
        let response = try await bench.send(
            to: .chunked(chunks: ["hello"], trailers: ["ETag": "1", "Server": "a", "ETag": "2"]))
        let trailers = try await response.body.collectAll().trailers
        try requireEqual(trailers, [.eTag: "1", .server: "a", .eTag: "2"], "The trailers")
        try await bench.requireUsable(after: "trailers")
    }
}
