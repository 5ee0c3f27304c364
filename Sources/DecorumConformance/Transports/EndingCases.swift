import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension TransportCase {
    /// Cancellation, at each point of an exchange.
    public static let cancellations: [TransportCase] = [
        .cancelledTask, .cancellationBeforeHead, .cancellationWithinBody, .cancellationWithinUpload,
        .cancellationOfProducer, .cancelledReader,
    ]

    /// A task that is cancelled already sends nothing.
    package static let cancelledTask = TransportCase("cancelledTask") { bench in
        let request = try bench.request(.post, body: "hello")
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            _ = try await bench.connection.send(request)
        }
        task.cancel()
        try await expectCancelled(task)
        try expect(bench.origin.connectionCount, is: 0, "connections")
    }

    /// Cancelling before the head has arrived ends the call and closes the connection, both at once.
    package static let cancellationBeforeHead = TransportCase("cancellationBeforeHead") { bench in
        bench.origin.enqueue(.hanging)
        let task = bench.start(try bench.request(.post, body: "hello"))
        try await bench.waitForRequests(1)
        try await bench.expectCancelling(task)
        try await bench.expectUsable()
    }

    /// Cancelling while the content is awaited ends the reading and closes the connection, both at once.
    package static let cancellationWithinBody = TransportCase("cancellationWithinBody") { bench in
        let gate = Gate()
        bench.origin.enqueue(.script(.openHead(["Content-Length": "9"]), .raw("hal"), .hang))
        let request = try bench.request()
        let task = Task {
            var reader = try await bench.connection.send(request).body.open()
            _ = try await reader.next()
            gate.open()
            _ = try await reader.next()
        }
        try await gate.wait()
        try await bench.expectCancelling(task)
        try await bench.expectUsable()
    }

    /// Cancelling while content is sent that the server does not take.
    package static let cancellationWithinUpload = TransportCase("cancellationWithinUpload") { bench in
        let gate = Gate()
        bench.origin.enqueue(.script(.wait(gate), .receiveBody, .hang), answering: .afterHead)
        let task = bench.start(try bench.request(.post, body: Body(BytePattern.bytes(32 << 20))))
        try await bench.waitForHeads(1)
        // A server that does not read cannot see that the client has gone.
        try await bench.expectCancelling(task) { gate.open() }
        try await bench.expectUsable()
    }

    /// Cancelling while content is made ends its making, and releases the body.
    package static let cancellationOfProducer = TransportCase("cancellationOfProducer") { bench in
        let (gate, content) = (Gate(), BodyProbe())
        var request = try bench.request(.put, body: content.body(chunks: 2, gate: gate))
        let task = bench.start(request)
        request.body = .empty
        try await gate.waitForWaiting(1)
        try await bench.expectCancelling(task)
        try await withDeadline {
            while gate.waitingCount > 0 || content.isHeld { try await Task.sleep(for: .milliseconds(2)) }
        }
    }

    /// A reader in a cancelled task throws even where bytes have arrived.
    package static let cancelledReader = TransportCase("cancelledReader") { bench in
        bench.origin.enqueue(.generated(count: 1 << 40))
        let gate = Gate()
        let request = try bench.request()
        let task = Task {
            var reader = try await bench.connection.send(request).body.open()
            _ = try await reader.next()
            gate.open()
            while !Task.isCancelled { await Task.yield() }
            for _ in 0..<2 { try await expectError(CancellationError.self) { _ = try await reader.next() } }
            throw CancellationError()
        }
        try await gate.wait()
        try await bench.expectCancelling(task)
    }

    /// The end of a transport, in good order or when it is dropped.
    public static let closing: [TransportCase] = [
        .close, .cancelledClose, .unusedClose, .cancelAll, .cancelAllOfClosed, .lettingGo, .outliving,
    ]

    /// A transport that is closed serves the transfers under way to their ends, and no other request.
    package static let close = TransportCase("close") { bench in
        let (gate, connection) = (Gate(), try bench.closable)
        let slow = try await bench.slowResponse(gate)
        let hasClosed = Gate()
        let closing = Task {
            await connection.close()
            hasClosed.open()
        }
        let error = try await bench.refusal()
        try expect([error.code == .closed, error.stage == .connecting], is: [true, true], "refusal")
        try expect(hasClosed.isOpen, is: false, "end of closing")

        gate.open()
        try expect(try await slow.text(), is: "ok")
        try await withDeadline { await closing.value }
        try await bench.expectClosed()
        try await withDeadline { await connection.close() }
        try expect(try await bench.refusal().code, is: .closed, "code")
    }

    /// A wait for the end can be given up, and a response that is dropped is not waited for.
    package static let cancelledClose = TransportCase("cancelledClose") { bench in
        let (gate, connection) = (Gate(), try bench.closable)
        var slow: Response? = try await bench.slowResponse(gate)
        let closing = Task { await connection.close() }
        closing.cancel()
        try await withDeadline { await closing.value }

        try expect(slow?.status, is: .ok, "status")
        slow = nil
        try await withDeadline { await connection.close() }
        try await bench.expectClosed()
        gate.open()
    }

    /// A transport that was never used, or has failed before it sent, closes at once.
    package static let unusedClose = TransportCase("unusedClose") { bench in
        let connection = try bench.closable
        try await expectError(CancellationError.self) {
            _ = try await bench.send(.post, body: Body(replay: .once) { _ in throw CancellationError() })
        }
        try await withDeadline { await connection.close() }
        try expect(bench.origin.connectionCount, is: 0, "connections")
    }

    /// Ending all transfers ends each of them, whatever it waits for, and no later request.
    package static let cancelAll = TransportCase("cancelAll") { bench in
        let (origin, connection) = (bench.origin, try bench.closable)
        origin.route(.get, "/ok", "ok")
        origin.route(.get, "/hang", .hanging)
        connection.cancelAll()
        let slow = try await bench.slowResponse(Gate())
        let reading = Task { try await slow.text() }
        let waiting = bench.start(try bench.request(.get, "/hang"))
        try await origin.waitForHeads(2)
        let source = Gate()
        let body = Body(replay: .once) { _ in
            try await source.wait()
            return try await Body("ok").open()
        }
        let producing = bench.start(try bench.request(.post, body: body))
        try await source.waitForWaiting(1)

        connection.cancelAll()
        for task in [waiting, producing] { try await expectCancelled(task) }
        try await expectCancelled(reading)
        try await bench.expectClosed()
        try expect(origin.requests.count { $0.path == "/hang" }, is: 1, "requests")

        // Some of these wait for a connection. One that has not begun to do so is not under way, so it ends the next time.
        let crowd = try (0..<70).map { _ in bench.start(try bench.request(.get, "/hang")) }
        let ended = Task { for task in crowd { try await expectCancelled(task) } }
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
        try expect(try await bench.send(.get, "/ok").text(), is: "ok")
    }

    /// Together with closing, ending all transfers is an immediate end.
    package static let cancelAllOfClosed = TransportCase("cancelAllOfClosed") { bench in
        let connection = try bench.closable
        let slow = try await bench.slowResponse(Gate())
        let closing = Task { await connection.close() }
        _ = try await bench.refusal()
        connection.cancelAll()
        try await withDeadline { await closing.value }
        try await expectCancelled(Task { try await slow.text() })
        try await bench.expectClosed()
        try expect(try await bench.refusal().code, is: .closed, "code")
    }

    /// Dropping a transport closes its idle connections.
    package static let lettingGo = TransportCase.ofSubject("lettingGo") { subject in
        let origin = try LoopbackOrigin()
        origin.route(nil, "*", "hello")
        for _ in 0..<20 {
            try expect(try await subject.make().send(.get(origin.url + "/")).text(), is: "hello")
        }
        try await withDeadline { try await origin.waitForOpenConnections(0) }
    }

    /// A transfer retains what it needs of its transport.
    package static let outliving = TransportCase.ofSubject("outliving") { subject in
        let origin = try LoopbackOrigin()
        let gate = Gate()
        origin.enqueue(LoopbackOrigin.Answer.generated(count: 4 << 20).after(.wait(gate)))
        let task = Task { try await subject.make().send(.get(origin.url + "/")) }
        try await gate.waitForWaiting(1)
        gate.open()
        let response = try await withDeadline { try await task.value }
        try expect(try await response.body.countPattern(), is: 4 << 20, "bytes")
        try await withDeadline { try await origin.waitForOpenConnections(0) }
    }
}

extension TransportBench {
    /// Cancels a task, and expects its end and the end of its connection.
    fileprivate func expectCancelling(
        _ task: Task<Void, any Error>, file: String = #fileID, line: Int = #line, then proceed: () -> Void = {}
    ) async throws {
        task.cancel()
        try await expectCancelled(task, file: file, line: line)
        proceed()
        try await expectClosed(file: file, line: line)
    }

    /// The transport, as one that can be closed.
    fileprivate var closable: any ClosableConnection {
        get throws {
            guard let connection = connection as? any ClosableConnection else {
                throw ConformanceSkip(reason: "The transport is no ClosableConnection.")
            }
            return connection
        }
    }

    /// The head of a response whose content ends when a gate is open.
    fileprivate func slowResponse(_ gate: Gate) async throws -> Response {
        origin.route(
            .get, "/slow", .script(.openHead(["Content-Length": "2"]), .raw("o"), .wait(gate), .raw("k")))
        return try await send(.get, "/slow")
    }

    /// Sends requests until one is refused, since one that comes before the task that closes is still sent.
    fileprivate func refusal() async throws -> TransportError {
        origin.route(.get, "/", "ok")
        return try await withDeadline {
            while true {
                do {
                    try await send().body.drain(upTo: 100)
                } catch let error as TransportError {
                    return error
                }
            }
        }
    }
}
