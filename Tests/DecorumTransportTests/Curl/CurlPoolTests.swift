#if os(Linux)
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import Decorum

extension IsolatedTests {
    /// Reusing pooled connections, and the wait for `100 Continue`.
    @Suite(.timeLimit(.minutes(3))) struct CurlPoolTests {
        private let connection: CurlConnection
        private let origin: LoopbackOrigin

        init() throws {
            connection = try CurlConnection()
            origin = try LoopbackOrigin()
        }

        private func warmUp() async throws {
            origin.enqueue("warm")
            try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)
        }

        @Test func `A request that gets 417 for its Expect is sent once`() async throws {
            try await warmUp()
            origin.enqueue(.init(.init(code: 417), body: "no"), answering: .afterHead)
            // libcurl sends the content after a second without an answer. Here it has nothing to send, so the 417 always
            // comes first.
            let (chunks, feed) = AsyncStream.makeStream(of: Data.self)
            defer { feed.finish() }
            let body = Body(chunks: chunks, length: 5)
            let request = try Request.post(origin.url + "/", fields: [.expect: "100-continue"], body: body)

            let response = try await connection.send(request)
            #expect(origin.requests.count == 2)
            #expect(response.status.code == 417)
            let error = await #expect(throws: TransportError.self) { try await response.body.text(upTo: 100) }
            #expect(error?.code == .expectationFailed)
            #expect(error?.stage == .body)
        }

        @Test func `Content waits for 100 Continue where the request has Expect`() async throws {
            origin.route(.post, "/", "ok")
            let request = try Request.post(origin.url + "/", fields: [.expect: "100-continue"], body: "hello")
            let response = try await connection.send(request)

            #expect(response.status == .ok)
            // libcurl waits for at most one second.
            #expect(response.metadata.informational.allSatisfy { $0.status == .continue })
            #expect(origin.requests.first?.text == "hello")
        }

        @Test(
            arguments: [
                (.init(idleLifetime: .zero), 3), (.init(lifetime: .zero), 3),
                (.init(idleLifetime: .milliseconds(1)), 1),
                (.init(lifetime: nil), 1), (.init(idleLifetime: .seconds(Int64.max), lifetime: .seconds(Int64.max)), 1),
                (.init(idleLifetime: .seconds(-1), lifetime: .seconds(-1)), 3),
            ] as [(CurlConnection.Pool, Int)])
        func `A connection is used again within its lifetimes`(pool: CurlConnection.Pool, count: Int) async throws {
            let connection = try CurlConnection(pool: pool)
            origin.route(nil, "*", "ok")
            for _ in 0..<3 {
                try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)
            }
            // libcurl rounds an idle lifetime up to a second, which may pass on a busy machine.
            #expect(count == 3 ? origin.connectionCount == 3 : origin.connectionCount < 3)
        }

        @Test func `A busy connection is replaced after its lifetime`() async throws {
            let connection = try CurlConnection(pool: .init(lifetime: .seconds(1)))
            origin.route(nil, "*", "ok")
            // libcurl measures the time with its own clock.
            while origin.connectionCount < 2 {
                try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)
            }
            #expect(origin.requests.count > 2)
            try await origin.waitForOpenConnections(1)
        }
    }
}

/// Requests that wait for a connection to their host before libcurl knows them.
@Suite(.timeLimit(.minutes(3))) struct CurlAdmissionTests {
    private let host = CurlHost(isSecure: false, authority: "a.example")
    private let other = CurlHost(isSecure: false, authority: "b.example")

    /// The numbers that are admitted, of the numbers that ask for it in order.
    private func admitted(
        _ numbers: [Int], to host: CurlHost, by admission: inout CurlAdmission<Int>, isSharing: Bool = false
    ) -> [Int] {
        var admitted: [Int] = []
        for number in numbers where admission.admits(number, to: host, isSharing: isSharing) { admitted.append(number) }
        return admitted
    }

    @Test func `A host has as many as its limit, and the first that waits is the next`() {
        var admission = CurlAdmission<Int>(limit: 2) { _ in true }

        let started = admitted([1, 2, 3, 4, 5], to: host, by: &admission)
        var next: [[Int]] = []
        for _ in 0..<5 { next.append(admission.leave(host, isSharing: false)) }

        #expect(started == [1, 2])
        #expect(next == [[3], [4], [5], [], []])
        #expect(admission.waitingCount == 0)
    }

    @Test func `A host that shares its connections lets all through, also the ones that wait already`() {
        var admission = CurlAdmission<Int>(limit: 1) { _ in true }
        let started = [
            admitted([1, 2], to: host, by: &admission, isSharing: true), admitted([3, 4], to: host, by: &admission),
            admission.leave(host, isSharing: false), admission.leave(host, isSharing: true),
        ]
        #expect(started == [[1, 2], [], [], [3, 4]])
    }

    @Test func `A host that turns out to share its connections lets all through at once`() {
        var admission = CurlAdmission<Int>(limit: 1) { $0 != 3 }
        let started = [
            admitted([1, 2, 3, 4], to: host, by: &admission), admission.admitAll(to: host),
            admission.leave(host, isSharing: true), admission.admitAll(to: other),
        ]
        #expect(started == [[1], [2, 4], [], []])
        #expect(admission.waitingCount == 0)
    }

    @Test func `A host that has answered with HTTP/2 stays one that shares`() {
        let context = CurlTransfer.Context(CurlOptions(secureVersion: 0, clearVersion: 0))
        let secure = CurlHost(isSecure: true, authority: "a.example")
        context.noteVersion(of: secure, isHTTP1: true)
        #expect(context.http1Hosts == [secure] && context.upgraded.isEmpty)
        context.noteVersion(of: secure, isHTTP1: false)
        #expect(context.http1Hosts.isEmpty && context.upgraded == [secure])
        context.noteVersion(of: secure, isHTTP1: true)
        #expect(context.http1Hosts.isEmpty)
        context.noteVersion(of: host, isHTTP1: true)
        #expect(context.http1Hosts.isEmpty)
    }

    @Test func `Requests that have ended take no place, and are not kept for long`() {
        let ended = Mutex<Set<Int>>([])
        var admission = CurlAdmission<Int>(limit: 1) { number in ended.withLock { !$0.contains(number) } }
        var started = admitted([0], to: host, by: &admission)
        for number in 1...10_000 {
            started += admitted([number], to: host, by: &admission)
            if number == 5000 { continue }
            _ = ended.withLock { $0.insert(number) }
            admission.noteEnd(for: host)
        }
        let keptCount = admission.waitingCount
        let next = admission.leave(host, isSharing: false)
        #expect(started == [0] && next == [5000])
        #expect(keptCount < 50 && admission.waitingCount < 50)
    }

    @Test func `In any order, no place is lost and none is given twice`() {
        let chance = SeededGenerator(seed: 7)
        let hosts = [host, other]
        let ended = Mutex<Set<Int>>([])
        var admission = CurlAdmission<Int>(limit: 3) { number in ended.withLock { !$0.contains(number) } }
        var active: [CurlHost: [Int]] = [:]
        var waiting: [CurlHost: [Int]] = [:]
        for number in 0..<20_000 {
            let host = hosts[Int(chance.next() % 2)]
            switch chance.next() % 3 {
            case 0:
                let isAdmitted = admission.admits(number, to: host, isSharing: false)
                #expect(isAdmitted == (active[host, default: []].count < 3))
                if isAdmitted {
                    active[host, default: []].append(number)
                } else {
                    waiting[host, default: []].append(number)
                }
            case 1 where active[host]?.isEmpty == false:
                active[host]?.removeFirst()
                let next = admission.leave(host, isSharing: false)
                #expect(next == Array(waiting[host, default: []].prefix(1)))
                waiting[host] = Array(waiting[host, default: []].dropFirst(next.count))
                active[host, default: []] += next
            default:
                guard let last = waiting[host]?.popLast() else { continue }
                _ = ended.withLock { $0.insert(last) }
                admission.noteEnd(for: host)
            }
        }
    }
}

extension IsolatedTests {
    @Suite(.timeLimit(.minutes(3))) struct CurlIdleTimeoutTests {
        let clock = VirtualClock()
        let origin: LoopbackOrigin

        init() throws {
            origin = try LoopbackOrigin()
        }

        private func request(_ idleTimeout: Duration? = nil) throws -> Request {
            var request = try Request.get(origin.url + "/")
            request.options.idleTimeout = idleTimeout
            return request
        }

        @Test func `Waiting for a connection counts while other requests progress`() async throws {
            let gate = Gate()
            origin.enqueue(
                .script(.head(.ok, ["Content-Length": "2"]), .wait(gate), .raw("a"), .wait(gate), .raw("b")))
            let connection = try CurlConnection(
                pool: .init(connectionsPerHost: 1), idleTimeout: .seconds(10), clock: clock)
            var reader = try await connection.send(request(.seconds(600_000))).body.open()
            let hasStarted = Gate()
            let content = AsyncStream<Data> {
                hasStarted.open()
                return nil
            }
            // Its content is read only after its time has started.
            let request = try Request.post(origin.url + "/", body: Body(chunks: content))
            let queued = Task { try await connection.send(request) }
            try await hasStarted.wait()
            try await clock.waitForSleepers()

            try await gate.waitForWaiting(1)
            clock.advance(by: .seconds(9))
            gate.admit()
            #expect(try await reader.next() == Data("a".utf8))
            let time = Task { [clock] in
                while !Task.isCancelled {
                    clock.advance(by: .milliseconds(1))
                    await Task.yield()
                }
            }
            let error = await #expect(throws: TransportError.self) { try await queued.joinedValue }
            time.cancel()
            #expect(error?.code == .timedOut)
            #expect(error?.stage == .connecting)
            #expect(origin.requests.count == 1)
        }

        @Test(arguments: ["http", "https"], [false, true])
        func `Each request to a silent server fails at its own time`(
            scheme: String, isBesideOthers: Bool
        ) async throws {
            let gate = Gate()
            origin.enqueue(
                .init(
                    steps: [.head(.ok, ["Content-Length": "99"])]
                        + (0..<8).flatMap { _ in [.wait(gate), .raw("a")] } + [.hang]))
            let silent = try SilentServer()
            let connection = try CurlConnection(
                pool: .init(connectionsPerHost: 1), idleTimeout: .seconds(2), clock: clock)
            var reader = isBesideOthers ? try await connection.send(request(.seconds(60))).body.open() : nil
            // Without TLS, the first request is sent at once, which counts as progress; it occupies the connection.
            var holder = try Request.get("\(scheme)://127.0.0.1:\(silent.port)/")
            holder.options.idleTimeout = .seconds(600)
            let held = scheme == "http" ? Task { [holder] in try await connection.send(holder) } : nil
            let others = (isBesideOthers ? 1 : 0) + (held == nil ? 0 : 1)
            try await yield { connection.watch.count == others }
            // From then on, the one connection is in use.
            let client = held == nil ? nil : try await silent.acceptRequest()
            defer { _ = client.map { close($0) } }

            let start = clock.now
            var requests: [Task<(TransportError?, Duration), Never>] = []
            for count in 1...8 {
                let request = try Request.get("\(scheme)://127.0.0.1:\(silent.port)/")
                requests.append(
                    Task { [clock] in
                        let error = await #expect(throws: TransportError.self) { try await connection.send(request) }
                        return (error, start.duration(to: clock.now))
                    })
                try await yield { connection.watch.count == count + others }
                clock.advance(by: .milliseconds(250))
            }

            for (index, request) in requests.enumerated() {
                let (error, time) = await request.joinedValue
                #expect(error?.code == .timedOut)
                #expect(time == .milliseconds(2000 + 250 * index))
                gate.admit()
                if isBesideOthers { #expect(try await reader?.next() == Data("a".utf8)) }
                clock.advance(by: .milliseconds(250))
            }
            if let held {
                held.cancel()
                await #expect(throws: CancellationError.self) { try await held.joinedValue }
            }
        }
    }
}
#endif
