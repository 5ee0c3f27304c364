import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension TransportCase {
    /// Content arrives whole, framed by its length where it is known, and by exactly one of the two framings.
    package static let wholeUploads = TransportCase("wholeUploads") { bench in
        for count in [0, 1, 65_536, 65_537, 3_000_000] {
            for body in [Body(BytePattern.bytes(count)), .stream(count, length: count), .stream(count)] {
                _ = try await bench.send(.put, to: .init(), body: body)
                guard let request = bench.origin.requests.last else { continue }
                try expect(request.bodyLength, is: Int64(count), "bytes")
                try expect(request.isBodyPattern, "the pattern")
                let lengths = request.fields.values(of: "Content-Length")
                let codings = request.fields.values(of: "Transfer-Encoding")
                try expect(lengths.count + codings.count, is: 1, "framings")
                guard body.length != nil else { continue }
                try expect(lengths, is: ["\(count)"], "length")
            }
        }
    }

    /// A request whose method expects content has a length of 0 without it (RFC 9110, section 8.6); others have no length.
    package static let emptyUploads = TransportCase("emptyUploads") { bench in
        for (method, lengths) in [(HTTPRequest.Method.post, ["0"]), (.put, ["0"]), (.get, []), (.head, [])] {
            _ = try await bench.send(method, to: .init())
            let fields = bench.origin.requests.last?.fields ?? [:]
            try expect(fields.values(of: "Content-Length"), is: lengths, "length for \(method)")
            try expect(fields["Transfer-Encoding"], is: nil, "coding of \(method)")
        }
    }

    /// A request's own fields of framing do not matter: a second announcement could smuggle a request past a proxy
    /// (RFC 9112, section 6.3).
    package static let announcedUploads = TransportCase("announcedUploads") { bench in
        var fields: HTTPFields = [.contentLength: "3", .transferEncoding: "gzip, chunked"]
        fields.append(HTTPField(name: .contentLength, value: "4"))
        for body in [Body("hello"), .stream(5)] {
            _ = try await bench.send(.post, to: .init(), fields: fields, body: body)
            guard let request = bench.origin.requests.last else { continue }
            try expect(request.bodyLength, is: 5, "bytes")
            let lengths = request.fields.values(of: "Content-Length")
            let codings = request.fields.values(of: "Transfer-Encoding")
            try expect([["5"], ["chunked"]].contains(lengths + codings), "one framing")
        }
    }

    /// The content of a request depends on no list of methods.
    package static let methodsWithContent = TransportCase("methodsWithContent") { bench in
        for name in ["PUT", "PATCH", "DELETE", "QUERY", "purge", "M-SEARCH", "PROPFIND"] {
            guard let method = HTTPRequest.Method(name) else { continue }
            _ = try await bench.send(method, to: .init(), body: "hello")
            try expect(bench.origin.requests.last?.method.rawValue, is: name, "method")
            try expect(bench.origin.requests.last?.text, is: "hello", "content of \(name)")
        }
    }

    /// A file is sent from the disk, and sending fails if the file was removed or became shorter.
    package static let fileUploads = TransportCase("fileUploads") { bench in
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("conformance-\(bench.origin.port)")
        defer { try? FileManager.default.removeItem(at: file) }
        try BytePattern.bytes(2_000_000).write(to: file)
        let body = try Body(contentsOf: file)
        _ = try await bench.send(.put, to: .init(), body: body)
        let request = try await bench.waitForRequests(1)[0]
        try expect(request.isBodyPattern && request.bodyLength == 2_000_000, "the file")
        try expect(request.fields["Content-Length"], is: "2000000", "length")

        for change in [{ try BytePattern.bytes(3).write(to: file) }, { try FileManager.default.removeItem(at: file) }] {
            try change()
            try await expectFailure([.unreadableBody], at: .connecting) {
                _ = try await bench.send(.put, to: .init(), body: body)
            }
        }
        try expect(bench.origin.requests.count, is: 1, "requests")
    }

    /// 1 MiB of content that a server sends back arrives unchanged.
    package static let echo = TransportCase("echo") { bench in
        bench.origin.route(.post, "/echo") { request in .init(body: request.body) }
        for body in [Body(BytePattern.bytes(1 << 20)), .stream(1 << 20)] {
            let response = try await bench.send(.post, "/echo", body: body)
            try expect(try await response.body.countPattern(), is: 1 << 20, "bytes")
        }
    }

    /// A stream is sent while it is made.
    package static let streamedUpload = TransportCase("streamedUpload") { bench in
        let (arrived, more) = (Gate(), Gate())
        bench.origin.enqueue(answering: .afterHead) { _ in
            .script(.receive(atLeast: 5), .wait(arrived), .receiveBody, .head(.ok, ["Content-Length": "0"]))
        }
        let request = try bench.request(.put, body: .gated("first", "second", by: more))
        let task = Task { try await bench.connection.send(request) }
        defer { task.cancel() }
        try await withDeadline { try await arrived.waitForWaiting(1) }
        more.open()
        arrived.open()
        try expect(try await task.value.status, is: .ok, "status")
        try expect(bench.origin.requests.first?.text, is: "firstsecond")
    }

    /// Both directions flow at the same time.
    package static let interleaving = TransportCase("interleaving") { bench in
        bench.origin.enqueue(answering: .afterHead) { _ in
            .script(
                .openHead(["Transfer-Encoding": "chunked"]), .receive(atLeast: 1), .chunk("A"), .receive(atLeast: 2),
                .chunk("B"), .receive(atLeast: 3), .chunk("C"), .receiveBody, .lastChunk())
        }
        let turn = Gate()
        let request = try bench.request(.post, body: .gated("a", "b", "c", by: turn))
        try await withDeadline {
            let response = try await bench.connection.send(request)
            var reader = try await response.body.open()
            for letter in ["A", "B", "C"] {
                try expect(try await reader.next(), is: Data(letter.utf8), "next chunk")
                turn.admit()
            }
            try expect(try await reader.next(), is: nil, "end")
        }
    }

    /// Content is made only as fast as the server takes it, so that it does not fill the memory.
    package static let heldUpload = TransportCase("heldUpload") { bench in
        let gate = Gate()
        bench.origin.enqueue(
            .script(.receive(atLeast: 1), .wait(gate), .receiveBody, .head(.ok, ["Content-Length": "0"])),
            answering: .afterHead)
        bench.origin.route(.get, "/small", "small")
        let content = BodyProbe()
        let request = try bench.request(.put, body: content.body(chunks: 8 << 10))
        let task = Task { try await bench.connection.send(request).status }
        try await gate.waitForWaiting(1)
        for _ in 0..<200 { _ = try await bench.send(.get, "/small").text() }
        try expect(content.state.bytesRead < 16 << 20, "fewer than 16 MiB, got \(content.state.bytesRead) bytes")
        gate.open()
        try expect(try await task.value, is: .ok, "status")
        try expect(bench.origin.requests.first?.isBodyPattern, is: true, "pattern")
    }

    /// A server may answer before it has read the request, and the answer counts.
    package static let earlyAnswer = TransportCase("earlyAnswer") { bench in
        for text in ["too much", ""] {
            for body in [Body(BytePattern.bytes(8 << 20)), .stream(8 << 20)] {
                bench.origin.enqueue(
                    .init(.contentTooLarge, fields: ["Connection": "close"], body: text), answering: .afterHead)
                let response = try await bench.send(.post, body: body)
                try expect(response.status, is: .contentTooLarge, "status")
                try expect(try await response.text(), is: text)
            }
        }
        try await bench.expectUsable()
    }

    /// A server may refuse the content that it would be asked to expect, and its answer counts (RFC 9110, section 10.1.1).
    package static let refusedExpectation = TransportCase("refusedExpectation") { bench in
        let refusal = LoopbackOrigin.Answer(.init(code: 417), body: "not here")
        bench.origin.enqueue(refusal, answering: .afterHead)
        let response = try await bench.send(.post, fields: [.expect: "100-continue"], body: "hello")
        try expect(response.status.code, is: 417, "status")
        try expect(try await response.text(), is: "not here")
        try expect(bench.origin.requests.count, is: 1, "requests")
    }

    /// Trailer fields of a request's body follow its chunks.
    package static let requestTrailers = TransportCase("requestTrailers") { bench in
        let body = BodyProbe().body(chunks: 2, trailers: [.eTag: "1", .server: "a"])
        _ = try await bench.send(.post, to: .init(), body: body)
        let trailers = try await bench.waitForRequests(1)[0].trailers
        try expect(trailers, is: ["ETag": "1", "Server": "a"], "trailers")
    }
}

extension Body {
    /// Bytes of ``BytePattern`` as a stream of chunks.
    static func stream(_ count: Int, length: Int? = nil) -> Body {
        let chunks = AsyncStream { continuation in
            for start in stride(from: 0, to: count, by: 10_000) {
                continuation.yield(BytePattern.bytes(Swift.min(10_000, count - start), at: Int64(start)))
            }
            continuation.finish()
        }
        return Body(chunks: chunks, length: length.map(Int64.init))
    }

    /// Gives the first chunk at once, and waits at a gate before each further one.
    static func gated(_ chunks: String..., length: Int? = nil, by gate: Gate) -> Body {
        Body(length: length.map(Int64.init), replay: .once) { _ in GatedReader(chunks: chunks[...], gate: gate) }
    }
}

private struct GatedReader: BodyReader {
    var chunks: ArraySlice<String>
    let gate: Gate

    mutating func next() async throws -> Data? {
        guard !chunks.isEmpty else { return nil }
        if chunks.startIndex > 0 { try await gate.wait() }
        return chunks.popFirst().map { Data($0.utf8) }
    }

    var trailers: HTTPFields? { nil }
}

/// Content of requests that cannot be sent whole.
extension TransportCase {
    /// A server that breaks off without an answer may have used a part of the content.
    package static let brokenUpload = TransportCase("brokenUpload") { bench in
        for body in [Body(BytePattern.bytes(8 << 20)), .stream(8 << 20)] {
            bench.origin.enqueue(.script(.receive(atLeast: 1 << 20), .reset), answering: .afterHead)
            let request = try bench.request(.put, body: body)
            try await expectFailure([.connectionLost], at: .head) { _ = try await bench.connection.send(request) }
        }
        try await bench.expectUsable()
    }

    /// A body that fails makes the request incomplete, and its error is the underlying one.
    package static let failingUpload = TransportCase("failingUpload") { bench in
        for knowsLength in [true, false] {
            // The failure takes the place of the last chunk: behind it, all content of a known length has been sent.
            let probe = BodyProbe(BytePattern.bytes(80 << 10))
            let body = probe.body(chunks: 5, knowingLength: knowsLength, failure: UploadFailure())
            try await expectUnreadable(body, UploadFailure.self, on: bench)
        }
        try expect(bench.origin.requests.count(where: \.isComplete), is: 0, "complete requests")
        try await bench.expectUsable()
    }

    /// A body that is shorter or longer than its length is no complete request.
    package static let wrongLength = TransportCase("wrongLength") { bench in
        for length in [9_999, 10_001] {
            let body = Body.stream(10_000, length: length)
            try await expectUnreadable(body, BodyLengthError.self, on: bench)
        }
        try expect(bench.origin.requests.count(where: \.isComplete), is: 0, "complete requests")
    }

    /// A body that was read already is never sent as an empty one, and one that cannot be opened sends nothing.
    package static let spentBody = TransportCase("spentBody") { bench in
        let body = Body.stream(10)
        _ = try await bench.send(.post, to: .init(), body: body)
        try await expectUnreadable(body, BodyReadTwiceError.self, on: bench)
        try await expectUnreadable(Body(replay: .once) { _ in throw UploadFailure() }, UploadFailure.self, on: bench)
        try expect(bench.origin.requests.filter(\.isComplete).map(\.bodyLength), is: [10], "contents")
    }

    private static func expectUnreadable(
        _ body: Body, _ type: (some Error).Type, on bench: TransportBench
    ) async throws {
        let error = try await expectError(TransportError.self) {
            _ = try await bench.send(.post, "/unreadable", body: body)
        }
        try expect(error.code, is: .unreadableBody, "code")
        try expect(error.underlying.map { Swift.type(of: $0) } == type, "\(type) as the cause")
    }
}

private struct UploadFailure: Error {}

extension TransportCase {
    /// A server that has answered completely has no need of the rest of the content (RFC 9112, section 9.3).
    package static let answerBesideUpload = TransportCase.ofSubject("answerBesideUpload") { subject in
        try await checkEarlyAnswers(subject, endingInReset: false)
    }

    /// A server that does not read the rest of the content ends the connection, which must not cost the answer.
    package static let answerBeforeReset = TransportCase.ofSubject("answerBeforeReset") { subject in
        try await checkEarlyAnswers(subject, endingInReset: true)
    }

    private static func checkEarlyAnswers(_ subject: TransportSubject, endingInReset endsInReset: Bool) async throws {
        for (status, length) in [(HTTPResponse.Status.ok, nil), (.contentTooLarge, nil), (.ok, 1 << 20), (.created, 9)]
        {
            let bench = try await subject.bench()
            let (answered, produced) = (Gate(), Gate())
            bench.origin.enqueue(
                .script(
                    .head(status, ["Content-Length": "6"]), .raw("answer"), .wait(answered),
                    endsInReset ? .reset : .hang),
                answering: .afterHead)
            let body = Body.gated("begun", "end", length: length, by: produced)
            let response = try await withDeadline(of: .seconds(10)) { try await bench.send(.post, body: body) }
            try expect(response.status, is: status, "status")
            let data = try await withDeadline(of: .seconds(10)) {
                if endsInReset { answered.open() }
                return try await response.body.collectAll().data
            }
            try expect(data, is: Data("answer".utf8), "content of \(status.code)")
            answered.open()
            produced.open()
            try await bench.expectUsable()
        }
    }

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
