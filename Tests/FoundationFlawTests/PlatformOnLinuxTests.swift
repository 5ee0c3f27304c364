#if canImport(FoundationNetworking)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import FoundationNetworking
import HTTPTypes
import Synchronization
import Testing

extension ProcessTests {
    /// Flaws of URLSession on Linux that no code around it can remove, and calls that its users must not make.
    ///
    /// Each test runs in its own process, since it ends in a trap, hangs or changes the environment. When one fails, the
    /// platform has changed, and the documentation of `URLSessionConnection` has to change too.
    @Suite(.timeLimit(.minutes(3))) struct PlatformOnLinuxTests {
        @Test func `A response with trailer fields ends the process`() async {
            await #expect(processExitsWith: .failure) {
                ProcessTests.beginFailure()
                let origin = try LoopbackOrigin()
                origin.route(.get, "/", .chunked(chunks: ["hello"], trailers: ["Digest": "x"]))
                let response = try await URLSessionConnection().send(.get(origin.url + "/"))
                try await response.body.drain(upTo: 100)
                exit(EXIT_SUCCESS)
            }
        }

        @Test func `A connection closed within the head ends the process`() async {
            await #expect(processExitsWith: .failure) {
                ProcessTests.beginFailure()
                let origin = try LoopbackOrigin()
                origin.route(.get, "/", .script(.raw("HTTP/1.1 200 OK\r\n"), .close))
                _ = try? await URLSessionConnection().send(.get(origin.url + "/"))
                exit(EXIT_SUCCESS)
            }
        }

        @Test func `The largest length that fits ends the process`() async {
            await #expect(processExitsWith: .failure) {
                ProcessTests.beginFailure()
                let origin = try LoopbackOrigin()
                origin.route(
                    .get, "/",
                    .script(.raw("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nabc"), .close))
                let response = try? await URLSessionConnection().send(.get(origin.url + "/"))
                _ = try? await response?.body.drain(upTo: 100)
                exit(EXIT_SUCCESS)
            }
        }

        @Test func `Another answer of a proxy to CONNECT comes as if the server had sent it`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let proxy = try LoopbackOrigin()
                proxy.route(nil, "*", .script(.raw("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")))
                unsafe setenv("https_proxy", proxy.url, 1)
                unsafe unsetenv("no_proxy")
                unsafe unsetenv("NO_PROXY")

                let response = try await URLSessionConnection().send(.get("https://decorum.invalid/"))
                #expect(response.status == .forbidden)
                let error = await #expect(throws: TransportError.self) { try await response.body.data(upTo: 100) }
                #expect(error?.code == .proxyRefused)
            }
        }

        @Test func `A session that is used after it was invalidated ends the process`() async throws {
            await #expect(processExitsWith: .failure) {
                ProcessTests.beginFailure()
                let session = URLSession(configuration: .ephemeral)
                session.invalidateAndCancel()
                _ = session.dataTask(with: try #require(URL(string: "http://127.0.0.1:9/")))
                exit(EXIT_SUCCESS)
            }
        }

        @Test func `Default handling of a Basic challenge never ends`() async {
            await #expect(processExitsWith: .exitCode(3)) {
                ProcessTests.beginFailure()
                let origin = try LoopbackOrigin()
                origin.route(
                    .get, "/", .init(.unauthorized, fields: ["WWW-Authenticate": #"Basic realm="x""#], body: "who?"))
                let url = try #require(URL(string: origin.url + "/"))
                URLSession.shared.dataTask(with: url) { _, _, _ in exit(EXIT_SUCCESS) }.resume()
                try await origin.waitForRequests(1)
                try await Task.sleep(for: .seconds(1))
                exit(3)
            }
        }

        @Test func `A task that is resumed sends its request again and delivers the body twice`() async {
            await #expect(processExitsWith: .exitCode(3)) {
                ProcessTests.beginFailure()
                let origin = try LoopbackOrigin()
                let gate = Gate()
                origin.enqueue(.script(.head(.ok, ["Content-Length": "4"]), .raw("ab"), .wait(gate), .raw("cd")))
                origin.enqueue(LoopbackOrigin.Answer(body: "abcd"))
                let counter = ByteCounter()
                let session = URLSession(configuration: .ephemeral, delegate: counter, delegateQueue: nil)
                let task = session.dataTask(with: try #require(URL(string: origin.url + "/")))
                task.resume()
                try await counter.first.wait()
                task.suspend()
                task.resume()
                try await counter.end.wait()
                exit(origin.requests.count == 2 && counter.count == 6 ? 3 : EXIT_SUCCESS)
            }
        }

        @Test func `A delegate of the task alone is never called`() async {
            await #expect(processExitsWith: .exitCode(3)) {
                ProcessTests.beginFailure()
                let origin = try LoopbackOrigin()
                origin.route(.get, "/", LoopbackOrigin.Answer(body: "hello"))
                let counter = ByteCounter()
                let task = URLSession(configuration: .ephemeral).dataTask(
                    with: try #require(URL(string: origin.url + "/")))
                task.delegate = counter
                task.resume()
                try await origin.waitForRequests(1)
                try await Task.sleep(for: .seconds(1))
                exit(counter.end.isOpen || counter.first.isOpen ? EXIT_SUCCESS : 3)
            }
        }

        @Test func `Cancelling the upload of a file ends the process`() async {
            await #expect(processExitsWith: .signal(SIGILL)) {
                ProcessTests.beginFailure()
                let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
                origin.route(.put, "/", LoopbackOrigin.Answer())
                // A large file that is there on every machine: the program itself.
                let file = URL(fileURLWithPath: CommandLine.arguments[0])
                let session = URLSession(configuration: .ephemeral)
                var request = URLRequest(url: try #require(URL(string: origin.url + "/")))
                request.httpMethod = "PUT"
                for round in 0..<1000 {
                    let end = Gate()
                    let task = session.uploadTask(with: request, fromFile: file) { _, _, _ in end.open() }
                    task.resume()
                    try await Task.sleep(for: .microseconds(50 * (round % 40)))
                    task.cancel()
                    try await end.wait()
                }
            }
        }

        @Test func `Content on a dead connection hangs without a delegate that supplies it anew`() async {
            await #expect(processExitsWith: .exitCode(3)) {
                ProcessTests.beginFailure()
                let origin = try LoopbackOrigin()
                origin.enqueue(LoopbackOrigin.Answer(), .closing)
                origin.route(nil, "/", LoopbackOrigin.Answer())
                let session = URLSession(configuration: .ephemeral)
                let url = try #require(URL(string: origin.url + "/"))
                _ = try await session.data(from: url)
                var request = URLRequest(url: url)
                request.httpMethod = "POST"
                session.uploadTask(with: request, from: Data("hello".utf8)) { _, _, _ in exit(EXIT_SUCCESS) }.resume()
                try await origin.waitForHeads(3)
                try await Task.sleep(for: .seconds(1))
                exit(3)
            }
        }

        @Test func `The environment's proxy is obeyed`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let proxy = try LoopbackOrigin()
                proxy.enqueue(LoopbackOrigin.Answer(body: "proxy"))
                unsafe setenv("http_proxy", proxy.url, 1)
                unsafe unsetenv("no_proxy")
                unsafe unsetenv("NO_PROXY")

                let response = try await URLSessionConnection().send(.get("http://decorum.invalid/a"))
                #expect(try await response.body.text(upTo: 10) == "proxy")
                #expect(proxy.requests.map(\.target) == ["http://decorum.invalid/a"])
            }
        }

        @Test func `Answering a Basic challenge without a credential ends the process`() async {
            await #expect(processExitsWith: .failure) {
                ProcessTests.beginFailure()
                let origin = try LoopbackOrigin()
                origin.route(
                    .get, "/", .init(.unauthorized, fields: ["WWW-Authenticate": #"Basic realm="x""#], body: "who?"))
                let careless = Careless()
                let session = URLSession(configuration: .ephemeral, delegate: careless, delegateQueue: nil)
                session.dataTask(with: try #require(URL(string: origin.url + "/"))).resume()
                try await careless.end.wait()
                exit(EXIT_SUCCESS)
            }
        }

        // It deadlocks, which the alarm ends, or traps because the task that it cancels has ended meanwhile.
        @Test func `Cancelling tasks that wait for data(for:) hangs or ends the process`() async {
            await #expect(processExitsWith: .failure) {
                ProcessTests.closeInheritedSockets()
                signal(SIGALRM) { _ in _exit(3) }
                let origin = try LoopbackOrigin()
                origin.route(.get, "/", LoopbackOrigin.Answer(body: "ok"))
                let session = URLSession(configuration: .ephemeral)
                let request = URLRequest(url: try #require(URL(string: origin.url + "/")))
                await withTaskGroup { group in
                    for worker in 0..<16 {
                        group.addTask {
                            for round in 0..<500 {
                                alarm(2)
                                let task = Task { _ = try? await session.data(for: request) }
                                try? await Task.sleep(for: .microseconds((worker * 37 + round * 113) % 2000))
                                task.cancel()
                                await task.value
                            }
                        }
                    }
                }
                exit(EXIT_SUCCESS)
            }
        }
    }
}

/// Agrees to a challenge with nothing.
private final class Careless: NSObject, URLSessionDataDelegate {
    let end = Gate()

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(.useCredential, nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end.open()
    }
}

/// Counts what it receives, and opens gates at the first byte and at the end.
private final class ByteCounter: NSObject, URLSessionDataDelegate {
    let first = Gate()
    let end = Gate()
    private let total = Mutex(0)

    var count: Int { total.withLock { $0 } }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        total.withLock { $0 += data.count }
        first.open()
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end.open()
    }
}

extension IsolatedTests {
    /// Servers that are not trusted.
    ///
    /// No test can use a certificate that is trusted, since on Linux only the system's file of authorities is.
    @Suite(
        // The server is the machine's `openssl`, which may be missing.
        .enabled(if: SecureServer.missingForTLS == nil, "There is no openssl on this machine."), .timeLimit(.minutes(3))
    )
    struct TLSOnLinuxTests {
        @Test func `URLSession asks no delegate whether it trusts a server`() async throws {
            let server = try await SecureServer.openssl()
            let delegate = Trusting()
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            defer { session.finishTasksAndInvalidate() }
            session.dataTask(with: try #require(URL(string: server.url))).resume()

            try await delegate.end.wait()
            #expect(!delegate.challenge.isOpen)
            withExtendedLifetime(server) {}
        }
    }
}

extension ProcessTests {
    @Suite(
        .enabled(if: SecureServer.missingForTLS == nil, "There is no openssl on this machine."), .timeLimit(.minutes(3))
    )
    struct TrustOnLinuxTests {
        @Test func `The environment cannot name an authority to trust`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let server = try await SecureServer.openssl()
                for name in ["SSL_CERT_FILE", "CURL_CA_BUNDLE"] {
                    unsafe setenv(name, server.root.path, 1)
                }

                let error = await #expect(throws: TransportError.self) {
                    try await URLSessionConnection().send(.get(server.url + "/"))
                }
                #expect(error?.code == .tls)
                withExtendedLifetime(server) {}
            }
        }
    }
}

/// Opens a gate at a challenge, and another at the end.
private final class Trusting: NSObject, URLSessionDataDelegate {
    let challenge = Gate()
    let end = Gate()

    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        self.challenge.open()
        completionHandler(.performDefaultHandling, nil)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        self.challenge.open()
        completionHandler(.performDefaultHandling, nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end.open()
    }
}

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
