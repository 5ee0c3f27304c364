import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The deadlines of callers who share a request, with `coalescing` and with a cache.
@Suite(.timeLimit(.minutes(3))) struct CallerDeadlineTests {
    enum Layer: String, CaseIterable, Sendable { case coalescing, caching }

    /// An option of an app that stays within the call that it was set for.
    private enum ScreenKey: RequestOptionKey {
        static let defaultValue: String? = nil
        static let travels = OptionTravel.call
    }

    let clock = VirtualClock()
    let gate = Gate()
    let spawner = TrackingSpawner()

    private func stub(_ body: @escaping @Sendable () -> Body = { "shared" }) -> StubConnection {
        StubConnection { [gate] _ in
            try await gate.wait()
            return Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: body())
        }
    }

    private func connection(_ layer: Layer, over base: some Connection) -> any Connection {
        switch layer {
        case .coalescing: base.coalescing(clock: clock, spawner: spawner)
        case .caching: base.caching(in: MemoryResponseStore(), clock: clock, spawner: spawner)
        }
    }

    private func page(within time: Duration?, bodyWithin bodyTime: Duration? = nil) throws -> Request {
        var request = try Request.get("https://a.example/page")
        request.options.deadline = time.map { clock.now + $0 }
        request.options.bodyDeadline = bodyTime.map { clock.now + $0 }
        request.options.routeName = "page"
        return request
    }

    private func expectLate(_ call: Task<some Sendable, any Error>) async {
        let error = await #expect(throws: TransportError.self) { _ = try await call.value }
        #expect(error?.code == .deadlineExceeded)
        #expect(error?.origin?.host == "a.example")
        #expect(error?.routeName == "page")
    }

    @Test(arguments: Layer.allCases)
    func `The sender leaves at its deadline, and its request goes on for the others`(layer: Layer) async throws {
        let stub = stub()
        let connection = connection(layer, over: stub)
        let requests = [try page(within: .seconds(5)), try page(within: .seconds(30)), try page(within: nil)]
        let callers = await Callers.start(3) { number in
            try await connection.send(requests[number]).body.text(upTo: 10)
        }
        try await gate.waitForWaiting(1)

        clock.advance(by: .seconds(5))
        await expectLate(callers[0])
        #expect(gate.waitingCount == 1)
        gate.open()

        #expect(try await callers[1].value == "shared")
        #expect(try await callers[2].value == "shared")
        #expect(stub.requests.count == 1)
        try await spawner.finished()
    }

    @Test(arguments: Layer.allCases)
    func `A caller who joined leaves at its own deadline`(layer: Layer) async throws {
        let stub = stub()
        let connection = connection(layer, over: stub)
        let requests = [try page(within: nil), try page(within: .seconds(5)), try page(within: .seconds(10))]
        let callers = await Callers.start(3) { number in
            try await connection.send(requests[number]).body.text(upTo: 10)
        }
        try await gate.waitForWaiting(1)
        for number in 1...2 {
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(5))
            await expectLate(callers[number])
        }
        gate.open()
        #expect(try await callers[0].value == "shared")
        #expect(stub.requests.count == 1)
    }

    @Test(arguments: Layer.allCases)
    func `With the last caller's deadline or cancellation, the request ends`(layer: Layer) async throws {
        for isCancelled in [true, false] {
            let stub = stub()
            let connection = connection(layer, over: stub)
            let requests = [try page(within: .seconds(5)), try page(within: .seconds(8))]
            let callers = await Callers.start(2) { number in
                try await connection.send(requests[number]).body.text(upTo: 10)
            }
            try await gate.waitForWaiting(1)
            clock.advance(by: .seconds(5))
            await expectLate(callers[0])
            if isCancelled {
                callers[1].cancel()
                await #expect(throws: CancellationError.self) { try await callers[1].value }
            } else {
                try await clock.waitForSleepers()
                clock.advance(by: .seconds(3))
                await expectLate(callers[1])
            }
            // The sending itself was cancelled: it waits at the gate no more.
            try await spawner.finished()
            #expect(gate.waitingCount == 0)
            #expect(stub.requests.count == 1)
        }
    }

    @Test(arguments: Layer.allCases)
    func `A deadline that has passed sends nothing`(layer: Layer) async throws {
        let stub = stub()
        let connection = connection(layer, over: stub)
        let request = try page(within: .zero)
        let error = await #expect(throws: TransportError.self) { try await connection.send(request) }
        #expect(error?.code == .deadlineExceeded)
        #expect(stub.requests.isEmpty)
    }

    @Test(arguments: Layer.allCases)
    func `A shared request leaves out the options that belong to one caller`(layer: Layer) async throws {
        gate.open()
        let stub = stub()
        let call = CallContext(id: 7)
        var request = try page(within: .seconds(5), bodyWithin: .seconds(50))
        request.options.idleTimeout = .seconds(3)
        request.options[ScreenKey.self] = "inbox"
        request.options.principal = Principal("user-1")
        request.options.callContext = call
        _ = try await connection(layer, over: stub).send(request)
        let options = try #require(stub.requests.first?.options)
        #expect(options.deadline == nil && options.bodyDeadline == nil)
        #expect(options[ScreenKey.self] == nil)
        #expect(options.principal == Principal("user-1"))
        // Callers share only with the same idle timeout, and the history of the call tells of its request.
        #expect(options.idleTimeout == .seconds(3))
        #expect(options.callContext === call)
    }

    @Test(arguments: Layer.allCases)
    func `The deadline of a body ends the reading of one caller alone`(layer: Layer) async throws {
        let transfer = GatedTransfer()
        gate.open()
        let stub = stub { transfer.body(chunks: 2) }
        let response = try await connection(layer, over: stub).send(page(within: nil, bodyWithin: .seconds(5)))
        var reader = try await response.body.open()
        transfer.gate.admit()
        #expect(try await reader.next()?.count == 1000)
        let reading = Task { [clock] in
            try await transfer.gate.waitForWaiting(1)
            clock.advance(by: .seconds(5))
        }
        let error = await #expect(throws: TransportError.self) { _ = try await reader.next() }
        try await reading.value
        #expect(error?.code == .deadlineExceeded)
        #expect(error?.stage == .body)
        #expect(error?.origin?.host == "a.example")
    }
}
