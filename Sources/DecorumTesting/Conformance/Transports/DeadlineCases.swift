import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// The deadlines of requests and of bodies.
    public static let deadlines: [TransportCase] = [
        .deadlineBeforeHead, .deadlineOfDrippedHead, .deadlineOfBody, .deadlineBesideReader, .deadlineSparesBody,
        .deadlineOrIdle, .deadlineOfUpload, .deadlineOfProducer, .deadlineInQueue, .deadlineBeforeSending,
        .deadlineInRealTime, .deadlinesAtOnce,
    ]

    /// A server that does not answer is given up at the deadline, at that instant and not before.
    public static let deadlineBeforeHead = TransportCase(
        "deadlineBeforeHead", "A request whose head has not arrived ends at its deadline, and not before."
    ) { subject in
        let clock = VirtualClock()
        let bench = try await subject.bench(clock: clock)
        bench.origin.enqueue(.hanging)
        let request = try bench.request(deadline: clock.now + .seconds(10))
        let task = Task { _ = try await bench.connection.send(request) }
        try await bench.waitForRequests(1)
        try await withDeadline("No task waits on the clock for the deadline of a request.") {
            try await clock.waitForSleepers()
        }
        clock.advance(by: .seconds(10) - .nanoseconds(1))
        try requireEqual(bench.origin.openConnectionCount, 1, "The open connections before the deadline")
        clock.advance(by: .nanoseconds(1))
        try await clock.advance(until: task)
        try await requireTransportError(of: [.deadlineExceeded], at: .head, "A silent server") { try await task.value }
        try await bench.requireClosed(after: "a deadline")
    }

    /// Bytes without end do not put a deadline off.
    public static let deadlineOfDrippedHead = TransportCase(
        "deadlineOfDrippedHead",
        "A server that drips a head, or informational responses, for ever is given up at the deadline."
    ) { subject in
        for drip in ["HTTP/1.1 200 OK\r\nA: " + .endless("a"), .endless("HTTP/1.1 103 Early Hints\r\n\r\n")] {
            let clock = VirtualClock()
            let bench = try await subject.bench(clock: clock)
            bench.origin.enqueue(.script(.trickle(drip, every: .milliseconds(5))))
            let request = try bench.request(deadline: clock.now + .seconds(30))
            let task = Task { _ = try await bench.connection.send(request) }
            try await bench.waitForRequests(1)
            try await clock.advance(until: task)
            try await requireTransportError(of: [.deadlineExceeded], at: .head, "A head without an end") {
                try await task.value
            }
            try await bench.requireClosed(after: "a deadline")
        }
    }

    /// Of the idle timeout and the deadline, the earlier one counts, and the error names it.
    public static let deadlineOrIdle = TransportCase(
        "deadlineOrIdle", "The error tells whether the deadline or the idle timeout has passed first."
    ) { subject in
        let rows: [(idle: Duration, deadline: Duration, code: TransportError.Code)] = [
            (.seconds(10), .seconds(5), .deadlineExceeded), (.seconds(5), .seconds(10), .timedOut),
        ]
        for row in rows {
            let clock = VirtualClock()
            let bench = try await subject.bench(clock: clock)
            bench.origin.enqueue(.hanging)
            var request = try bench.request(deadline: clock.now + row.deadline)
            request.options.idleTimeout = row.idle
            let task = Task { [request] in _ = try await bench.connection.send(request) }
            try await bench.waitForRequests(1)
            try await clock.advance(until: task)
            try await requireTransportError(of: [row.code], at: .head, "A silent server") { try await task.value }
        }
    }

    /// The wait for a connection counts.
    public static let deadlineInQueue = TransportCase(
        "deadlineInQueue", "A request that waits for a connection ends at its deadline, and the others go on."
    ) { subject in
        let clock = VirtualClock()
        let bench = try await subject.bench(clock: clock)
        let limit = try bench.connectionsPerHost
        let gate = Gate()
        bench.origin.route(.get, "/held", .script(.wait(gate), .head(.ok, ["Content-Length": "4"]), .raw("held")))
        let held = try (0..<limit).map { _ in
            var request = try bench.request(.get, "/held")
            // The clock moves on until the end of the other request is seen.
            request.options.idleTimeout = .seconds(1_000_000)
            return Task { [request] in try await bench.connection.send(request).body.text(upTo: 10) }
        }
        try await bench.waitForRequests(limit)
        let request = try bench.request(deadline: clock.now + .seconds(10))
        let task = Task { _ = try await bench.connection.send(request) }
        try await clock.advance(until: task)
        try await requireTransportError(of: [.deadlineExceeded], "A request that waits for a connection") {
            try await task.value
        }
        try requireEqual(bench.origin.requests.count, limit, "The number of requests that were sent")
        gate.open()
        for task in held { try requireEqual(try await task.value, "held", "The content of another request") }
    }

    /// A request whose deadline has passed fails before anything is sent; a deadline far in the future has no effect.
    public static let deadlineBeforeSending = TransportCase(
        "deadlineBeforeSending", "A request whose deadline has passed is not sent; one of any other deadline is."
    ) { subject in
        for clock in [VirtualClock(), SystemClock()] as [any DatedClock] {
            let bench = try await subject.bench(clock: clock)
            bench.origin.route(nil, "*", .init(body: "hello"))
            let now = clock.now
            for passed in [now, now - .seconds(1), now - .seconds(Int64.max / 4)] {
                for request in [try bench.request(deadline: passed), try bench.request(bodyDeadline: passed)] {
                    try await requireTransportError(of: [.deadlineExceeded], at: .connecting, "A passed deadline") {
                        _ = try await bench.connection.send(request)
                    }
                }
            }
            try requireEqual(bench.origin.connectionCount, 0, "The number of connections")
            let far = clock.now + .seconds(Int64.max / 4)
            let response = try await bench.connection.send(bench.request(deadline: far, bodyDeadline: far))
            try requireEqual(try await response.body.collectAll().data.count, 5, "The number of bytes")
        }
    }

    /// A short deadline ends a request on time, measured by the machine's clock.
    public static let deadlineInRealTime = TransportCase(
        "deadlineInRealTime", "A server that drips is given up when a deadline of a tenth of a second has passed."
    ) { subject in
        let bench = try await subject.bench()
        bench.origin.route(.get, "/drip", .script(.trickle(.endless("HTTP/1.1 103 \r\n\r\n"), every: .milliseconds(5))))
        try await requireTransportError(of: [.deadlineExceeded], "A server that drips") {
            try await withDeadline("A deadline in 0.1 seconds took five.") {
                _ = try await bench.connection.send(
                    bench.request(.get, "/drip", deadline: .now + .milliseconds(100)))
            }
        }
        try await bench.requireClosed(after: "a deadline")
        try await bench.requireUsable(after: "a deadline")
    }

    /// Requests with different deadlines end in the order of their deadlines, and no other request ends with them.
    public static let deadlinesAtOnce = TransportCase(
        "deadlinesAtOnce", "Of requests at the same time, each ends at its own deadline."
    ) { subject in
        let clock = VirtualClock()
        let bench = try await subject.bench(clock: clock)
        let gate = Gate()
        bench.origin.route(.get, "/hanging", .hanging)
        bench.origin.route(.get, "/slow", .script(.wait(gate), .head(.ok, ["Content-Length": "4"]), .raw("slow")))
        let slowRequest = try bench.request(.get, "/slow")
        let slow = Task { try await bench.connection.send(slowRequest).body.text(upTo: 10) }
        try await bench.waitForRequests(1)
        let ended = Monitor<[Int]>([])
        let start = clock.now
        let tasks = try (1...12).reversed().map { number in
            let request = try bench.request(.get, "/hanging", deadline: start + .seconds(2 * number))
            return Task {
                defer { ended.update { $0.append(number) } }
                _ = try await bench.connection.send(request)
            }
        }
        for number in 1...12 {
            try await clock.waitForSleepers()
            try requireEqual(ended.state.count, number - 1, "The number of requests that have ended")
            // In two steps, since a request may have to begin first.
            clock.advance(by: .seconds(1))
            try await Task.sleep(for: .milliseconds(10))
            clock.advance(by: .seconds(1))
            try await withDeadline("The request with deadline \(number) did not end.") {
                try await ended.wait { $0.count >= number }
            }
        }
        try requireEqual(ended.state, Array(1...12), "The order in which the requests ended")
        for task in tasks {
            try await requireTransportError(of: [.deadlineExceeded], "A silent server") { try await task.value }
        }
        gate.open()
        try requireEqual(try await slow.value, "slow", "The content of a request without a deadline")
    }
}

extension TransportBench {
    func request(
        _ method: HTTPRequest.Method = .get, _ path: String = "/", body: Body = .empty,
        deadline: ContinuousClock.Instant? = nil, bodyDeadline: ContinuousClock.Instant? = nil
    ) throws -> Request {
        var request = try request(method, path, fields: [:], body: body)
        request.options.deadline = deadline
        request.options.bodyDeadline = bodyDeadline
        return request
    }
}

extension String {
    /// The text again and again: so many bytes that a script which trickles them does not end.
    static func endless(_ text: String) -> String {
        String(repeating: text, count: 200_000 / text.utf8.count)
    }
}
