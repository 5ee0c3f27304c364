import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import Decorum

/// The table of requests that callers may share.
@Suite(.timeLimit(.minutes(3))) struct SharedRequestsTests {
    let spawner = TrackingSpawner()
    let tickets = StoreTickets()

    private func table() -> SharedRequests { SharedRequests(layer: "table", clock: SystemClock(), spawner: spawner) }

    @Test func `A response for one caller alone is refused to the others, who then do not wait again`() async throws {
        let table = table()
        let gate = Gate()
        let sent = Count()
        let callers = await Callers.start(5) { [tickets] _ in
            try await table.response(for: 1, tickets, isForAll: false) {
                sent.value.add(1, ordering: .relaxed)
                try await gate.wait()
                return Response(status: .unauthorized)
            }
        }
        #expect(sent.value.load(ordering: .relaxed) == 1)
        gate.open()
        for caller in callers { #expect(try await caller.value.metadata.isCoalesced == false) }
        #expect(sent.value.load(ordering: .relaxed) == 5)

        // The key is remembered, until a response can be shared again.
        let later = Gate()
        let next = await Callers.start(3) { [tickets] _ in
            try await table.response(for: 1, tickets) {
                sent.value.add(1, ordering: .relaxed)
                try await later.wait()
                return Response(status: .ok)
            }
        }
        #expect(sent.value.load(ordering: .relaxed) == 8)
        later.open()
        for caller in next { #expect(try await caller.value.status == .ok) }
        let gateOfLast = Gate()
        let last = await Callers.start(2) { [tickets] _ in
            try await table.response(for: 1, tickets) {
                try await gateOfLast.wait()
                return Response(status: .ok)
            }
        }
        #expect(table.count == 1)
        gateOfLast.open()
        #expect(try await last[1].value.metadata.isCoalesced)
        #expect(try await last[0].value.metadata.isCoalesced == false)
    }

    @Test func `A transfer that its transport has ended is not sent again by any caller`() async throws {
        let table = table()
        let gate = Gate()
        let sent = Count()
        let callers = await Callers.start(3) { [tickets] _ in
            try await table.response(for: 1, tickets) {
                sent.value.add(1, ordering: .relaxed)
                try await gate.wait()
                throw CancellationError()
            }
        }
        gate.open()
        for caller in callers { await #expect(throws: CancellationError.self) { try await caller.value } }
        #expect(sent.value.load(ordering: .relaxed) == 1)
    }

    @Test func `Shared requests end after their callers have gone`() async throws {
        var table: SharedRequests? = table()
        weak let released = table
        let response = try await table?.response(for: 1, tickets) {
            Response(status: .ok, body: GatedTransfer().body(chunks: 1))
        }
        table = nil
        try await spawner.finished()
        #expect(released == nil)
        #expect(response?.status == .ok)
    }

    /// Callers that call, read, drop and are cancelled at random, on all threads.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `In any order, every caller gets the right result and nothing remains`(seed: UInt64) async throws {
        let table = table()
        let generator = SeededGenerator(seed: seed)
        let ledger = TransferLedger()
        for _ in 0..<60 {
            try await withThrowingTaskGroup { group in
                for _ in 0..<12 {
                    let caller = DisorderlyCaller(generator)
                    group.addTask { [tickets] in try await caller.call(table, tickets, ledger) }
                }
                try await group.waitForAll()
            }
        }

        try await spawner.finished()
        #expect(table.count == 0)
        #expect(ledger.aliveCount == 0)
        #expect(ledger.count > 60)
    }
}

private struct DisorderlyCaller: Sendable {
    let key: Int
    let chunks: Int
    let fails: Bool
    let isForAll: Bool
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
        isForAll = draw(4) > 0
        wanted = draw(3) == 0 ? draw(4) : .max
        cancellation = draw(3) == 0 ? draw(30) : nil
    }

    func call(_ table: SharedRequests, _ tickets: StoreTickets, _ ledger: TransferLedger) async throws {
        let task = Task { try await work(table, tickets, ledger) }
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

    private func work(_ table: SharedRequests, _ tickets: StoreTickets, _ ledger: TransferLedger) async throws {
        for _ in 0..<delay { await Task.yield() }
        let response = try await table.response(for: key, tickets, isForAll: isForAll) {
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

private final class Count: Sendable {
    let value = Atomic(0)
}

extension SharedRequests {
    /// Shares the response to a request for a page, which is sent unchanged.
    fileprivate func response(
        for number: Int, _ tickets: StoreTickets, isForAll: Bool = true,
        _ send: @escaping @Sendable () async throws -> Response
    ) async throws -> Response {
        let request = try Request.get("https://a.example/\(number)")
        let resource = try #require(ResponseKey(request))
        let key = SharedRequestKey(request, at: resource, ignoring: FieldNames([]))
        var collecting = request
        let sent = collecting.collectSent()
        return try await response(
            at: resource, for: key, to: request, collecting: sent, ticket: { tickets.ticket(for: resource) },
            send: { [collecting] _, _ in
                collecting.reportSending()
                return SharedAnswer(response: try await send(), isForAll: isForAll)
            })
    }
}
