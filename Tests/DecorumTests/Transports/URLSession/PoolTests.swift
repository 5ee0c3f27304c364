import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Many requests over few connections, and connections that turn out to be dead.
@Suite(.timeLimit(.minutes(1))) struct PoolTests {
    let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
        origin.route(nil, "*", LoopbackOrigin.Answer(body: "ok"))
    }

    @Test func `Requests one after the other share a connection`() async throws {
        let connection = URLSessionConnection()
        for _ in 0..<50 {
            _ = try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10)
            _ = try await connection.send(.post(origin.url + "/", body: "hello")).body.drain(upTo: 10)
        }

        #expect(origin.connectionCount == 1)
        #expect(origin.requests.count == 100)
    }

    @Test func `No more connections are made than allowed`() async throws {
        let gate = Gate()
        origin.route(.get, "/wait", LoopbackOrigin.Answer(body: "ok").after(.wait(gate)))
        let connection = URLSessionConnection(connectionsPerHost: 2)
        let request = try Request.get(origin.url + "/wait")
        let tasks = (0..<8).map { _ in Task { try await connection.send(request).body.text(upTo: 10) } }
        try await gate.waitForWaiting(2)
        #expect(origin.connectionCount == 2)

        gate.open()
        for task in tasks { #expect(try await task.value == "ok") }
        #expect(origin.connectionCount <= 3)
        #expect(origin.requests.count == 8)
    }

    @Test func `A request that waits for a connection can be cancelled, and times out`() async throws {
        let clock = VirtualClock()
        origin.route(.get, "/hang", .hanging)
        let connection = URLSessionConnection(connectionsPerHost: 1, clock: clock)
        let request = try Request.get(origin.url + "/hang")
        let first = Task { try await connection.send(request) }
        try await origin.waitForRequests(1)
        let second = Task { try await connection.send(request) }
        let third = Task { try await connection.send(request) }

        second.cancel()
        await #expect(throws: CancellationError.self) { _ = try await second.value }
        while clock.pendingSleeps.isEmpty { await Task.yield() }
        // The third may be added to the watch only now; it is overdue sixty seconds later all the same.
        let advancing = Task {
            while !Task.isCancelled {
                clock.advance(by: .seconds(30))
                await Task.yield()
            }
        }
        for task in [first, third] {
            let error = await #expect(throws: TransportError.self) { _ = try await task.value }
            #expect(error?.code == .timedOut)
        }
        advancing.cancel()
    }

    @Test(arguments: 0..<5)
    func `Content on a connection that turns out to be dead fails at once and is not sent twice`(
        attempt: Int
    ) async throws {
        let connection = URLSessionConnection()
        _ = try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10)
        origin.enqueue(.closing)
        let request = try Request.post(origin.url + "/", body: "hello")

        let error = await #expect(throws: TransportError.self) { try await connection.send(request) }
        #expect(error?.code == .connectionLost)
        #expect(error?.stage == .head)
        #expect(origin.requests.filter { $0.text == "hello" }.count == 1)
    }

    @Test(arguments: 0..<5)
    func `A stream on a connection that turns out to be dead fails at once and is not sent twice`(
        attempt: Int
    ) async throws {
        let connection = URLSessionConnection()
        _ = try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10)
        origin.enqueue(.closing)
        let body = Body(
            chunks: AsyncStream { continuation in
                for _ in 0..<32 { continuation.yield(Data(count: 65_536)) }
                continuation.finish()
            })
        let request = try Request.post(origin.url + "/", body: body)

        let error = await #expect(throws: TransportError.self) { try await connection.send(request) }
        #expect(error?.code == .connectionLost)
        #expect(origin.requests.filter { $0.bodyLength == 2 << 20 }.count == 1)
    }

    @Test func `An idle connection that the server has closed is replaced`() async throws {
        let connection = URLSessionConnection()
        for round in 1...3 {
            let response = try await connection.send(.post(origin.url + "/", body: "hello"))
            #expect(try await response.body.text(upTo: 10) == "ok")
            #expect(origin.connectionCount == round)
            origin.closeConnections()
            try await origin.waitForOpenConnections(0)
        }
    }

    @Test func `A thousand requests at the same time are all answered`() async throws {
        let connection = URLSessionConnection(connectionsPerHost: 64)
        let request = try Request.get(origin.url + "/")
        let tasks = (0..<1000).map { _ in Task { try await connection.send(request).body.text(upTo: 10) } }

        var answers = 0
        for task in tasks where try await task.value == "ok" { answers += 1 }
        #expect(answers == 1000)
        #expect(origin.requests.count == 1000)
    }
}
