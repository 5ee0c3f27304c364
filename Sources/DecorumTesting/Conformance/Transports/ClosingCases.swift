import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// The end of a transport, in good order or when it is dropped.
    public static let closing: [TransportCase] = [
        .close, .cancelledClose, .unusedClose, .cancelAll, .cancelAllOfClosed, .lettingGo, .outliving,
    ]

    /// A transport that is closed serves the transfers under way to their ends, and no other request.
    public static let close = TransportCase(
        "close", "A transport that is closed ends its transfers, refuses new requests and closes its connections."
    ) { subject in
        let bench = try await ClosingBench(subject)
        let slow = try await bench.connection.send(.get(bench.origin.url + "/slow"))
        let hasClosed = Gate()
        let closing = Task {
            await bench.connection.close()
            hasClosed.open()
        }
        let error = try await bench.refusal()
        try requireEqual(error.code, .closed, "The code of a refusal")
        try requireEqual(error.stage, .connecting, "The stage of a refusal")
        try require(!hasClosed.isOpen, "Closing did not wait for a response that is under way.")

        bench.gate.open()
        try requireEqual(try await slow.body.text(upTo: 10), "ok", "The content of a response that was under way")
        try await withDeadline("Closing did not return after the last response.") { await closing.value }
        try await withDeadline("A closed transport keeps connections.") {
            try await bench.origin.waitForOpenConnections(0)
        }
        try await withDeadline("Closing a second time did not return.") { await bench.connection.close() }
        try requireEqual(try await bench.refusal().code, .closed, "The code after closing twice")
    }

    /// A wait for the end can be given up, and a response that is dropped is not waited for.
    public static let cancelledClose = TransportCase(
        "cancelledClose", "Cancelling the task that closes ends its wait, and a dropped response ends the wait too."
    ) { subject in
        let bench = try await ClosingBench(subject)
        var slow: Response? = try await bench.connection.send(.get(bench.origin.url + "/slow"))
        let closing = Task { await bench.connection.close() }
        closing.cancel()
        try await withDeadline("Cancelling did not end the wait of closing.") { await closing.value }

        try requireEqual(slow?.status, .ok, "The status of a response that was under way")
        slow = nil
        try await withDeadline("A response that was dropped is waited for.") { await bench.connection.close() }
        try await withDeadline("A closed transport keeps connections.") {
            try await bench.origin.waitForOpenConnections(0)
        }
        bench.gate.open()
    }

    /// A request that failed before it was sent is not under way.
    public static let unusedClose = TransportCase(
        "unusedClose", "A transport that was never used, or has failed before it sent, closes at once."
    ) { subject in
        let bench = try await ClosingBench(subject)
        let body = Body(replay: .once) { _ in throw CancellationError() }
        do {
            _ = try await bench.connection.send(.post(bench.origin.url + "/", body: body))
            throw ConformanceFailure("A body that cannot be opened was sent.")
        } catch is CancellationError {
            try await withDeadline("A transport without transfers does not close.") { await bench.connection.close() }
        }
        try requireEqual(bench.origin.connectionCount, 0, "The number of connections")
    }

    /// Ending all transfers ends each of them, whatever it waits for, and no later request.
    public static let cancelAll = TransportCase(
        "cancelAll", "cancelAll() ends each transfer with CancellationError, and the transport stays open."
    ) { subject in
        let bench = try await ClosingBench(subject)
        let (origin, connection) = (bench.origin, bench.connection)
        connection.cancelAll()
        let slow = try await connection.send(.get(origin.url + "/slow"))
        let reading = Task { try await slow.body.text(upTo: 10) }
        origin.route(.get, "/hang", .hanging)
        let waiting = try bench.task(.get(origin.url + "/hang"))
        try await origin.waitForHeads(2)
        let source = Gate()
        let producing = try bench.task(
            .post(origin.url + "/", body: Body(replay: .once) { _ in try await bench.reader(after: source) }))
        try await source.waitForWaiting(1)

        connection.cancelAll()
        for task in [waiting, producing] { try await requireCancelled(task, "all transfers") }
        try await requireCancelled(reading, "all transfers, and so a reading,")
        try await withDeadline("The connections of ended transfers stay open.") {
            try await origin.waitForOpenConnections(0)
        }
        try requireEqual(origin.requests.count { $0.path == "/hang" }, 1, "The number of requests")

        // Some of these wait for a connection. One that has not begun to do so is not under way, so it ends the next time.
        let crowd = try (0..<70).map { _ in try bench.task(.get(origin.url + "/hang")) }
        let ended = Task { for task in crowd { try await requireCancelled(task, "a crowd of transfers") } }
        let cancelling = Task {
            while !Task.isCancelled {
                connection.cancelAll()
                await Task.yield()
            }
        }
        defer { cancelling.cancel() }
        try await ended.value
        cancelling.cancel()
        await cancelling.value
        let response = try await connection.send(.get(origin.url + "/"))
        try requireEqual(try await response.body.text(upTo: 10), "ok", "The content after all transfers were ended")
    }

    /// Together with closing, ending all transfers is an immediate end.
    public static let cancelAllOfClosed = TransportCase(
        "cancelAllOfClosed", "cancelAll() ends the wait of close(), and the connections."
    ) { subject in
        let bench = try await ClosingBench(subject)
        let slow = try await bench.connection.send(.get(bench.origin.url + "/slow"))
        let closing = Task { await bench.connection.close() }
        _ = try await bench.refusal()
        bench.connection.cancelAll()
        try await withDeadline("Closing did not return after the transfers were ended.") { await closing.value }
        try await requireCancelled(Task { try await slow.body.text(upTo: 10) }, "a transfer of a closed transport")
        try await withDeadline("A closed transport keeps connections.") {
            try await bench.origin.waitForOpenConnections(0)
        }
        try requireEqual(try await bench.refusal().code, .closed, "The code after all transfers were ended")
    }

    /// Dropping a transport closes its connections.
    public static let lettingGo = TransportCase(
        "lettingGo", "A transport that is dropped closes its idle connections."
    ) { subject in
        let origin = try LoopbackOrigin()
        origin.route(nil, "*", .init(body: "hello"))
        for _ in 0..<20 {
            let response = try await subject.make(SystemClock()).send(.get(origin.url + "/"))
            try requireEqual(try await response.body.collectAll().data.count, 5, "The number of bytes")
        }
        try await withDeadline("Connections of transports that are gone stay open.") {
            try await origin.waitForOpenConnections(0)
        }
    }

    /// A transfer retains what it needs of its transport.
    public static let outliving = TransportCase(
        "outliving", "A request and its response go on to their ends when the transport is dropped."
    ) { subject in
        let origin = try LoopbackOrigin()
        let gate = Gate()
        origin.enqueue(LoopbackOrigin.Answer.generated(count: 4 << 20).after(.wait(gate)))
        let request = try Request.get(origin.url + "/")
        let task = Task { try await subject.make(SystemClock()).send(request) }
        try await gate.waitForWaiting(1)
        gate.open()
        let response = try await withDeadline("A request ended without a response.") { try await task.value }
        try requireEqual(try await response.body.countPattern(), 4 << 20, "The number of bytes")
        try await withDeadline("A connection stays open after the last transfer.") {
            try await origin.waitForOpenConnections(0)
        }
    }
}

/// A transport that can be closed, and an origin with one answer that waits.
private struct ClosingBench {
    let origin: LoopbackOrigin
    let connection: any ClosableConnection
    let gate = Gate()

    init(_ subject: TransportSubject) async throws {
        origin = try LoopbackOrigin()
        guard let connection = try subject.make(SystemClock()) as? any ClosableConnection else {
            throw ConformanceSkip(reason: "The transport is no ClosableConnection.")
        }
        self.connection = connection
        origin.route(.get, "/", .init(body: "ok"))
        origin.route(.get, "/slow", .script(.openHead(["Content-Length": "2"]), .raw("o"), .wait(gate), .raw("k")))
    }

    func task(_ request: Request) -> Task<Void, any Error> {
        Task { _ = try await connection.send(request) }
    }

    /// A reader that comes when a gate is open.
    func reader(after gate: Gate) async throws -> any BodyReader {
        try await gate.wait()
        return try await Body("ok").open()
    }

    /// Sends requests until one is refused, since one that comes before the task that closes is still sent.
    func refusal() async throws -> TransportError {
        try await withDeadline("Requests are still sent after closing.") { [origin, connection] in
            while true {
                do {
                    try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)
                } catch let error as TransportError {
                    return error
                }
            }
        }
    }
}
