#if canImport(FoundationNetworking)
import DecorumTesting
import Foundation
import FoundationNetworking
import HTTPTypes
import Synchronization
import Testing

/// Flaws of URLSession on Linux that `URLSessionConnection` works around.
///
/// When a test fails, the platform has changed, and the transport may become simpler.
@Suite(.timeLimit(.minutes(3))) struct URLSessionOnLinuxTests {
    let origin: LoopbackOrigin
    let session = URLSession(configuration: .ephemeral)

    init() throws {
        origin = try LoopbackOrigin()
    }

    private func request(_ method: String = "GET", to origin: LoopbackOrigin? = nil) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: (origin ?? self.origin).url + "/")))
        request.httpMethod = method
        return request
    }

    /// Sends a request without content with a delegate, to the end.
    private func run(_ delegate: Delegate) async throws {
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        session.dataTask(with: try request()).resume()
        try await delegate.end.wait()
        session.finishTasksAndInvalidate()
    }

    @Test func `A redirection takes Authorization along to another origin`() async throws {
        let other = try LoopbackOrigin()
        origin.enqueue(LoopbackOrigin.Answer(.found, fields: ["Location": .init(other.url + "/")]))
        other.enqueue(LoopbackOrigin.Answer())
        var request = try request()
        request.setValue("s3cret", forHTTPHeaderField: "Authorization")

        _ = try await session.data(for: request)
        #expect(other.requests.map { $0.fields["Authorization"] } == ["s3cret"])
    }

    @Test(arguments: [307, 308])
    func `A redirection that keeps the method loses the content`(code: Int) async throws {
        origin.enqueue(
            LoopbackOrigin.Answer(.init(code: code), fields: ["Location": "/b"]), LoopbackOrigin.Answer())

        _ = try await session.upload(for: request("POST"), from: Data("hello".utf8))
        #expect(origin.requests.map(\.method) == [.post, .post])
        #expect(origin.requests.map(\.text) == ["hello", ""])
    }

    @Test func `The content of the request itself gets a type that the caller did not set`() async throws {
        origin.enqueue(LoopbackOrigin.Answer())
        var request = try request("POST")
        request.httpBody = Data("hello".utf8)

        _ = try await session.data(for: request)
        #expect(origin.requests.map { $0.fields["Content-Type"] } == ["application/x-www-form-urlencoded"])
    }

    @Test func `A stream is sent in chunks, and a length of the caller's contradicts them`() async throws {
        origin.enqueue(LoopbackOrigin.Answer())
        var request = try request("POST")
        request.httpBodyStream = InputStream(data: Data("hello".utf8))
        request.setValue("5", forHTTPHeaderField: "Content-Length")

        _ = try? await session.data(for: request)
        #expect(origin.rejections.map(\.description) == ["Content-Length stands beside Transfer-Encoding."])
    }

    @Test func `A stream on a connection that turns out to be dead arrives empty, and succeeds`() async throws {
        origin.enqueue(LoopbackOrigin.Answer(), .closing, LoopbackOrigin.Answer(.created))
        _ = try await session.data(for: request())
        var request = try request("POST")
        request.httpBodyStream = InputStream(data: Data("hello".utf8))

        let (_, response) = try await session.data(for: request)
        #expect((response as? HTTPURLResponse)?.statusCode == 201)
        #expect(origin.requests.map(\.text) == ["", "hello", ""])
    }

    @Test func `Informational responses come as if they were the answer`() async throws {
        origin.enqueue(LoopbackOrigin.Answer(body: "hello").after(.head(.init(code: 103))))
        let delegate = Delegate()

        try await run(delegate)
        #expect(delegate.log == ["response 103", "response 200", "data 5", "end"])
    }

    @Test func `A delegate that declines a response gets it all the same`() async throws {
        origin.enqueue(LoopbackOrigin.Answer(body: "hello"))
        let delegate = Delegate(disposition: .cancel)

        try await run(delegate)
        #expect(delegate.log == ["response 200", "data 5", "end"])
    }

    @Test func `Metrics never come`() async throws {
        origin.enqueue(LoopbackOrigin.Answer())
        let delegate = Delegate()

        try await run(delegate)
        #expect(delegate.log == ["response 200", "end"])
    }

    @Test func `The limit for a whole transfer is not kept`() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForResource = 1
        origin.enqueue(LoopbackOrigin.Answer(body: "hello").after(.pause(.seconds(2))))

        let (data, _) = try await URLSession(configuration: configuration).data(for: request())
        #expect(data.count == 5)
    }

    @Test func `The proxy of the configuration is ignored`() async throws {
        let proxy = try LoopbackOrigin.refusing()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = [
            "HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": proxy.port,
        ]
        origin.enqueue(LoopbackOrigin.Answer(body: "hello"))

        let (data, _) = try await URLSession(configuration: configuration).data(for: request())
        #expect(data.count == 5)
    }
}

/// Writes down what it is told.
private final class Delegate: NSObject, URLSessionDataDelegate {
    let end = Gate()
    private let disposition: URLSession.ResponseDisposition
    private let lines = Mutex<[String]>([])

    init(disposition: URLSession.ResponseDisposition = .allow) {
        self.disposition = disposition
    }

    var log: [String] { lines.withLock { $0 } }

    private func add(_ line: String) {
        lines.withLock { $0.append(line) }
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        add("response \((response as? HTTPURLResponse)?.statusCode ?? 0)")
        completionHandler(disposition)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        add("data \(data.count)")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        add("metrics")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        add(error == nil ? "end" : "failure")
        end.open()
    }
}
#endif
