import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension TransportCase {
    /// A short idle timeout ends a request on time, measured by the machine's clock.
    package static let idleInRealTime = TransportCase("idleInRealTime") { bench in
        bench.origin.route(.get, "/silent", .hanging)
        bench.origin.route(.get, "/last", .script(.head(.ok, ["Content-Length": "4"]), .raw("last"), .close))
        // On a busy machine, the time may be over before anything was sent, so the stage is open.
        try await expectFailure([.timedOut]) {
            _ = try await withDeadline { try await bench.send(.get, "/silent", timeout: .milliseconds(100)) }
        }
        // A connection over which nothing was sent may remain for the next request, whose answer ends it.
        try expect(try await withDeadline { try await bench.send(.get, "/last").text() }, is: "last")
        try await bench.expectClosed()
    }

    /// A server that does not answer is given up, after the time of the request or the default of 60 seconds.
    package static let idleBeforeHead = TransportCase.ofSubject("idleBeforeHead") { subject in
        for timeout in [nil, Duration.seconds(90), .seconds(3)] {
            try await expectNoHead(subject, .timedOut, after: timeout ?? .seconds(60)) { options, _ in
                options.idleTimeout = timeout
            }
        }
    }

    /// Expects that a request without a head of a response is given up; after a time, at that instant and not before.
    private static func expectNoHead(
        _ subject: TransportSubject, _ code: TransportError.Code, after time: Duration? = nil,
        of answer: LoopbackOrigin.Answer = .hanging, by limit: (inout RequestOptions, VirtualClock) -> Void
    ) async throws {
        let clock = VirtualClock()
        let bench = try await subject.bench(clock: clock)
        var request = try bench.request()
        limit(&request.options, clock)
        bench.origin.enqueue(answer)
        let task = bench.start(request)
        try await bench.waitForRequests(1)
        if let time {
            try await withDeadline { try await clock.waitForSleepers() }
            clock.advance(by: time - .nanoseconds(1))
            try expect(bench.origin.openConnectionCount, is: 1, "open connections")
            clock.advance(by: .nanoseconds(1))
        }
        try await bench.expectGivenUp(task, code, at: .head, by: clock)
    }

    /// A body that stands still is given up too.
    package static let idleWithinBody = TransportCase.timed("idleWithinBody") { bench, clock in
        bench.origin.enqueue(.script(.openHead(["Content-Length": "9"]), .raw("hal"), .hang))
        try await expectGivenUp(try await bench.send(timeout: .seconds(5)), of: bench, by: clock)
    }

    /// Content that the server does not take is given up too.
    package static let idleUpload = uploadEnding("idleUpload", .timedOut) { options, _ in
        options.idleTimeout = .seconds(5)
    }

    /// Creates a case in which content that the server does not read is given up.
    private static func uploadEnding(
        _ name: String, _ code: TransportError.Code,
        by limit: @escaping @Sendable (inout RequestOptions, VirtualClock) -> Void
    ) -> TransportCase {
        .timed(name) { bench, clock in
            var request = try bench.request(.post, body: Body(BytePattern.bytes(32 << 20)))
            limit(&request.options, clock)
            let gate = Gate()
            bench.origin.enqueue(.script(.wait(gate), .receiveBody, .hang), answering: .afterHead)
            let task = bench.start(request)
            try await bench.waitForHeads(1)
            try await clock.advance(until: task)
            // A server that does not read cannot see that the client has gone.
            gate.open()
            try await bench.expectGivenUp(task, code, at: .head, by: clock)
        }
    }

    /// Once the head is there, content that is still to be made does not keep the exchange alive.
    package static let idleBesideProducer = TransportCase.timed("idleBesideProducer") { bench, clock in
        bench.origin.enqueue(.script(.openHead(["Content-Length": "9"]), .raw("hal"), .hang), answering: .afterHead)
        let more = Gate()
        let body = Body.gated("first", "second", by: more)
        let response = try await withDeadline { try await bench.send(.post, body: body, timeout: .seconds(5)) }
        try await expectGivenUp(response, of: bench, by: clock)
    }

    /// Expects that a response whose body stands still after its first bytes times out.
    private static func expectGivenUp(
        _ response: Response, of bench: TransportBench, by clock: VirtualClock
    ) async throws {
        let hasRead = Gate()
        let task = Task {
            var reader = try await response.body.open()
            _ = try await reader.next()
            hasRead.open()
            _ = try await reader.next()
        }
        try await hasRead.wait()
        try await bench.expectGivenUp(task, .timedOut, at: .body, by: clock)
    }

    /// Every byte starts the time anew.
    package static let slowServer = TransportCase.timed("slowServer") { bench, clock in
        let gate = Gate()
        bench.origin.enqueue(
            .script(
                .openHead(["Content-Length": "4"]), .wait(gate), .raw("a"), .wait(gate), .raw("b"), .wait(gate),
                .raw("c"), .wait(gate), .raw("d")))
        var reader = try await bench.send(timeout: .seconds(10)).body.open()
        for letter in ["a", "b", "c", "d"] {
            try await gate.waitForWaiting(1)
            clock.advance(by: .seconds(9))
            gate.admit()
            try expect(try await reader.next(), is: Data(letter.utf8), "next byte")
        }
        try expect(try await reader.next(), is: nil, "end")
    }

    /// The time of a slow reader does not count, whether all of the content has arrived or the server is held back.
    package static let slowReader = TransportCase.ofSubject("slowReader") { subject in
        for count in [1 << 20, 16 << 20] {
            let clock = VirtualClock()
            let bench = try await subject.bench(clock: clock)
            let gate = Gate()
            let response = try await bench.send(
                to: .script(.head(.ok, ["Content-Length": "\(count)"]), .generated(Int64(count)), .wait(gate)))
            var reader = try await response.body.open()
            let first = try await reader.next()?.count ?? 0

            // Real time, since no event tells that all is waiting for the reader: the server, or everything it sent.
            let end = ContinuousClock.now + .milliseconds(700)
            while gate.waitingCount == 0, ContinuousClock.now < end {
                try await Task.sleep(for: .milliseconds(5))
            }
            try await Task.sleep(for: .milliseconds(100))
            // In steps, since what is still under way starts the time anew.
            for _ in 0..<120 {
                clock.advance(by: .seconds(30))
                try await Task.sleep(for: .milliseconds(2))
            }
            gate.open()
            try expect(try await reader.countPattern(from: Int64(first)), is: Int64(count), "bytes")
        }
    }

    /// The time that the content of a request takes to be made does not count.
    package static let slowProducer = TransportCase.timed("slowProducer") { bench, clock in
        let turn = Gate()
        bench.origin.route(.put, "/", "ok")
        let request = try bench.request(.put, body: .gated("a", "b", by: turn))
        let task = Task { try await bench.connection.send(request).text() }
        try await turn.waitForWaiting(1)
        for _ in 0..<30 {
            clock.advance(by: .seconds(59))
            // The watch of the transport gets its turn.
            try await Task.sleep(for: .milliseconds(5))
        }
        turn.open()
        try expect(try await withDeadline { try await task.value }, is: "ok")
    }

    /// With an idle timeout of zero, a request fails before anything is sent; a negative timeout is refused.
    package static let noTime = TransportCase("noTime") { bench in
        try await expectFailure([.timedOut], at: .connecting) { _ = try await bench.send(timeout: .zero) }
        try await expectError(InvalidRequestError.self) { _ = try await bench.send(timeout: .seconds(-1)) }
        try expect(bench.origin.connectionCount, is: 0, "connections")
    }

    /// A time beyond all bounds does not overflow.
    package static let longTime = TransportCase.ofSubject("longTime") { subject in
        for clock in [VirtualClock(), SystemClock()] as [any DatedClock] {
            let bench = try await subject.bench(clock: clock)
            bench.origin.enqueue("hello")
            try expect(try await bench.send(timeout: .seconds(Int64.max / 4)).text(), is: "hello")
        }
    }

    /// A server that does not answer is given up at the deadline, at that instant and not before.
    package static let deadlineBeforeHead = TransportCase.ofSubject("deadlineBeforeHead") { subject in
        try await expectNoHead(subject, .deadlineExceeded, after: .seconds(10)) { options, clock in
            options.deadline = clock.now + .seconds(10)
        }
    }

    /// A server that drips a head, or informational responses, for ever is given up at the deadline.
    package static let deadlineOfDrippedHead = TransportCase.ofSubject("deadlineOfDrippedHead") { subject in
        for drip in ["HTTP/1.1 200 OK\r\nA: " + .endless("a"), .endless("HTTP/1.1 103 Early Hints\r\n\r\n")] {
            let answer = LoopbackOrigin.Answer.script(.trickle(drip, every: .milliseconds(5)))
            try await expectNoHead(subject, .deadlineExceeded, of: answer) { $0.deadline = $1.now + .seconds(30) }
        }
    }

    /// Of the idle timeout and the deadline, the earlier one counts, and the error names it.
    package static let deadlineOrIdle = TransportCase.ofSubject("deadlineOrIdle") { subject in
        for (idle, deadline, code) in [(10, 5, TransportError.Code.deadlineExceeded), (5, 10, .timedOut)] {
            try await expectNoHead(subject, code) { options, clock in
                options.idleTimeout = .seconds(idle)
                options.deadline = clock.now + .seconds(deadline)
            }
        }
    }

    /// A request that waits for a connection ends at its deadline, and the others go on.
    package static let deadlineInQueue = TransportCase.timed("deadlineInQueue") { bench, clock in
        let limit = try bench.connectionsPerHost
        let gate = Gate()
        bench.origin.route(.get, "/held", .script(.wait(gate), .head(.ok, ["Content-Length": "4"]), .raw("held")))
        // The clock moves on until the end of the other request is seen.
        let request = try bench.request(.get, "/held", timeout: .seconds(1_000_000))
        let held = (0..<limit).map { _ in Task { try await bench.connection.send(request).text() } }
        try await bench.waitForRequests(limit)
        let task = bench.start(try bench.request(deadline: clock.now + .seconds(10)))
        try await clock.advance(until: task)
        try await expectFailure([.deadlineExceeded]) { try await task.value }
        try expect(bench.origin.requests.count, is: limit, "requests")
        gate.open()
        for task in held { try expect(try await task.value, is: "held") }
    }

    /// A request whose deadline has passed fails before anything is sent; a deadline far in the future has no effect.
    package static let deadlineBeforeSending = TransportCase.ofSubject("deadlineBeforeSending") { subject in
        for clock in [VirtualClock(), SystemClock()] as [any DatedClock] {
            let bench = try await subject.bench(clock: clock)
            bench.origin.route(nil, "*", "hello")
            let now = clock.now
            for passed in [now, now - .seconds(1), now - .seconds(Int64.max / 4)] {
                for request in [try bench.request(deadline: passed), try bench.request(bodyDeadline: passed)] {
                    try await expectFailure([.deadlineExceeded], at: .connecting) {
                        _ = try await bench.connection.send(request)
                    }
                }
            }
            try expect(bench.origin.connectionCount, is: 0, "connections")
            let far = clock.now + .seconds(Int64.max / 4)
            try expect(try await bench.send(deadline: far, bodyDeadline: far).text(), is: "hello")
        }
    }

    /// A short deadline ends a request to a server that drips on time, measured by the machine's clock.
    package static let deadlineInRealTime = TransportCase("deadlineInRealTime") { bench in
        let drip = String.endless("HTTP/1.1 103 \r\n\r\n")
        bench.origin.route(.get, "/drip", .script(.trickle(drip, every: .milliseconds(5))))
        try await expectFailure([.deadlineExceeded]) {
            try await withDeadline { _ = try await bench.send(.get, "/drip", deadline: .now + .milliseconds(100)) }
        }
        try await bench.expectClosed()
        try await bench.expectUsable()
    }

    /// Requests with different deadlines end in the order of their deadlines, and no other request ends with them.
    package static let deadlinesAtOnce = TransportCase.timed("deadlinesAtOnce") { bench, clock in
        let gate = Gate()
        bench.origin.route(.get, "/hanging", .hanging)
        bench.origin.route(.get, "/slow", .script(.wait(gate), .head(.ok, ["Content-Length": "4"]), .raw("slow")))
        let slow = Task { try await bench.send(.get, "/slow").text() }
        try await bench.waitForRequests(1)
        let ended = Monitor<[Int]>([])
        let start = clock.now
        let tasks = (1...12).reversed().map { number in
            Task {
                defer { ended.update { $0.append(number) } }
                _ = try await bench.send(.get, "/hanging", deadline: start + .seconds(2 * number))
            }
        }
        for number in 1...12 {
            try await clock.waitForSleepers()
            try expect(ended.state.count, is: number - 1, "requests")
            // In two steps, since a request may have to begin first.
            clock.advance(by: .seconds(1))
            try await Task.sleep(for: .milliseconds(10))
            clock.advance(by: .seconds(1))
            try await withDeadline { try await ended.wait { $0.count >= number } }
        }
        try expect(ended.state, is: Array(1...12), "order")
        for task in tasks { try await expectFailure([.deadlineExceeded]) { try await task.value } }
        gate.open()
        try expect(try await slow.value, is: "slow")
    }

    /// A body that is dripped for ever is given up at its own deadline.
    package static let deadlineOfBody = TransportCase.timed("deadlineOfBody") { bench, clock in
        bench.origin.enqueue(
            .script(.openHead(["Content-Length": "1000000"]), .trickle(String.endless("b"), every: .milliseconds(5))))
        let response = try await bench.send(
            deadline: clock.now + .seconds(20), bodyDeadline: clock.now + .seconds(40))
        let task = Task { _ = try await response.body.collectAll() }
        try await bench.expectGivenUp(task, .deadlineExceeded, at: .body, by: clock)
    }

    /// The deadline of a body counts although the body is not read.
    package static let deadlineBesideReader = TransportCase.timed("deadlineBesideReader") { bench, clock in
        bench.origin.enqueue(.script(.openHead(["Content-Length": "9"]), .raw("hal"), .hang))
        let response = try await bench.send(bodyDeadline: clock.now + .seconds(40))
        let task = Task { try await bench.expectClosed() }
        try await clock.advance(until: task)
        try await task.value
        try await expectFailure([.deadlineExceeded], at: .body) { _ = try await response.text() }
    }

    /// The deadline of a request ends with the head of its response.
    package static let deadlineSparesBody = TransportCase.timed("deadlineSparesBody") { bench, clock in
        let gate = Gate()
        bench.origin.enqueue(.script(.openHead(["Content-Length": "4"]), .raw("l"), .wait(gate), .raw("ate")))
        let response = try await bench.send(deadline: clock.now + .seconds(10))
        try await gate.waitForWaiting(1)
        for _ in 0..<4 {
            clock.advance(by: .seconds(10))
            // The watch of the transport gets its turn.
            try await Task.sleep(for: .milliseconds(10))
        }
        gate.open()
        try expect(try await withDeadline { try await response.text() }, is: "late")
    }

    /// Content that a server does not take is given up at the deadline.
    package static let deadlineOfUpload = uploadEnding("deadlineOfUpload", .deadlineExceeded) { options, clock in
        options.deadline = clock.now + .seconds(20)
    }

    /// Content that is never made does not put the deadline off, although it does not count as idle time.
    package static let deadlineOfProducer = TransportCase.ofSubject("deadlineOfProducer") { subject in
        let never = Gate()
        let bodies = [
            .gated("first", "second", by: never),
            Body(replay: .once) { _ in
                try await never.wait()
                return try await Body("never").open()
            },
        ]
        for body in bodies {
            let clock = VirtualClock()
            let bench = try await subject.bench(clock: clock)
            bench.origin.route(nil, "*", "ok")
            let task = bench.start(try bench.request(.post, body: body, deadline: clock.now + .seconds(100)))
            try await never.waitForWaiting(1)
            try await bench.expectGivenUp(task, .deadlineExceeded, by: clock)
            try await withDeadline {
                while never.waitingCount > 0 { try await Task.sleep(for: .milliseconds(2)) }
            }
        }
    }
}

extension TransportBench {
    /// Moves a clock until a task ends, and expects its failure and the end of its connection.
    fileprivate func expectGivenUp(
        _ task: Task<Void, any Error>, _ code: TransportError.Code, at stage: TransportError.Stage? = nil,
        by clock: VirtualClock, file: String = #fileID, line: Int = #line
    ) async throws {
        try await clock.advance(until: task, file: file, line: line)
        try await expectFailure([code], at: stage, file: file, line: line) { try await task.value }
        try await expectClosed(file: file, line: line)
    }
}

extension String {
    /// The text again and again: so many bytes that a script which trickles them does not end.
    fileprivate static func endless(_ text: String) -> String {
        String(repeating: text, count: 200_000 / text.utf8.count)
    }
}
