#if os(macOS) || os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

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

                try await Load.run(sequential: Footprint.isSoak ? 10_000 : 3000, concurrent: 1000)

                // A session and libcurl's thread end a moment after their connections.
                let isClean = await soon { Footprint.descriptors <= before }
                #expect(isClean, "\(before) descriptors became \(Footprint.descriptors)")
            }
        }

        @Test func `A film is downloaded through every layer in little memory`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin(limit: 4)
                let size: Int64 = Footprint.isSoak ? 1 << 30 : 128 << 20
                let before = ProcessMemory.peak
                let origin = try LoopbackOrigin()
                origin.route(.get, "/film", .generated(count: size))

                var count: Int64 = 0
                for try await chunk in try await Load(origin).connection.send(.get("/film")).body {
                    count += Int64(chunk.count)
                }

                #expect(count == size)
                #expect(
                    ProcessMemory.peak - before < 48 << 20, "\(before >> 20) MiB became \(ProcessMemory.peak >> 20)")
            }
        }

        @Test func `A film is uploaded through every layer in little memory`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin(limit: 4)
                let size: Int64 = Footprint.isSoak ? 1 << 30 : 128 << 20
                let before = ProcessMemory.peak
                let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
                origin.route(.put, "/film", LoopbackOrigin.Answer(.created))
                let film = Body(length: size, replay: .fromStart) { _ in FilmReader(remaining: size) }

                let response = try await Load(origin).connection.send(.put("/film", body: film))

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
