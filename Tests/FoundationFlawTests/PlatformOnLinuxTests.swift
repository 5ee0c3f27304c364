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
                                alarm(5)
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
#endif
