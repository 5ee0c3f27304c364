import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// A stack with the defaults over servers that send something for ever, and never an answer.
    @Suite(.timeLimit(.minutes(5))) struct DrippingServerTests {
        enum Server: String, CaseIterable, Sendable {
            case silent, drippedHead, informational, redirections, overload, refusal

            var answer: LoopbackOrigin.Answer {
                switch self {
                case .silent: .hanging
                case .drippedHead: .script(.trickle("HTTP/1.1 200 OK\r\nA: " + .long("a"), every: .milliseconds(5)))
                case .informational:
                    .script(.trickle(String.long("HTTP/1.1 103 Early Hints\r\n\r\n"), by: 9, every: .milliseconds(5)))
                case .redirections: "computed for each request"
                case .overload: .init(.serviceUnavailable, fields: ["Retry-After": "7"], body: "later")
                case .refusal: .closing
                }
            }
        }

        enum Transport: String, CaseIterable, Sendable {
            case system, urlSession

            func connection(_ clock: any DatedClock) -> any Connection {
                switch self {
                case .system: SystemConnection(clock: clock)
                case .urlSession: URLSessionConnection(clock: clock)
                }
            }
        }

        private let clock = VirtualClock()
        private let origin: LoopbackOrigin

        init() throws {
            origin = try LoopbackOrigin()
        }

        /// The stack with the default times, and more redirections and retries than any call has time for.
        private func stack(_ transport: Transport) -> any Connection {
            transport.connection(clock)
                .limitingTime(as: .attempt, clock: clock)
                .retrying(RetryPolicy(retries: 1000, baseDelay: .seconds(1)), clock: clock)
                .coalescing(clock: clock)
                .caching(in: MemoryResponseStore(), clock: clock)
                .followingRedirects(upTo: 1_000_000, clock: clock)
                .limitingTime(clock: clock)
        }

        /// Waits for the end of a call, for which at most a minute passes on the clock, and some seconds in reality.
        private func end<Value: Sendable>(of call: Task<Value, any Error>) async throws -> Result<Value, any Error> {
            let ended = Gate()
            let watching = Task {
                _ = await call.result
                ended.open()
            }
            defer { watching.cancel() }
            for _ in 0..<60 where !ended.isOpen {
                clock.advance(by: .seconds(1))
                try await Task.sleep(for: .milliseconds(5))
            }
            let alarm = Task {
                try await Task.sleep(for: .seconds(20))
                call.cancel()
            }
            defer { alarm.cancel() }
            return await call.result
        }

        @Test(arguments: Server.allCases, Transport.allCases)
        func `A stack with the defaults ends each call`(server: Server, transport: Transport) async throws {
            let pages = SeededGenerator(seed: 1)
            origin.route(nil, "*") { _ in
                guard server == .redirections else { return server.answer }
                return .init(.found, fields: ["Location": "/\(pages.next())"], body: "elsewhere")
            }
            let stack = stack(transport)
            let request = try Request.get(origin.url + "/")
            let call = Task { try await stack.send(request) }
            // The clock moves for a minute only, so the call must have begun.
            try await origin.waitForHeads(1)
            switch try await end(of: call) {
            case .failure(let error): #expect(error is TransportError, "\(error)")
            case .success(let response):
                #expect([302, 503].contains(response.status.code))
            }
        }

    }
}

extension String {
    /// The text so often that it takes longer to drip than a test.
    fileprivate static func long(_ text: String) -> String {
        String(repeating: text, count: 200_000 / text.utf8.count)
    }
}

extension IsolatedTests {
    /// One stack over each transport gives the same bytes.
    @Suite(.timeLimit(.minutes(3))) struct ContentCodingTests {
        #if os(Linux)
        @Test func `Over libcurl, all is decoded by the layer`() async throws {
            let connection = try CurlConnection()
            try await CodingChecks(connection).checkAnswers()
            try await CodingChecks(connection).checkTrailers()
            try await CodingChecks(connection).checkTruncatedMessage()
            try await CodingChecks(connection).checkTruncatedCoding()
            try await CodingChecks(connection).checkBomb()
            try await CodingChecks(connection).checkRequests()
        }
        #endif

        #if canImport(FoundationNetworking)
        @Test func `Over URLSession, the same comes decoded from beneath`() async throws {
            let checks = try CodingChecks(URLSessionConnection(), undecodable: ["items.members.gz", "items.deflate"])
            try await checks.checkAnswers()
            try await checks.checkTruncatedMessage()
            try await checks.checkRequests()
        }
        #endif
    }
}

#if os(macOS) || os(Linux)
extension ProcessTests {
    /// Load on every layer at once, over real sockets, in a separate process so that its remaining resources can be
    /// counted.
    @Suite(.timeLimit(.minutes(5))) struct WholeStackTests {
        @Test func `Thousands of requests in a row and a thousand at once leave no resources open`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin(limit: 4)
                // The runtime's own descriptors are open after the first exchange.
                try await Load.run(sequential: 10, concurrent: 10)
                let before = Footprint.descriptors

                try await Load.run(sequential: Footprint.isSoak ? 10_000 : 1000, concurrent: 1000)

                // A session and libcurl's thread end a moment after their connections.
                let isClean = await soon { Footprint.descriptors <= before }
                #expect(isClean, "\(before) descriptors became \(Footprint.descriptors)")
            }
        }

        @Test func `A film is downloaded and uploaded through every layer in little memory`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin(limit: 4)
                let size: Int64 = Footprint.isSoak ? 1 << 30 : 128 << 20
                let before = ProcessMemory.peak
                let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
                origin.route(.get, "/film", .generated(count: size))
                origin.route(.put, "/film", .init(.created))
                let connection = try Load(origin).connection

                var count: Int64 = 0
                for try await chunk in try await connection.send(.get("/film")).body { count += Int64(chunk.count) }
                let film = Body(length: size, replay: .fromStart) { _ in FilmReader(remaining: size) }
                let response = try await connection.send(.put("/film", body: film))

                #expect(count == size)
                #expect(response.status == .created)
                #expect(origin.requests.last?.bodyLength == size)
                #expect(
                    ProcessMemory.peak - before < 48 << 20, "\(before >> 20) MiB became \(ProcessMemory.peak >> 20)")
            }
        }

        @Test func `A call cancelled anywhere in the stack ends as cancelled, and its connection closes`()
            async throws
        {
            let origin = try LoopbackOrigin()
            origin.route(.get, "/hang", .hanging)
            origin.route(.get, "/film", .generated(count: 1 << 40))
            let load = try Load(origin)
            let started = Gate()

            let hanging = Task { try await load.connection.send(.get("/hang")) }
            let streaming = Task {
                for try await _ in try await load.connection.send(.get("/film")).body { started.open() }
            }
            try await origin.waitForHeads(2)
            try await started.wait()
            hanging.cancel()
            streaming.cancel()

            await #expect(throws: CancellationError.self) { try await hanging.value }
            await #expect(throws: CancellationError.self) { try await streaming.value }
            try await origin.waitForOpenConnections(0)
            #expect(load.statistics.snapshot().rows.map(\.cancelled).reduce(0, +) == 4)
        }

        @Test func `No layer sends a request again that the transport has ended with all others`() async throws {
            let origin = try LoopbackOrigin()
            origin.route(.get, "/", .hanging)
            let transport = SystemConnection()
            let stack = try StandardStack(for: origin.url + "/").composed(over: transport, principal: Principal("user"))
            let contexts = (0..<5).map { _ in CallContext() }
            let calls = try contexts.map { context in
                var request = try Request.get("/")
                request.options.callContext = context
                return Task { [request] in try await stack.send(request) }
            }
            try await origin.waitForHeads(1)
            try await yield { contexts.count { $0.history.contains { $0.kind == .joins } } == 4 }

            transport.cancelAll()
            for call in calls { await #expect(throws: CancellationError.self) { try await call.value } }
            try await origin.waitForOpenConnections(0)
            #expect(origin.requests.count == 1)
        }
    }
}

/// Requests to an origin that answers some of them with a 304, a 301 or a 503.
private struct Load {
    let origin: LoopbackOrigin
    let statistics = ExchangeStatistics()
    let connection: any Connection

    /// Sends, drops the stack, and waits until it has closed its connections.
    static func run(sequential: Int, concurrent: Int) async throws {
        let origin = try LoopbackOrigin()
        try await Load(origin).send(sequential: sequential, concurrent: concurrent)
        #expect(origin.connectionCount <= concurrent + 10, "\(origin.connectionCount) connections")
        try await origin.waitForOpenConnections(0)
        origin.stop()
    }

    init(_ origin: LoopbackOrigin) throws {
        self.origin = origin
        origin.route(.get, "/new", LoopbackOrigin.Answer(body: "page"))
        origin.route(.get, "/old", LoopbackOrigin.Answer(.movedPermanently, fields: ["Location": "/new"]))
        origin.route(.get, "/feed") { request in
            request.fields["If-None-Match"] == "\"1\""
                ? LoopbackOrigin.Answer(.notModified)
                : LoopbackOrigin.Answer(fields: ["ETag": "\"1\""], body: "page")
        }
        origin.route(.put, "/item") { request in
            LoopbackOrigin.Answer(request.fields["Authorization"] == "Bearer token" ? .ok : .unauthorized, body: "page")
        }
        connection = try URLSessionConnection(connectionsPerHost: 1000)
            .observing(statistics, as: .attempt)
            .authenticating(with: .bearer("token"), for: origin.origin)
            .retrying(RetryPolicy(retries: 2, baseDelay: .milliseconds(1), budget: .unlimited))
            .revalidating(in: MemoryResponseStore())
            .followingRedirects()
            .acceptingLanguages(["en"])
            .identifyingClient(as: ClientInformation(name: "test"))
            .addingDefaultFields([.accept: "*/*"])
            .overridingFields(with: [.cacheControl: "max-age=0"])
            .resolving(against: origin.url)
            .logging(to: LogSink { _ in })
            .observing(statistics)
            .validatingStatus()
    }

    private func send(sequential: Int, concurrent: Int) async throws {
        for number in 0..<sequential { try await send(number) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<concurrent { group.addTask { try await send(number) } }
            try await group.waitForAll()
        }
        let calls = statistics.snapshot().rows.filter { $0.scope == .call }
        #expect(calls.map(\.count).reduce(0, +) == sequential + concurrent)
        #expect(calls.map(\.errors).reduce(0, +) == 0, "\(statistics.snapshot())")
    }

    private func send(_ number: Int) async throws {
        var request =
            switch number % 4 {
            case 0: try Request.get("/feed")
            case 1: try Request.get("/old")
            case 2: try Request.put("/item", body: "content")
            default: try Request.get("/new")
            }
        request.options.principal = Principal("ann")
        let response = try await connection.send(request)
        #expect(try await response.body.text(upTo: 100) == "page")
    }
}

private struct FilmReader: BodyReader {
    private static let block = Data(repeating: 7, count: 1 << 16)

    var remaining: Int64

    mutating func next() -> Data? {
        guard remaining > 0 else { return nil }
        let chunk = Self.block.prefix(Int(min(remaining, Int64(Self.block.count))))
        remaining -= Int64(chunk.count)
        return chunk
    }

    var trailers: HTTPFields? { nil }
}
#endif
