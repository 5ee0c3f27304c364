import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension TransportCase {
    /// Requests one after the other share a connection.
    package static let reuse = TransportCase("reuse") { bench in
        for _ in 0..<5 {
            _ = try await bench.content(of: .init(body: "hello"))
            _ = try await bench.content(of: .chunked(chunks: ["a", "b"]))
            _ = try await bench.content(.post, of: .init(body: "hello"), body: "content")
            _ = try await bench.content(.post, of: .init(body: "hello"), body: .stream(200_000))
            _ = try await bench.content(.head, of: .init(body: "hello"))
            _ = try await bench.content(of: .init(.noContent))
            _ = try await bench.content(of: .init(.found, fields: ["Location": "/"], body: "moved"))
            try await bench.send(to: .generated(count: 1 << 20)).body.drain(upTo: 1 << 20)
        }
        try expect(bench.origin.connectionCount, is: 1, "connections")
    }

    /// A server that asks for the end of a connection gets it.
    package static let closeAsked = TransportCase("closeAsked") { bench in
        for round in 1...3 {
            _ = try await bench.content(of: .init(fields: ["Connection": "close"], body: "hello"))
            try expect(bench.origin.connectionCount, is: round, "connections")
        }
    }

    /// No more connections are made than the setting `connectionsPerHost` of the layer says; a wait for one can be cancelled.
    package static let connectionLimit = TransportCase("connectionLimit") { bench in
        let limit = try bench.connectionsPerHost
        let gate = Gate()
        bench.origin.route(.get, "/wait", LoopbackOrigin.Answer(body: "ok").after(.wait(gate)))
        let tasks = try (0..<limit * 3).map { _ in
            let request = try bench.request(.get, "/wait")
            return Task { try await bench.connection.send(request).text() }
        }
        try await gate.waitForWaiting(limit)
        let cancelled = bench.start(try bench.request(.get, "/wait"))
        for _ in 0..<1000 { await Task.yield() }
        cancelled.cancel()
        try await expectCancelled(cancelled)
        try expect(bench.origin.openConnectionCount, is: limit, "connections")
        gate.open()
        for task in tasks { try expect(try await task.value, is: "ok", "answer") }
    }

    /// A connection that the server closed while it was idle is replaced, for any method.
    package static let closedIdle = TransportCase("closedIdle") { bench in
        for round in 1...3 {
            try expect(try await bench.content(.post, of: .init(body: "ok"), body: "hello"), is: "ok", "answer")
            try expect(bench.origin.connectionCount, is: round, "connections")
            bench.origin.closeConnections()
            try await bench.expectClosed()
        }
    }

    /// Content that a server may have read is not sent again by the transport.
    package static let deadConnection = TransportCase.ofSubject("deadConnection") { subject in
        for body in [Body("hello"), Body(BytePattern.bytes(300_000))] {
            try await expectSentOnce(.post, body: body, by: subject)
        }
        try await expectSentOnce(.post, body: .stream(5), by: subject)
    }

    /// The transport also does not repeat a request without content, since such a request may have an effect too.
    package static let deadConnectionWithoutContent = TransportCase.ofSubject("deadConnectionWithoutContent") {
        subject in
        for method in [HTTPRequest.Method.post, .delete, .get] {
            try await expectSentOnce(method, body: .empty, by: subject)
        }
    }

    private static func expectSentOnce(
        _ method: HTTPRequest.Method, body: Body, by subject: TransportSubject
    ) async throws {
        let bench = try await subject.bench()
        _ = try await bench.content(of: .init(body: "ok"))
        // Reads the request on the pooled connection and closes it, as a server that is restarted does.
        bench.origin.enqueue(.closing)
        bench.origin.route(nil, "/once", .init(body: "second"))
        let request = try bench.request(method, "/once", body: body)
        try await expectFailure([.connectionLost], at: .head) {
            _ = try await withDeadline(of: .seconds(10)) { try await bench.connection.send(request) }
        }
        let count = bench.origin.requests.count { $0.path == "/once" && $0.isComplete }
        try expect(count <= 1, "one sending of \(method)")
        try await bench.expectUsable()
    }

    /// Many exchanges at the same time do not mix.
    package static let thousand = TransportCase("thousand") { bench in
        bench.origin.route(nil, "/*") { request in .init(fields: ["ETag": request.target], body: request.body) }
        try await withThrowingTaskGroup { group in
            for number in 0..<1000 {
                let request = try bench.request(.post, "/\(number)", body: Body("content \(number)"))
                group.addTask {
                    let response = try await bench.connection.send(request)
                    try expect(response.head.headerFields[.eTag], is: "/\(number)", "field")
                    let text = try await response.text()
                    try expect(text, is: "content \(number)")
                }
            }
            try await group.waitForAll()
        }
        try expect(bench.origin.requests.count, is: 1000, "requests")
    }

    /// Exchanges of all kinds, half of them cancelled or dropped at random, leave nothing behind and mix nothing up.
    ///
    /// Each byte of each answer that is read is checked. The duration is the `soak` of ``check(soaking:_:)``.
    package static let randomCancellation = TransportCase.ofSubject("randomCancellation") { subject in
        let descriptors = descriptorCount
        // Of its own, so that the transport is let go of.
        let origin = try await soak(subject)
        // Clients close their connections in the background, which takes long on a busy machine.
        try await withDeadline(of: .seconds(30)) { try await origin.waitForOpenConnections(0) }
        guard let descriptors else { return }
        try await withDeadline {
            while descriptorCount ?? 0 > descriptors + descriptorsOfOthers {
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    /// The descriptors that other tests in the process may open meanwhile, far fewer than there are exchanges in a second.
    private static let descriptorsOfOthers = 100

    /// The number of open descriptors of the process; nil if the system does not tell.
    private static var descriptorCount: Int? {
        try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    private static func soak(_ subject: TransportSubject) async throws -> LoopbackOrigin {
        let bench = try await subject.bench(try LoopbackOrigin(keepingBodiesUpTo: 0))
        let origin = bench.origin
        // The bytes of each answer tell its request: the pattern from the offset of the query on.
        origin.route(nil, "*") { request in
            let offset = Int64(request.query ?? "") ?? 0
            let content = BytePattern.bytes(Int(offset % 150_001), at: offset)
            let half = content.count / 2
            let longer = LoopbackOrigin.Step.head(.ok, ["Content-Length": "\(content.count + 1)"])
            switch request.path {
            case "/chunked": return .chunked(chunks: [content.prefix(half), content.dropFirst(half)])
            case "/cut": return .script(longer, .raw(content), .close)
            case "/reset": return .script(longer, .raw(content), .reset)
            case "/slow": return LoopbackOrigin.Answer(body: content).after(.pause(.milliseconds(3)))
            case "/nothing": return .closing
            default: return .init(body: request.isBodyPattern ? content : Data("changed".utf8))
            }
        }

        let end = ContinuousClock.now + subject.soak
        let generator = SeededGenerator(seed: 7)
        try await withThrowingTaskGroup { group in
            for _ in 0..<32 {
                group.addTask {
                    while ContinuousClock.now < end {
                        try await exchange(with: bench, by: generator)
                        if generator.next() % 100 == 0 { origin.forgetRequests() }
                    }
                }
            }
            try await group.waitForAll()
        }
        var reader = try await bench.send(.get, "/whole?150000").body.open()
        try expect(try await reader.countPattern(from: 150_000), is: 300_000, "last offset")
        return origin
    }

    /// One exchange, which may be cancelled after a moment, read in part, or not at all.
    private static func exchange(with bench: TransportBench, by generator: SeededGenerator) async throws {
        let kind = Int(generator.next() % 6)
        let path = ["/whole", "/chunked", "/slow", "/cut", "/reset", "/nothing"][kind]
        let offset = Int64(generator.next() % 1_000_000_000)
        let body = generator.next() % 4 == 0 ? Body(BytePattern.bytes(Int(generator.next() % 60_000))) : .empty
        let request = try bench.request(body.isEmpty ? .get : .post, "\(path)?\(offset)", body: body)
        let readsAll = generator.next() % 3 > 0
        let task = Task {
            let response = try await bench.connection.send(request)
            // A server in between answers itself if the origin does not.
            guard readsAll, path != "/nothing" else { return }
            var reader = try await response.body.open()
            let count = try await reader.countPattern(from: offset) - offset
            try expect(kind < 3 && count == offset % 150_001, "a whole answer to \(path), got \(count) bytes")
        }
        if generator.next() % 2 == 0 {
            try await Task.sleep(for: .microseconds(Int(generator.next() % 3000)))
            task.cancel()
        }
        do {
            try await withDeadline(of: .seconds(15)) { try await task.value }
        } catch is TransportError where kind >= 3 {
            return
        } catch is CancellationError {
            return
        }
    }

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
