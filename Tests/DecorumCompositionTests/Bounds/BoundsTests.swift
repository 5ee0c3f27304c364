import Decorum
import DecorumTesting
import HTTPTypes
import Testing

/// The worst case that is computed from declared numbers.
@Suite struct BoundsTests {
    /// A transport that declares its time.
    struct Wire: Connection {
        var time: Layer.Bound<Duration> = .unbounded
        var sends = 1...1

        var layers: [Layer] { [Layer(name: "wire", role: .transport, sending: .init(sends), time: .init(limit: time))] }

        func send(_ request: consuming Request) async throws -> Response { Response(status: .ok) }
    }

    private let quick = Wire(time: .atMost(.seconds(2)))

    @Test func `Requests multiply along the stack`() {
        #expect(quick.bounds.requests.value == 1)
        let stack = quick.retrying(RetryPolicy(retries: 2)).followingRedirects(upTo: 4).compressing()
        #expect(stack.bounds.requests.value == 30)
        #expect(stack.bounds.requests.layers.map(\.name) == ["compressing", "followingRedirects", "retrying"])
        #expect(
            "\(stack.bounds.requests)" == """
                One call sends at most 30 requests over the network: 2 by compressing, 5 by followingRedirects and 3 by \
                retrying.
                """)
        #expect(Wire(sends: 1...2).retrying(RetryPolicy(retries: 1)).bounds.requests.value == 4)
    }

    @Test func `Where any number of requests may be sent, the layers at fault are named`() {
        let redirecting = quick.retrying().followingRedirects(upTo: .max).caching(in: MemoryResponseStore())
        #expect(redirecting.bounds.requests.value == nil)
        #expect(redirecting.bounds.requests.layers.map(\.name) == ["followingRedirects"])
        let both = quick.followingRedirects(upTo: .max).intercepting("again", facts: [.resends]) {
            try await $1.send($0)
        }
        #expect(both.bounds.requests.layers.map(\.name) == ["again", "followingRedirects"])
        // No layer is without a bound, but their product is too large for a number.
        let many = quick.followingRedirects(upTo: 1 << 40).followingRedirects(upTo: 1 << 40)
        #expect(many.bounds.requests.value == nil && many.bounds.requests.layers.count == 2)
        #expect(StubConnection().followingRedirects(upTo: .max).bounds.requests.value == 0)
    }

    private struct Branching<Base: Connection>: ComposedConnection {
        let base: Base
        let other: any Connection
        var sends = 1...1

        var layer: Layer { Layer(name: "branching", sending: .init(sends, branches: [.init("other", other.layers)])) }

        func send(_ request: consuming Request) async throws -> Response { try await base.send(request) }
    }

    @Test func `The branches of a layer add up`() {
        let other = quick.retrying(RetryPolicy(retries: 1, maximumDelay: .zero, maximumRetryAfter: .seconds(-1)))
        let bounds = Branching(base: quick, other: other, sends: 1...2).bounds
        #expect(bounds.requests.value == 6)
        // Twice: two seconds, and two attempts of two seconds with a second for the response that is not returned.
        #expect(bounds.duration.value == .seconds(2 * (2 + 2 * 2 + 1)))
        let endless = Branching(base: quick.followingRedirects(upTo: .max), other: other)
        #expect(endless.bounds.requests.layers.map(\.name) == ["followingRedirects"])
        let held = Branching(base: quick.compressing(), other: quick.compressing()).bounds.bytes
        #expect(held.value == 2 << 20)
    }

    @Test func `Times add up, and a limit ends them`() {
        let policy = RetryPolicy(retries: 2, maximumRetryAfter: .seconds(60))
        let stack = quick.retrying(policy)
        // Two waits of 60 seconds with 20 of spread, and three attempts.
        #expect(stack.bounds.duration.value == .seconds(160 + 6))
        #expect(stack.bounds.duration.layers.map(\.name) == ["retrying", "wire"])
        let limited = stack.limitingTime()
        #expect(limited.bounds.duration.value == .seconds(30))
        #expect(limited.bounds.duration.layers.map(\.name) == ["limitingTime"])
        let attempts = Wire().limitingTime(as: .attempt).retrying(policy)
        #expect(attempts.bounds.duration.value == .seconds(160 + 30))
        let loose = stack.limitingTime(TimePolicy(call: .seconds(1000)))
        #expect(loose.bounds.duration.value == .seconds(166))
    }

    @Test func `Without a limit of time, the layers at fault are named`() {
        let drip = Wire().retrying().followingRedirects()
        #expect(drip.bounds.duration.value == nil)
        #expect(drip.bounds.duration.layers.map(\.name) == ["wire"])
        let sharing = Wire().limitingTime(as: .attempt).coalescing()
        #expect(sharing.bounds.duration.layers.map(\.name) == ["coalescing"])
        #expect(sharing.limitingTime().bounds.duration.value == .seconds(30))
    }

    private struct Silent<Base: Connection>: ComposedConnection {
        let base: Base

        func send(_ request: consuming Request) async throws -> Response { try await base.send(request) }
    }

    @Test func `A layer that declares nothing may do anything`() {
        let unknown = Silent(base: quick.retrying(RetryPolicy(retries: 1)))
        #expect(unknown.bounds.requests.value == nil && unknown.bounds.bytes.value == nil)
        #expect(unknown.bounds.requests.layers.map(\.name) == ["Silent"])
        #expect(unknown.limitingTime().bounds.duration.value == .seconds(30))
        #expect(Silent(base: StubConnection()).bounds.requests.value == nil)
        #expect(ClosureConnection { _ in .page }.bounds.requests.value == nil)
        #expect(quick.intercepting("timing", facts: []) { try await $1.send($0) }.bounds.requests.value == 1)
    }

    @Test func `A layer that never sends takes the time of its base out`() {
        struct Answering<Base: Connection>: ComposedConnection {
            let base: Base
            var layer: Layer {
                Layer(name: "answering", sending: .init(0...0), time: .init(waiting: .atMost(.seconds(3))))
            }

            func send(_ request: consuming Request) async throws -> Response { .page }
        }
        let bounds = Answering(base: Wire().retrying()).bounds
        #expect(bounds.duration.value == .seconds(3) && bounds.duration.layers.map(\.name) == ["answering"])
        #expect(bounds.requests.value == 0)
    }

    @Test func `A pause lasts until the deadline where there is one`() {
        let paced = quick.pacing()
        #expect(paced.bounds.duration.value == .seconds(62))
        #expect(paced.limitingTime(TimePolicy(call: .seconds(900))).bounds.duration.value == .seconds(900))
    }

    @Test func `Bytes add up`() {
        let sink = LogSink { _ in }
        let stack = quick.logging(to: sink, detail: .bodies(upTo: 450)).compressing()
        #expect(stack.bounds.bytes.value == 900 + 1 << 20)
        let unbounded = StubConnection().compressing().bounds.bytes
        #expect(unbounded.value == nil && unbounded.layers.map(\.name) == ["StubConnection"])
    }

    @Test func `The presets have the bounds of their documentation`() throws {
        let rows: [(StandardStack.Preset, requests: Int, seconds: Int, mebibytes: Int)] = [
            (.app, 168, 31, 64), (.server, 84, 16, 51), (.tool, 84, 61, 51),
        ]
        for (preset, requests, seconds, mebibytes) in rows {
            let bounds = try StandardStack(preset, for: "https://api.example.com/").composed(over: Wire()).bounds
            #expect(bounds.requests.value == requests, "\(preset): \(bounds)")
            #expect(bounds.duration.value == .seconds(seconds), "\(preset): \(bounds)")
            #expect(bounds.bytes.value.map { $0 >> 20 } == mebibytes, "\(preset): \(bounds)")
        }
    }
}
