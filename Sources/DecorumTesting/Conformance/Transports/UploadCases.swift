import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// Content of requests.
    public static let uploads: [TransportCase] = [
        .wholeUploads, .emptyUploads, .announcedUploads, .methodsWithContent, .fileUploads, .echo, .streamedUpload,
        .interleaving, .refusedExpectation, .requestTrailers, .failingUpload, .wrongLength, .spentBody, .brokenUpload,
    ]

    /// Content arrives whole, framed by its length where it is known, and by exactly one of the two framings.
    public static let wholeUploads = TransportCase(
        "wholeUploads", "Bytes and streams arrive whole, with their length where it is known, and framed in one way."
    ) { subject in
        let bench = try await subject.bench()
        for count in [1, 70_000, 3_000_000] {
            let stream = Upload(count: count)
            for body in [Body(BytePattern.bytes(count)), stream.body(knowingLength: true), stream.body()] {
                _ = try await bench.send(.put, to: .init(), body: body)
                guard let request = bench.origin.requests.last else { continue }
                try requireEqual(request.bodyLength, Int64(count), "The number of bytes that arrived")
                try require(request.isBodyPattern, "The bytes of an upload were changed.")
                let lengths = request.fields.values(of: "Content-Length")
                let codings = request.fields.values(of: "Transfer-Encoding")
                try requireEqual(lengths.count + codings.count, 1, "The number of framings, \(lengths + codings)")
                guard body.length != nil else { continue }
                try requireEqual(lengths, ["\(count)"], "The length of an upload")
            }
        }
    }

    /// A request whose method expects content has a length of 0 without it (RFC 9110, section 8.6); others have no length.
    public static let emptyUploads = TransportCase(
        "emptyUploads", "A POST without content has a Content-Length of 0, and a GET has none."
    ) { subject in
        let bench = try await subject.bench()
        for (method, lengths) in [(HTTPRequest.Method.post, ["0"]), (.put, ["0"]), (.get, []), (.head, [])] {
            _ = try await bench.send(method, to: .init())
            let fields = bench.origin.requests.last?.fields ?? [:]
            try requireEqual(fields.values(of: "Content-Length"), lengths, "The length that \(method) tells")
            try requireEqual(fields["Transfer-Encoding"], nil, "The coding of \(method)")
        }
    }

    /// A request's own fields of framing do not matter: a second announcement could smuggle a request past a proxy
    /// (RFC 9112, section 6.3).
    public static let announcedUploads = TransportCase(
        "announcedUploads", "A Content-Length and a Transfer-Encoding that contradict the content are not sent."
    ) { subject in
        let bench = try await subject.bench()
        var fields: HTTPFields = [.contentLength: "3", .transferEncoding: "gzip, chunked"]
        fields.append(HTTPField(name: .contentLength, value: "4"))
        for body in [Body("hello"), Upload(count: 5).body()] {
            _ = try await bench.send(.post, to: .init(), fields: fields, body: body)
            guard let request = bench.origin.requests.last else { continue }
            try requireEqual(request.bodyLength, 5, "The number of bytes that arrived")
            let lengths = request.fields.values(of: "Content-Length")
            let codings = request.fields.values(of: "Transfer-Encoding")
            try require([["5"], ["chunked"]].contains(lengths + codings), "The framing is \(lengths + codings).")
        }
    }

    /// The content of a request depends on no list of methods.
    public static let methodsWithContent = TransportCase(
        "methodsWithContent", "Content arrives with every method that may have it, with the unknown ones too."
    ) { subject in
        let bench = try await subject.bench()
        for name in ["PUT", "PATCH", "DELETE", "QUERY", "purge", "M-SEARCH", "PROPFIND"] {
            guard let method = HTTPRequest.Method(name) else { continue }
            _ = try await bench.send(method, to: .init(), body: "hello")
            try requireEqual(bench.origin.requests.last?.method.rawValue, name, "The method")
            try requireEqual(bench.origin.requests.last?.text, "hello", "The content of \(name)")
        }
    }

    /// A file is sent from the disk, and sending fails if the file was removed or became shorter.
    public static let fileUploads = TransportCase(
        "fileUploads", "A file arrives whole, with its length; one that has gone or become shorter sends nothing."
    ) { subject in
        let bench = try await subject.bench()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("conformance-\(bench.origin.port)")
        defer { try? FileManager.default.removeItem(at: file) }
        try BytePattern.bytes(2_000_000).write(to: file)
        let body = try Body(contentsOf: file)
        _ = try await bench.send(.put, to: .init(), body: body)
        let request = try await bench.waitForRequests(1)[0]
        try require(request.isBodyPattern && request.bodyLength == 2_000_000, "The file did not arrive as it is.")
        try requireEqual(request.fields["Content-Length"], "2000000", "The length")

        try BytePattern.bytes(3).write(to: file)
        try await requireTransportError(of: [.unreadableBody], at: .connecting, "A file that has become shorter") {
            _ = try await bench.send(.put, to: .init(), body: body)
        }
        try FileManager.default.removeItem(at: file)
        try await requireTransportError(of: [.unreadableBody], at: .connecting, "A file that has gone") {
            _ = try await bench.send(.put, to: .init(), body: body)
        }
        try requireEqual(bench.origin.requests.count, 1, "The number of requests")
    }

    /// 1 MiB of content that a server sends back arrives unchanged.
    public static let echo = TransportCase("echo", "1 MiB that is sent comes back the same.") { subject in
        let bench = try await subject.bench()
        bench.origin.route(.post, "/echo") { request in .init(body: request.body) }
        for body in [Body(BytePattern.bytes(1 << 20)), Upload(count: 1 << 20).body()] {
            let response = try await bench.connection.send(bench.request(.post, "/echo", body: body))
            try requireEqual(try await response.body.countPattern(), 1 << 20, "The number of bytes that came back")
        }
    }

    /// A stream is sent while it is made.
    public static let streamedUpload = TransportCase(
        "streamedUpload", "The first chunk of a stream arrives before the second one is made."
    ) { subject in
        let bench = try await subject.bench()
        let (arrived, more) = (Gate(), Gate())
        bench.origin.enqueue(answering: .afterHead) { _ in
            .script(.receive(atLeast: 5), .wait(arrived), .receiveBody, .head(.ok, ["Content-Length": "0"]))
        }
        let request = try bench.request(
            .put,
            body: Body(replay: .once) { _ in
                GatedReader(chunks: ["first", "second"]) { try await more.wait() }
            })
        let task = Task { try await bench.connection.send(request) }
        defer { task.cancel() }
        try await withDeadline("The first chunk was not sent before there was a second.") {
            try await arrived.waitForWaiting(1)
        }
        more.open()
        arrived.open()
        try requireEqual(try await task.value.status, .ok, "The status")
        try requireEqual(bench.origin.requests.first?.text, "firstsecond", "The content that arrived")
    }

    /// Both directions flow at the same time.
    public static let interleaving = TransportCase(
        "interleaving", "Each chunk of an upload can be the answer to a chunk of the response."
    ) { subject in
        let bench = try await subject.bench()
        bench.origin.enqueue(answering: .afterHead) { _ in
            .script(
                .openHead(["Transfer-Encoding": "chunked"]), .receive(atLeast: 1), .chunk("A"), .receive(atLeast: 2),
                .chunk("B"), .receive(atLeast: 3), .chunk("C"), .receiveBody, .lastChunk())
        }
        let turn = Gate()
        let request = try bench.request(
            .post,
            body: Body(replay: .once) { _ in
                GatedReader(chunks: ["a", "b", "c"]) { try await turn.wait() }
            })
        try await withDeadline("The two directions wait for each other.") {
            let response = try await bench.connection.send(request)
            var reader = try await response.body.open()
            for letter in ["A", "B", "C"] {
                try requireEqual(try await reader.next(), Data(letter.utf8), "The next chunk")
                turn.admit()
            }
            try requireEqual(try await reader.next(), nil, "The end")
        }
    }

    /// A server may answer before it has read the request, and the answer counts.
    public static let earlyAnswer = TransportCase(
        "earlyAnswer", "The answer of a server that does not read the content reaches the caller."
    ) { subject in
        let bench = try await subject.bench()
        for text in ["too much", ""] {
            for body in [Body(BytePattern.bytes(8 << 20)), Upload(count: 8 << 20).body()] {
                bench.origin.enqueue(
                    .init(.contentTooLarge, fields: ["Connection": "close"], body: text), answering: .afterHead)
                let response = try await bench.connection.send(bench.request(.post, body: body))
                try requireEqual(response.status, .contentTooLarge, "The status")
                try requireEqual(try await response.body.collectAll().data, Data(text.utf8), "The content")
            }
        }
        try await bench.requireUsable(after: "an early answer")
    }

    /// A server may refuse the content that it would be asked to expect, and its answer counts (RFC 9110, section 10.1.1).
    public static let refusedExpectation = TransportCase(
        "refusedExpectation",
        "A 417 to a request that expects 100-continue is returned with its content, and nothing is sent again."
    ) { subject in
        let bench = try await subject.bench()
        let refusal = LoopbackOrigin.Answer(.init(code: 417), body: "not here")
        bench.origin.enqueue(refusal, answering: .afterHead)
        let response = try await bench.connection.send(
            bench.request(.post, fields: [.expect: "100-continue"], body: "hello"))
        try requireEqual(response.status.code, 417, "The status")
        try requireEqual(try await response.body.collectAll().data, Data("not here".utf8), "The content")
        try requireEqual(bench.origin.requests.count, 1, "The number of requests")
    }

    /// Trailer fields of a request's body follow its chunks.
    public static let requestTrailers = TransportCase(
        "requestTrailers", "Trailer fields of a request's body arrive behind its chunks."
    ) { subject in
        let bench = try await subject.bench()
        let body = BodyProbe().body(chunks: 2, trailers: [.eTag: "1", .server: "a"])
        _ = try await bench.send(.post, to: .init(), body: body)
        let trailers = try await bench.waitForRequests(1)[0].trailers
        try requireEqual(trailers, ["ETag": "1", "Server": "a"], "The trailers")
    }
}

/// Bytes of ``BytePattern`` as a stream of chunks.
struct Upload {
    let count: Int

    func body(knowingLength: Bool = false) -> Body {
        let chunks = AsyncStream { continuation in
            for start in stride(from: 0, to: count, by: 10_000) {
                continuation.yield(BytePattern.bytes(min(10_000, count - start), at: Int64(start)))
            }
            continuation.finish()
        }
        return Body(chunks: chunks, length: knowingLength ? Int64(count) : nil)
    }
}

/// Gives the first chunk at once, and waits before each further one.
struct GatedReader: BodyReader {
    var chunks: [String]
    private let wait: @Sendable () async throws -> Void
    private var hasBegun = false

    init(chunks: [String], wait: @escaping @Sendable () async throws -> Void) {
        self.chunks = chunks
        self.wait = wait
    }

    mutating func next() async throws -> Data? {
        guard !chunks.isEmpty else { return nil }
        if hasBegun { try await wait() }
        hasBegun = true
        return Data(chunks.removeFirst().utf8)
    }

    var trailers: HTTPFields? { nil }
}
