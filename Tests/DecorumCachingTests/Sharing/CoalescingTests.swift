import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Tests which callers share a request, and which are cancelled.
@Suite(.timeLimit(.minutes(3))) struct CoalescingTests {
    let gate = Gate()
    let spawner = TrackingSpawner()

    private func stub(_ body: @escaping @Sendable () -> Body = { "shared" }) -> StubConnection {
        StubConnection { [gate] _ in
            try await gate.wait()
            return Response(status: .ok, fields: [.eTag: #""1""#], body: body())
        }
    }

    private func page(_ fields: HTTPFields = [:]) throws -> Request {
        try .get("https://a.example/page?a=b", fields: fields)
    }

    @Test(arguments: [true, false])
    func `Fifty identical requests are sent once`(isStream: Bool) async throws {
        let stub = stub { isStream ? GatedTransfer.open.body(chunks: 3) : Body(BytePattern.bytes(3000)) }
        let connection = stub.coalescing(spawner: spawner)
        let request = try page()

        let callers = await Callers.start(50) { _ in
            let response = try await connection.send(request)
            return (response.head, response.metadata.isCoalesced, try await response.body.data(upTo: 3000))
        }
        gate.open()

        var coalesced: [Bool] = []
        for caller in callers {
            let (head, isCoalesced, data) = try await caller.value
            #expect(head.headerFields[.eTag] == #""1""#)
            #expect(BytePattern.matches(data))
            #expect(data.count == 3000)
            coalesced.append(isCoalesced)
        }
        #expect(coalesced == [false] + Array(repeating: true, count: 49))
        #expect(stub.requests.count == 1)
        try await spawner.finished()
    }

    @Test func `A caller who comes after the head of the response does not join`() async throws {
        gate.open()
        let stub = stub { GatedTransfer.open.body(chunks: 1) }
        let connection = stub.coalescing()
        var responses: [Response] = []
        for _ in 0..<3 { responses.append(try await connection.send(page())) }
        #expect(responses.allSatisfy { !$0.metadata.isCoalesced })
        #expect(stub.requests.count == 3)
    }

    @Test func `When the first caller is cancelled, the next one sends the request for the others`() async throws {
        let stub = stub { GatedTransfer.open.body(chunks: 3) }
        let connection = stub.coalescing(spawner: spawner)
        let request = try page()
        let callers = await Callers.start(50) { _ in
            try await connection.send(request).body.data(upTo: 3000).count
        }

        callers[0].cancel()
        await #expect(throws: CancellationError.self) { try await callers[0].value }
        try await gate.waitForWaiting(1)
        gate.open()

        for caller in callers.dropFirst() {
            #expect(try await caller.value == 3000)
        }
        #expect(stub.requests.count == 2)
    }

    @Test func `The request is cancelled with the last caller, and the next caller sends a new one`() async throws {
        let stub = stub()
        let connection = stub.coalescing(spawner: spawner)
        let request = try page()
        let callers = await Callers.start(50) { _ in try await connection.send(request) }
        try await gate.waitForWaiting(1)

        // On the actor of the callers, so that none of them sends before it is cancelled too.
        await MainActor.run { for caller in callers { caller.cancel() } }
        for caller in callers {
            await #expect(throws: CancellationError.self) { try await caller.value }
        }
        #expect(gate.waitingCount == 0)

        gate.open()
        #expect(try await connection.send(request).status == .ok)
        #expect(stub.requests.count == 2)
        try await spawner.finished()
    }

    @Test func `No caller joins a request that is being cancelled`() async throws {
        let end = Gate()
        let stub = StubConnection(answers: [
            { [gate] _ in
                do {
                    try await gate.wait()
                } catch {
                    try await Task { try await end.wait() }.value
                    throw error
                }
                return Response(status: .ok)
            }
        ]) { _ in Response(status: .accepted) }
        let connection = stub.coalescing(spawner: spawner)
        let request = try page()
        let cancelled = await Callers.start { _ in try await connection.send(request) }
        try await gate.waitForWaiting(1)
        cancelled[0].cancel()

        #expect(try await connection.send(request).status == .accepted)
        end.open()
        await #expect(throws: CancellationError.self) { try await cancelled[0].value }
    }

    @Test func `An error is thrown to all callers unchanged, and is not kept`() async throws {
        let stub = StubConnection(answers: [
            { [gate] _ in
                try await gate.wait()
                throw TransportError(.connectionLost, at: .head)
            }
        ]) { _ in Response(status: .ok) }
        let reports = Mutex<[CallReport]>([])
        let connection = stub.coalescing().observing { report in reports.withLock { $0.append(report) } }
        let request = try page()
        let callers = await Callers.start(10) { _ in try await connection.send(request) }
        gate.open()

        for caller in callers {
            let error = await #expect(throws: TransportError.self) { try await caller.value }
            #expect(error?.code == .connectionLost)
        }
        let joined = reports.withLock { $0 }.filter(\.isCoalesced)
        #expect(joined.count == 9 && joined.allSatisfy { $0.attemptCount == 0 && $0.outcome != .finished })
        #expect(try await connection.send(request).status == .ok)
    }

    @Test(arguments: [
        ("a.example/page?a=b", "POST", 2), ("a.example/page?a=b", "UNHEARD-OF", 2), ("a.example/other", "POST", 1),
        ("b.example/page?a=b", "POST", 1), ("a.example/page?a=b", "OPTIONS", 1), ("a.example/page?a=b", "PROPFIND", 1),
    ])
    func `A request after a change does not share a response from before it`(
        uri: String, method: String, requests: Int
    ) async throws {
        let stub = StubConnection { [gate] request in
            if request.head.method == .get { try await gate.wait() }
            return Response(status: .ok)
        }
        let connection = stub.coalescing()
        let request = try page()
        let early = await Callers.start(2) { _ in try await connection.send(request) }
        let method = try #require(HTTPRequest.Method(method))
        _ = try await connection.send(Request(method, "https://\(uri)"))
        let late = await Callers.start(2) { _ in try await connection.send(request) }
        gate.open()

        for caller in early + late { _ = try await caller.value }
        #expect(stub.requests.count(where: { $0.head.method == .get }) == requests)
    }

    @Test func `The sent request has the task-local values and options of the first caller`() async throws {
        let stub = StubConnection { [gate] request in
            try await gate.wait()
            return Response(status: .ok, body: Body("\(Caller.name) \(request.options.routeName ?? "")"))
        }
        let connection = stub.coalescing()
        let callers = await Callers.start(2) { number in
            try await Caller.$name.withValue("caller \(number)") {
                var request = try Request.get("https://a.example/")
                request.options.routeName = "route \(number)"
                return try await connection.send(request).body.text(upTo: 100)
            }
        }
        gate.open()
        for caller in callers {
            #expect(try await caller.value == "caller 0 route 0")
        }
    }
}

private enum Caller {
    @TaskLocal static var name = ""
}
