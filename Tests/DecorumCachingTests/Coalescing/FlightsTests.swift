import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import Decorum

/// The table of shared requests, with keys of another type.
@Suite(.timeLimit(.minutes(3))) struct FlightsTests {
    let spawner = TrackingSpawner()

    @Test func `Callers with one key share a request, even if their requests differ`() async throws {
        let flights = Flights<Int>(spawner: spawner)
        let gate = Gate()
        let callers = await Callers.start(6) { number in
            try await flights.response(for: number % 2) {
                try await gate.wait()
                return Response(status: .init(code: 200 + number))
            }
        }
        #expect(flights.count == 2)
        gate.open()

        for (number, caller) in callers.enumerated() {
            let response = try await caller.value
            #expect(response.status.code == 200 + number % 2)
            #expect(response.metadata.isCoalesced == (number > 1))
        }
        #expect(flights.count == 0)
        #expect(spawner.spawnedCount == 2)
    }

    @Test func `A shared request is removed when no caller can join it any more`() async throws {
        let flights = Flights<Int>(spawner: spawner)
        let transfer = GatedTransfer()
        transfer.gate.open()
        let fly = { @Sendable in
            try await flights.response(for: 1) { Response(status: .ok, body: transfer.body(chunks: 1)) }
        }

        _ = try await fly()
        #expect(flights.count == 0)

        let response = try await fly()
        #expect(flights.count == 1)
        var reader = try await response.body.open()
        #expect(flights.count == 0)
        #expect(try await reader.next()?.count == 1000)

        let closed = try await fly()
        flights.close { $0 == 2 }
        #expect(flights.count == 1)
        flights.close { $0 == 1 }
        #expect(flights.count == 0)
        #expect(try await fly().metadata.isCoalesced == false)
        #expect(try await closed.body.data(upTo: 1000).count == 1000)
    }

    @Test func `Shared requests end after their callers have gone`() async throws {
        var flights: Flights<Int>? = Flights<Int>(spawner: spawner)
        weak let released = flights
        let response = try await flights?.response(for: 1) {
            Response(status: .ok, body: GatedTransfer().body(chunks: 1))
        }
        flights = nil
        try await spawner.finished()
        #expect(released == nil)
        #expect(response?.status == .ok)
    }

    /// Callers that call, read, drop and are cancelled at random, on all threads.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `In any order, every caller gets the right result and nothing remains`(seed: UInt64) async throws {
        let flights = Flights<Int>(spawner: spawner)
        let generator = SeededGenerator(seed: seed)
        let ledger = TransferLedger()
        for _ in 0..<60 {
            try await withThrowingTaskGroup { group in
                for _ in 0..<12 {
                    let caller = DisorderlyCaller(generator)
                    group.addTask { try await caller.call(flights, ledger) }
                }
                try await group.waitForAll()
            }
        }

        try await spawner.finished()
        #expect(flights.count == 0)
        #expect(ledger.aliveCount == 0)
        #expect(ledger.count > 60)
    }
}

private struct DisorderlyCaller: Sendable {
    let key: Int
    let chunks: Int
    let fails: Bool
    let delay: Int
    /// The number of chunks that the caller reads; the maximum means all.
    let wanted: Int
    /// When the caller is cancelled; nil if never.
    let cancellation: Int?

    init(_ generator: SeededGenerator) {
        let draw = { (count: UInt64) in Int(generator.next() % count) }
        key = draw(2)
        chunks = draw(6)
        fails = draw(10) == 0
        delay = draw(8)
        wanted = draw(3) == 0 ? draw(4) : .max
        cancellation = draw(3) == 0 ? draw(30) : nil
    }

    func call(_ flights: Flights<Int>, _ ledger: TransferLedger) async throws {
        let task = Task { try await work(flights, ledger) }
        if let cancellation {
            for _ in 0..<cancellation { await Task.yield() }
            task.cancel()
        }
        do {
            try await task.value
        } catch is CancellationError {
            #expect(cancellation != nil)
        } catch let error as TransportError {
            #expect(error.code == .connectionLost)
        }
    }

    private func work(_ flights: Flights<Int>, _ ledger: TransferLedger) async throws {
        for _ in 0..<delay { await Task.yield() }
        let response = try await flights.response(for: key) {
            for _ in 0..<delay {
                await Task.yield()
                try Task.checkCancellation()
            }
            if fails && chunks % 2 == 0 { throw TransportError(.connectionLost, at: .head) }
            let failure = fails ? TransportError(.connectionLost, at: .body) : nil
            return Response(
                status: .ok, fields: [.age: "\(chunks)"], body: ledger.add().body(chunks: chunks, failure: failure))
        }
        guard wanted > 0 else { return }
        let expected = Int(response.head.headerFields[.age] ?? "").map { $0 * 1000 }
        var reader = try await response.body.open()
        var data = Data()
        for _ in 0..<wanted {
            guard let chunk = try await reader.next() else {
                #expect(data.count == expected)
                break
            }
            data.append(chunk)
        }
        #expect(BytePattern.matches(data))
    }
}

private final class TransferLedger: Sendable {
    private let transfers = Mutex<[GatedTransfer]>([])

    var count: Int { transfers.withLock { $0.count } }
    var aliveCount: Int { transfers.withLock { $0.count(where: \.isAlive) } }

    func add() -> GatedTransfer {
        let transfer = GatedTransfer()
        transfer.gate.open()
        transfers.withLock { $0.append(transfer) }
        return transfer
    }
}

extension Flights {
    /// Shares the response to a request that is sent unchanged.
    fileprivate func response(
        for key: Key, _ send: @escaping @Sendable () async throws -> Response
    ) async throws -> Response {
        var request = try Request.get("https://a.example/")
        let sent = request.collectSent()
        let response = try await response(for: key, to: request, collecting: sent) { [request] in
            request.reportSending()
            return try await send()
        }
        return try #require(response)
    }
}
