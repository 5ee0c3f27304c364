import DecorumCookies
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumAuthentication

/// Bodies that are read when their user signs out.
@Suite(.timeLimit(.minutes(3))) struct SigningOutOfBodiesTests {
    private let user = Principal("user-1")
    private let requests = RequestsUnderWay()

    private func send(_ body: Body, for principal: Principal? = nil) async throws -> Response {
        try await StubConnection { _ in Response(status: .ok, body: body) }
            .ending(with: requests).acting(for: principal ?? user).send(.get(RotatingServer.apiURL))
    }

    @Test(arguments: [false, true])
    func `A reader who waits gets the error at once, and the transfer stops`(isOpened: Bool) async throws {
        let transfer = GatedTransfer()
        let response = try await send(transfer.body(length: 5000, chunks: 5))
        let reading = Task { () async throws -> (Int, SignedOutError.Reason?) in
            var chunks = 0
            do {
                for try await _ in response.body { chunks += 1 }
            } catch let error as SignedOutError {
                return (chunks, error.reason)
            }
            return (chunks, nil)
        }
        try await transfer.gate.waitForWaiting(1)
        if isOpened {
            transfer.gate.admit()
            try await yield { transfer.chunksRead > 0 }
            try await transfer.gate.waitForWaiting(1)
        }
        // The gate admits nothing more, so only signing out can end the wait.
        await requests.signOut(user)
        let (chunks, reason) = try await reading.value
        #expect(chunks == (isOpened ? 1 : 0) && reason == .signedOut)
        try await yield { !transfer.isAlive }
        #expect(transfer.gate.waitingCount == 0 && requests.count == 0)
    }

    @Test func `A slow reader gets the error at its next chunk, and the transfer has stopped before`() async throws {
        let transfer = GatedTransfer.open
        let response = try await send(transfer.body(chunks: 5))
        var chunks = response.body.makeAsyncIterator()
        #expect(try await chunks.next()?.count == 1000)
        await requests.signOut(user)
        try await yield { !transfer.isAlive }
        for _ in 0..<2 {
            await #expect(throws: SignedOutError(.signedOut)) { try await chunks.next() }
        }
        #expect(transfer.chunksRead == 1)
    }

    @Test func `A body that was not opened yet stops its transfer too`() async throws {
        let transfer = GatedTransfer.open
        let response = try await send(transfer.body(chunks: 5))
        #expect(transfer.isAlive && requests.count == 1)
        await requests.signOut(user)
        try await yield { !transfer.isAlive }
        await #expect(throws: SignedOutError(.signedOut)) { try await response.body.data(upTo: 10_000) }
        #expect(transfer.chunksRead == 0)
    }

    @Test func `A reader who is cancelled gets a cancellation, and leaves nothing behind`() async throws {
        let transfer = GatedTransfer()
        let reading = Task { try await send(transfer.body(chunks: 5)).body.data(upTo: 10_000) }
        try await transfer.gate.waitForWaiting(1)
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        try await yield { !transfer.isAlive }
        #expect(transfer.gate.waitingCount == 0 && requests.count == 0)
        await requests.signOut(user)
    }

    @Test(arguments: [0, 1])
    func `A body that is dropped early stops its transfer and leaves the list`(chunks: Int) async throws {
        let transfer = GatedTransfer.open
        do {
            let response = try await send(transfer.body(chunks: 5))
            var iterator = response.body.makeAsyncIterator()
            for _ in 0..<chunks { _ = try await iterator.next() }
            #expect(transfer.isAlive && requests.count == 1)
        }
        try await yield { !transfer.isAlive }
        #expect(requests.count == 0)
    }

    @Test func `A body that has failed does not end as if it were complete`() async throws {
        let failing = GatedTransfer.open.body(chunks: 1, failure: TransportError(.connectionLost, at: .body))
        var rest = try await send(failing).body.open()
        _ = try await rest.next()
        for _ in 0..<2 {
            await #expect(throws: TransportError.self) { try await rest.next() }
        }
    }

    @Test func `A body that can be read again ends for each reader, and for later ones`() async throws {
        let gate = Gate()
        let body = Body(replay: .fromStart) { _ in WaitingReader(gate: gate) }
        let response = try await send(body)
        #expect(requests.count == 0)
        let readings = (0..<3).map { _ in Task { try await response.body.data(upTo: 1000) } }
        try await gate.waitForWaiting(3)
        #expect(requests.count == 3)
        await requests.signOut(user)
        for reading in readings { await #expect(throws: SignedOutError(.signedOut)) { try await reading.value } }
        await #expect(throws: SignedOutError(.signedOut)) { try await response.body.data(upTo: 1000) }
        #expect(requests.count == 0)
    }

    @Test func `The body of another user goes on`() async throws {
        let transfer = GatedTransfer()
        let response = try await send(transfer.body(chunks: 1), for: Principal("user-2"))
        let reading = Task { try await response.body.data(upTo: 10_000).count }
        try await transfer.gate.waitForWaiting(1)
        await requests.signOut(user)
        transfer.gate.open()
        #expect(try await reading.value == 1000)
    }

    @Test func `A body of a cancelled caller does not look complete when its user signs out`() async throws {
        let gate = Gate()
        let response = try await send(Body(replay: .once) { _ in DeafReader(gate: gate) })
        let reading = Task { try await response.body.data(upTo: 10_000).count }
        try await gate.waitForWaiting(1)
        await requests.signOut(user)
        reading.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await reading.value }
        #expect(requests.count == 0)
    }

    @Test func `A download over a socket ends while its server sends nothing`() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.route(.get, "/", .script(.head(.ok, ["Content-Length": "9"]), .raw("1234"), .receiveBody, .hang))
        let connection = SystemConnection().ending(with: requests).acting(for: user)
        let response = try await connection.send(.get(origin.url + "/"))
        var chunks = response.body.makeAsyncIterator()
        #expect(try await chunks.next() == Data("1234".utf8))
        let reading = Task { [requests, user] in
            try await origin.waitForOpenConnections(1)
            await requests.signOut(user)
        }
        await #expect(throws: SignedOutError(.signedOut)) { try await chunks.next() }
        try await reading.value
        try await origin.waitForOpenConnections(0)
    }

    @Test func `Many bodies end at random moments, and none is left`() async throws {
        let generator = SeededGenerator(seed: 19)
        for _ in 0..<50 {
            let transfers = (0..<20).map { _ in GatedTransfer() }
            let readings = transfers.map { transfer in
                Task { try await send(transfer.body(chunks: 2)).body.data(upTo: 10_000).count }
            }
            for transfer in transfers {
                if generator.next() % 3 == 0 { transfer.gate.open() }
                if generator.next() % 4 == 0 { await Task.yield() }
            }
            for reading in readings where generator.next() % 5 == 0 { reading.cancel() }
            await requests.signOut(user)
            // A request that had not begun at the sign-out belongs to the next session.
            for transfer in transfers { transfer.gate.open() }
            for reading in readings {
                switch await reading.result {
                case .success(let count): #expect(count == 2000)
                case .failure(let error): #expect(error is SignedOutError || error is CancellationError)
                }
            }
            try await yield { transfers.allSatisfy { !$0.isAlive } }
            #expect(requests.count == 0)
        }
    }
}

private struct WaitingReader: BodyReader {
    let gate: Gate

    mutating func next() async throws -> Data? {
        try await gate.wait()
        return nil
    }

    var trailers: HTTPFields? { nil }
}

/// Reads one chunk, and ends once its gate is open, whether or not it is cancelled.
private struct DeafReader: BodyReader {
    let gate: Gate
    var isRead = false

    mutating func next() async throws -> Data? {
        if isRead {
            try await Task { [gate] in try await gate.wait() }.value
            return nil
        }
        isRead = true
        return Data("a part".utf8)
    }

    var trailers: HTTPFields? { nil }
}
