import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The tree of layers, and their numbers.
@Suite struct LayerTests {
    @Test func `Facts and numbers complete each other`() {
        let plain = Layer(name: "plain")
        #expect(
            plain.sending.times == 1...1 && plain.time.waiting == .atMost(.zero) && plain.memory.bytes == .atMost(0))
        #expect(plain.facts.isEmpty && plain.memory.state.isEmpty && plain.sending.branches.isEmpty)

        let told = Layer(name: "told", facts: [.answers, .resends, .waits])
        #expect(told.sending.times == 0...Int.max && told.time.waiting == .unbounded)

        let counted = Layer(name: "counted", sending: .init(0...3), time: .init(waiting: .atMost(.seconds(2))))
        #expect(counted.facts == [.answers, .resends, .waits])
        #expect(Layer(name: "once", facts: [.answers], sending: .init(1...1)).facts == [.answers])
    }

    private struct Row: Sendable {
        let connection: any Connection
        let sends: ClosedRange<Int>
        var longestWait = Layer.Bound.atMost(Duration.zero)
    }

    private static let rows: [Row] = {
        let stub = StubConnection()
        return [
            Row(
                connection: stub.retrying(RetryPolicy(retries: 2)), sends: 1...3,
                longestWait: .atMost(.seconds(160))),
            Row(connection: stub.retrying(.never), sends: 1...1),
            // The smaller number of the retries and of the budget of the call counts; a loss may cost one without the budget.
            Row(
                connection: stub.retrying(RetryPolicy(retries: 2, budget: .perCall(1))), sends: 1...3,
                longestWait: .atMost(.seconds(80))),
            Row(
                connection: stub.retrying(RetryPolicy(retries: 1, budget: .perCall(2))), sends: 1...2,
                longestWait: .atMost(.seconds(80))),
            Row(
                connection: stub.retrying(
                    RetryPolicy(retries: 70, baseDelay: .seconds(1), factor: 1, maximumRetryAfter: .seconds(-1))),
                sends: 1...71, longestWait: .atMost(.seconds(64 + 6 * 20))),
            // A sum of longer waits, or of more of them, is no bound.
            Row(
                connection: stub.retrying(RetryPolicy(retries: 1 << 30 - 1)), sends: 1...(1 << 30),
                longestWait: .atMost(.seconds(80) * (1 << 30 - 1))),
            Row(
                connection: stub.retrying(RetryPolicy(retries: 1 << 30)), sends: 1...(1 << 30 + 1),
                longestWait: .unbounded),
            Row(
                connection: stub.retrying(RetryPolicy(retries: .max)), sends: 1...Int.max, longestWait: .unbounded),
            Row(
                connection: stub.retrying(RetryPolicy(retries: 1, maximumDelay: .seconds(1 << 30 - 1))), sends: 1...2,
                longestWait: .atMost(.seconds(80))),
            Row(
                connection: stub.retrying(RetryPolicy(retries: 1, maximumDelay: .seconds(1 << 30))), sends: 1...2,
                longestWait: .unbounded),
            Row(connection: stub.followingRedirects(upTo: 5), sends: 1...6),
            Row(connection: stub.followingRedirects(upTo: 0), sends: 1...1),
            Row(connection: stub.followingRedirects(upTo: .max), sends: 1...Int.max),
            Row(connection: stub.followingRedirects(upTo: 5, remembering: PermanentRedirections()), sends: 1...12),
            Row(connection: stub.caching(in: MemoryResponseStore()), sends: 0...2, longestWait: .unbounded),
            Row(connection: stub.revalidating(in: MemoryResponseStore()), sends: 0...2, longestWait: .unbounded),
            Row(connection: stub.coalescing(), sends: 0...1, longestWait: .unbounded),
            Row(connection: stub.compressing(), sends: 1...2),
            Row(connection: stub.observing { _ in }, sends: 1...1),
            Row(connection: stub, sends: 0...0),
        ]
    }()

    @Test func `A layer tells how often it sends and how long it waits`() throws {
        for row in Self.rows {
            let layer = try #require(row.connection.layers.first)
            #expect(layer.sending.times == row.sends, "\(layer)")
            #expect(layer.time.waiting == row.longestWait, "\(layer)")
        }
    }

    @Test func `A layer tells how many bytes it holds`() {
        let stub = StubConnection()
        #expect(
            stub.logging(to: LogSink { _ in }, detail: .bodies(upTo: 100)).layers.first?.memory.bytes == .atMost(200))
        #expect(stub.coalescing().layers.first?.memory.bytes == .atMost(5 << 20))
        #expect(stub.followingRedirects().layers.first?.memory.bytes == .atMost(0))
        #expect(stub.compressing().layers.first?.memory.bytes == .atMost(1 << 20))
        let store = MemoryResponseStore()
        let held = store.bodyLimit + 5 << 20
        #expect(stub.caching(in: store).layers.first?.memory.bytes == .atMost(held))
    }

    @Test func `Layers over the same state are recognized, also in one stack`() throws {
        let (shared, own) = (MemoryResponseStore(), MemoryResponseStore())
        let layers = StubConnection().caching(in: shared).revalidating(in: own).coalescing().coalescing()
            .caching(in: shared).layers

        #expect(layers[0].memory.state == layers[4].memory.state && !layers[0].memory.state.isEmpty)
        #expect(Set(layers.dropLast().map(\.memory.state)).count == 4)
        let memory = PermanentRedirections()
        #expect(
            StubConnection().followingRedirects(remembering: memory).layers.first?.memory.state
                == [Layer.StateIdentity(memory)])
        #expect(StubConnection().followingRedirects().layers.first?.memory.state == [])
    }

    @Test func `A cassette has the connection that it records as a branch`() throws {
        let file = FileManager.default.temporaryDirectory.appending(
            path: "layers-\(UInt64.random(in: 0 ... .max)).json")
        let recording = CassetteConnection(
            try Cassette(at: file.path, mode: .rewrite), recording: StubConnection().retrying(RetryPolicy(retries: 2)))
        let layer = try #require(recording.layers.first)

        #expect(recording.layers.count == 1)
        #expect(layer.branches.map(\.name) == ["upstream"])
        #expect(layer.branches.first?.layers.map(\.name) == ["retrying", "StubConnection"])
        #expect(layer.description.hasSuffix(" {upstream: [retrying(retries: 2), StubConnection]}"))
    }

    /// Sends requests to one path through another connection.
    private struct Routing<Base: Connection>: ComposedConnection {
        let base: Base
        let other: any Connection
        var carriesRequests = true

        var layer: Layer {
            Layer(
                name: "routing",
                sending: .init(branches: [.init("other", other.layers, carriesRequests: carriesRequests)]))
        }

        func send(_ request: consuming Request) async throws -> Response {
            guard request.head.path == "/other" else { return try await base.send(request) }
            return try await other.send(request)
        }
    }

    private func credentialed(_ answer: StubConnection) -> some Connection {
        // It does not report, so that only the declaration keeps a cache from storing.
        answer.intercepting(facts: [.addsCredentials], secretFields: [.cookie]) { request, base in
            var request = request
            request.options = RequestOptions()
            return try await base.send(request)
        }
    }

    @Test func `A branch that adds credentials keeps a cache from storing without a principal`() async throws {
        let stub = StubConnection { _ in Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: "x") }
        for carries in [true, false] {
            let cached = Routing(base: stub, other: credentialed(stub), carriesRequests: carries)
                .caching(in: MemoryResponseStore())
            _ = try await cached.send(.get("https://a.example/")).body.data(upTo: 9)
            let second = try await cached.send(.get("https://a.example/"))
            #expect((second.metadata.source == .cache) == !carries)
        }
    }

    @Test func `The secret fields of a branch are dropped by a redirection to another origin`() async throws {
        let stub = StubConnection { request in
            request.head.authority == "a.example"
                ? Response(status: .found, fields: [.location: "https://b.example/"]) : Response(status: .ok)
        }
        let ticket = try #require(HTTPField.Name("X-Seat"))
        let other = stub.intercepting(facts: [.addsCredentials], secretFields: [ticket]) { try await $1.send($0) }
        let connection = Routing(base: stub, other: other).followingRedirects()
        _ = try await connection.send(.get("https://a.example/", fields: [ticket: "14"]))
        #expect(stub.requests.map { $0.head.headerFields[ticket] } == ["14", nil])
    }
}
