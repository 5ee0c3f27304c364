#if os(macOS) || os(Linux)
import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension ProcessTests {
    /// The resources that the transports take, each measured in a process of its own.
    @Suite(.timeLimit(.minutes(10))) struct EnduranceTests {
        enum Transport: String, CaseIterable, Codable, Sendable {
            case urlSession
            #if os(Linux)
            case curl
            #endif

            func make() throws -> any Connection {
                switch self {
                case .urlSession: return URLSessionConnection()
                #if os(Linux)
                case .curl: return try CurlConnection()
                #endif
                }
            }
        }

        @Test(arguments: Transport.allCases, EnduranceChecks.Check.allCases)
        func `A transport takes no more than it needs`(transport: Transport, check: EnduranceChecks.Check) async {
            await #expect(processExitsWith: .success) { [transport, check] in
                try await EnduranceChecks.run(check, besideUnread: transport != .urlSession) { try transport.make() }
            }
        }

        #if os(Linux)
        // Where a slow reader holds the server back, the one connection stays busy.
        @Test func `Over URLSession, a large body that is not read yet takes little memory`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let count: Int64 = Footprint.isSoak ? 1 << 30 : 96 << 20
                let origin = try LoopbackOrigin()
                origin.enqueue(.generated(count: count), .init())
                let connection = URLSessionConnection(connectionsPerHost: 1)
                let response = try await connection.send(.get(origin.url + "/"))
                // The one connection serves the next request once all of the first response has arrived.
                _ = try await connection.send(.get(origin.url + "/"))

                var offset: Int64 = 0
                for try await chunk in response.body {
                    #expect(BytePattern.matches(chunk, at: offset))
                    offset += Int64(chunk.count)
                }
                #expect(offset == count)
                #expect(ProcessMemory.peak < 96 << 20)
            }
        }

        @Test func `Over URLSession, a proxy that refuses fails the request at the stage of connecting`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let proxy = try LoopbackOrigin()
                proxy.route(nil, "*", .script(.raw("HTTP/1.1 407 Who\r\nContent-Length: 2\r\n\r\nno")))
                unsafe setenv("https_proxy", proxy.url, 1)
                unsafe unsetenv("no_proxy")
                unsafe unsetenv("NO_PROXY")

                let error = await #expect(throws: TransportError.self) {
                    try await URLSessionConnection().send(.get("https://decorum.invalid/"))
                }
                #expect(error?.code == .proxyRefused)
                #expect(error?.stage == .connecting)
            }
        }

        @Test func `Over libcurl, a response that is not read takes what the transport declares`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let count = 48
                let origin = try LoopbackOrigin()
                origin.route(.get, "/", .generated(count: 64 << 20))
                let connection = try CurlConnection(protocols: .http1)
                guard case .atMost(let bound) = connection.layers.first?.memory.bytes else { exit(1) }
                // The part for the content of requests is not used.
                let content = bound - (1088 << 10)
                origin.route(.get, "/small", "ok")
                try await connection.send(.get(origin.url + "/small")).body.drain(upTo: 10)
                let before = ProcessMemory.peak
                var held: [any BodyReader] = []
                for _ in 0..<count {
                    var reader = try await connection.send(.get(origin.url + "/")).body.open()
                    _ = try await reader.next()
                    held.append(reader)
                }
                // The limit of the process bounds the wait.
                try await yield { (ProcessMemory.peak - before) / count >= content * 3 / 4 }
                // Gives a server that is not held back the time to send more.
                for _ in 0..<200 { try await connection.send(.get(origin.url + "/small")).body.drain(upTo: 10) }
                let each = (ProcessMemory.peak - before) / count

                // A connection on both sides takes some memory besides.
                #expect(each < content + (256 << 10), "\(each) of \(content)")
                withExtendedLifetime(held) {}
            }
        }

        @Test func `A transport that leaks a descriptor for each exchange fails the case`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                await #expect(throws: ConformanceFailure.self) {
                    _ = try await TransportCase.randomCancellation.check(soaking: .milliseconds(500)) { conditions in
                        try CurlConnection(clock: conditions.clock).intercepting { request, base in
                            _ = dup(0)
                            return try await base.send(request)
                        }
                    }
                }
            }
        }
        #endif

        @Test func `No temporary file of URLSession is left, whatever becomes of the request`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let folder = FileManager.default.temporaryDirectory.appendingPathComponent("decorum-test-\(getpid())")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(at: folder) }
                unsafe setenv("TMPDIR", folder.path, 1)
                try #require(FileManager.default.temporaryDirectory.path == folder.path)
                let origin = try LoopbackOrigin()
                let connection = URLSessionConnection(backlog: .init(memory: 1))
                let gate = Gate()
                origin.route(.put, "/", LoopbackOrigin.Answer())
                origin.route(.put, "/close", .closing)
                origin.route(.put, "/wait", LoopbackOrigin.Answer().after(.wait(gate)))
                origin.route(.get, "/", .generated(count: 4 << 20))

                _ = try await connection.send(.put(origin.url + "/", body: .megabytes(3)))
                _ = try? await connection.send(.put(origin.url + "/close", body: .megabytes(3)))
                _ = try? await connection.send(.put(origin.url + "/", body: .megabytes(3, fails: true)))
                let request = try Request.put(origin.url + "/wait", body: .megabytes(3))
                let task = Task { try await connection.send(request) }
                try await gate.waitForWaiting(1)
                task.cancel()
                _ = await task.result
                let response = try await connection.send(.get(origin.url + "/"))
                _ = try await response.body.data(upTo: 8 << 20)

                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
            }
        }

        @Test func `Over URLSession, random cancelling and dropping neither hangs nor leaks`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let origin = try LoopbackOrigin()
                origin.route(.get, "/small", "ok")
                origin.route(.get, "/large", .generated(count: 200_000))
                origin.route(.get, "/slow", .script(.head(.ok, ["Content-Length": "9"]), .raw("half"), .hang))
                origin.route(.get, "/hang", .hanging)
                origin.route(.post, "/", "ok")
                let connection = URLSessionConnection(connectionsPerHost: 32)
                let deadline = ContinuousClock.now + .seconds(Footprint.isSoak ? 60 : 1)
                let before = Footprint.descriptors

                await withTaskGroup { group in
                    for worker in 0..<24 {
                        group.addTask {
                            let chance = SeededGenerator(seed: UInt64(worker))
                            while ContinuousClock.now < deadline {
                                await Self.cancelAtRandom(connection, origin.url, chance)
                                if worker == 0 { origin.forgetRequests() }
                            }
                        }
                    }
                }

                #expect(try await connection.send(.get(origin.url + "/small")).body.text(upTo: 10) == "ok")
                try await yield { Footprint.descriptors <= before + 2 * 32 + 8 }
            }
        }

        /// One request that is cancelled or dropped at a random moment.
        private static func cancelAtRandom(
            _ connection: URLSessionConnection, _ url: String, _ chance: SeededGenerator
        ) async {
            let path = ["/small", "/small", "/large", "/slow", "/hang"][Int(chance.next() % 5)]
            let isPost = chance.next() % 4 == 0
            let reads = Int(chance.next() % 4)
            let body: Body = isPost ? .megabytes(chance.next() % 16 == 0 ? 2 : 0) : .empty
            let task = Task {
                let request = try Request(isPost ? .post : .get, url + (isPost ? "/" : path), body: body)
                var reader = try await connection.send(request).body.open()
                for _ in 0..<reads { _ = try await reader.next() }
            }
            try? await Task.sleep(for: .microseconds(Int64(chance.next() % 8000)))
            task.cancel()
            _ = await task.result
        }

        @Test(.enabled(if: Footprint.descriptors > 0, "The system has no /proc."))
        func `The process of a test keeps no socket of the process that has started it`() async {
            await #expect(processExitsWith: .success) {
                var pair: [Int32] = [-1, -1]
                // The system writes two descriptors into the array of two.
                #expect(unsafe socketpair(AF_UNIX, SocketPlatform.streamType, 0, &pair) == 0)
                ProcessTests.begin()
                for socket in pair { #expect(fcntl(socket, F_GETFD) == -1) }
            }
        }
    }
}

extension Body {
    fileprivate static func megabytes(_ count: Int, fails: Bool = false) -> Body {
        Body(
            chunks: AsyncThrowingStream { continuation in
                for _ in 0..<count { continuation.yield(Data(count: 1 << 20)) }
                continuation.finish(throwing: fails ? CocoaError(.fileReadUnknown) : nil)
            })
    }
}
#endif
