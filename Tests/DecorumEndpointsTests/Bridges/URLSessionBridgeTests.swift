import Decorum
import DecorumEndpoints
import DecorumTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(2))) struct URLSessionBridgeTests {
    let origin: LoopbackOrigin
    let bridge = URLSessionBridge(to: SystemConnection())

    init() throws {
        origin = try LoopbackOrigin()
    }

    private func request(_ path: String) throws -> URLRequest {
        URLRequest(url: try #require(URL(string: origin.url + path)))
    }

    private func session(delegate: (any URLSessionDelegate)? = nil) -> URLSession {
        URLSession(configuration: bridge.configuration(), delegate: delegate, delegateQueue: nil)
    }

    @Test func `A session gets the content and the head`() async throws {
        origin.route(.get, "/a", .chunked(fields: ["ETag": #""1""#, "X-A": "1", "X-A": "2"], chunks: ["he", "llo"]))
        let base = URLSessionConfiguration.ephemeral
        base.httpAdditionalHeaders = ["X-Client": "maps"]
        let session = URLSession(configuration: bridge.configuration(basedOn: base))
        let (data, response) = try await session.data(for: request("/a"))
        let head = try #require(response as? HTTPURLResponse)
        #expect(String(decoding: data, as: UTF8.self) == "hello")
        #expect(head.statusCode == 200)
        #expect(head.value(forHTTPHeaderField: "ETag") == #""1""#)
        #expect(head.value(forHTTPHeaderField: "X-A") == "1, 2")
        #expect(origin.requests.first?.fields["X-Client"] == "maps")
    }

    @Test func `Concurrent requests of two sessions go through their own connections`() async throws {
        let stubs = ["one", "two"].map { name in
            StubConnection { request in Response(status: .ok, body: Body("\(name) \(request.head.path ?? "")")) }
        }
        let bridges = stubs.map { URLSessionBridge(to: $0) }
        let sessions = bridges.map { URLSession(configuration: $0.configuration()) }
        try await withThrowingTaskGroup(of: (String, String).self) { group in
            for number in 0..<40 {
                let request = try request("/\(number)")
                let session = sessions[number % 2]
                let expected = "\(number % 2 == 0 ? "one" : "two") /\(number)"
                group.addTask { (String(decoding: try await session.data(for: request).0, as: UTF8.self), expected) }
            }
            for try await (text, expected) in group { #expect(text == expected) }
        }
        #expect(stubs.map(\.requests.count) == [20, 20])
        withExtendedLifetime(bridges) {}
    }

    @Test func `Cancelling a task ends the exchange`() async throws {
        origin.route(.get, "/slow", .hanging)
        let session = session()
        let request = try request("/slow")
        let task = Task { try await session.data(for: request) }
        try await origin.waitForHeads(1)
        task.cancel()
        let error = await #expect(throws: (any Error).self) { try await task.value }
        #expect(error is CancellationError || (error as? URLError)?.code == .cancelled)
        try await origin.waitForOpenConnections(0)
    }

    @Test func `Tasks that are cancelled at any moment end once`() async throws {
        origin.route(.get, "/", .chunked(chunks: ["a", "b", "c"]))
        let session = session()
        let request = try request("/")
        let ends = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let call = Task { try await session.data(for: request) }
                    for _ in 0..<number { await Task.yield() }
                    call.cancel()
                    switch await call.result {
                    case .success(let (data, _)): return data == Data("abc".utf8)
                    case .failure(let error):
                        return error is CancellationError || (error as? URLError)?.code == .cancelled
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(ends.count == 100 && ends.allSatisfy { $0 })
    }

    @Test func `A failure is a URLError with the error of the layer`() async throws {
        let refusing = try LoopbackOrigin.refusing()
        let request = URLRequest(url: try #require(URL(string: refusing.url + "/")))
        let error = try await #require(throws: URLError.self) { try await session().data(for: request) }
        #expect(error.code == .cannotConnectToHost)
        let cause = try #require(error.userInfo[NSUnderlyingErrorKey] as? TransportError)
        #expect(cause.code == .connectionRefused)
    }

    @Test func `Content beyond the limit is an error`() async throws {
        origin.route(.get, "/long", .generated(count: 1 << 20))
        let small = URLSessionBridge(to: SystemConnection(), delivery: .whole(upTo: 1000))
        let session = URLSession(configuration: small.configuration())
        let error = try await #require(throws: URLError.self) { try await session.data(for: request("/long")) }
        #expect(error.code == .dataLengthExceedsMaximum)
        withExtendedLifetime(small) {}
    }

    @Test func `A delegate gets chunks as they come`() async throws {
        let gate = Gate()
        origin.route(
            .get, "/",
            .script(
                .head(.ok, ["Content-Length": "2"]), .raw("h"), .wait(gate), .raw("i")))
        let streaming = URLSessionBridge(to: SystemConnection(), delivery: .chunks)
        let (chunks, continuation) = AsyncThrowingStream.makeStream(of: String.self)
        let session = URLSession(
            configuration: streaming.configuration(), delegate: ChunkDelegate(continuation), delegateQueue: nil)
        session.dataTask(with: try request("/")).resume()
        var iterator = chunks.makeAsyncIterator()
        #expect(try await iterator.next() == "200")
        #expect(try await iterator.next() == "h")
        gate.open()
        #expect(try await iterator.next() == "i")
        #expect(try await iterator.next() == nil)
        withExtendedLifetime(streaming) {}
    }

    @Test(arguments: [10, 3 << 20]) func `Content and streams are sent`(length: Int) async throws {
        origin.route(.post, "/items") { .init(.created, body: "\($0.bodyLength)") }
        var first = try request("/items")
        first.httpMethod = "POST"
        var second = first
        first.httpBody = Data(count: length)
        second.httpBodyStream = InputStream(data: Data(count: length))
        for request in [first, second] {
            let (data, _) = try await session().data(for: request)
            #expect(String(decoding: data, as: UTF8.self) == "\(length)")
        }
        #expect(origin.requests.map(\.bodyLength) == [Int64(length), Int64(length)])
    }

    @Test func `Statuses are answers, a challenge too`() async throws {
        let challenge = #"Basic realm="a""#
        origin.route(.get, "/private", .init(.unauthorized, fields: ["WWW-Authenticate": challenge], body: "no"))
        origin.route(.get, "/old", .init(.found, fields: ["Location": "/new"]))
        origin.route(.get, "/new", "new")
        for (path, status, text) in [("/private", 401, "no"), ("/old", 302, "")] {
            let (data, response) = try await session().data(for: request(path))
            #expect((response as? HTTPURLResponse)?.statusCode == status)
            #expect(String(decoding: data, as: UTF8.self) == text)
        }
        let following = URLSessionBridge(to: SystemConnection().followingRedirects())
        let session = URLSession(configuration: following.configuration())
        let (_, response) = try await session.data(for: request("/old"))
        #expect(response.url?.path == "/new")
        withExtendedLifetime(following) {}
    }

    @Test func `Without its bridge a session fails`() async throws {
        let configuration = URLSessionBridge(to: SystemConnection()).configuration()
        let session = URLSession(configuration: configuration)
        let error = try await #require(throws: URLError.self) { try await session.data(for: request("/")) }
        #expect(error.code == .resourceUnavailable)
        #expect(origin.requests.isEmpty)
    }

    #if canImport(FoundationNetworking)
    @Test func `Tasks whose content cannot be reached are refused on Linux`() async throws {
        var upload = try request("/items")
        upload.httpMethod = "POST"
        for task in ["upload", "download"] {
            let error = try await #require(throws: URLError.self) {
                if task == "upload" {
                    _ = try await session().upload(for: upload, from: Data("x".utf8))
                } else {
                    _ = try await session().download(for: request("/"))
                }
            }
            #expect(error.code == .unsupportedURL)
        }
        #expect(origin.requests.isEmpty)
    }
    #endif
}

/// A delegate that passes on the status and each chunk as text.
private final class ChunkDelegate: NSObject, URLSessionDataDelegate {
    private let continuation: AsyncThrowingStream<String, any Error>.Continuation

    init(_ continuation: AsyncThrowingStream<String, any Error>.Continuation) {
        self.continuation = continuation
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        continuation.yield("\((response as? HTTPURLResponse)?.statusCode ?? 0)")
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        continuation.yield(String(decoding: data, as: UTF8.self))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        continuation.finish(throwing: error)
    }
}
