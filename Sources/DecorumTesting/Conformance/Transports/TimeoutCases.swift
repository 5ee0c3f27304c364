import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// The idle timeout.
    public static let timeouts: [TransportCase] = [
        .idleInRealTime, .idleBeforeHead, .idleWithinBody, .idleUpload, .idleBesideProducer, .slowServer, .slowReader,
        .noTime, .longTime,
    ]

    /// A short idle timeout ends a request on time, measured by the machine's clock.
    public static let idleInRealTime = TransportCase(
        "idleInRealTime",
        "A server that does not answer for a tenth of a second is given up when that is the timeout."
    ) { subject in
        let bench = try await subject.bench()
        bench.origin.route(.get, "/silent", .hanging)
        bench.origin.route(.get, "/last", .script(.head(.ok, ["Content-Length": "4"]), .raw("last"), .close))
        // On a busy machine, the time may be over before anything was sent, so the stage is open.
        try await requireTransportError(of: [.timedOut], "A silent server") {
            _ = try await withDeadline("A timeout of 0.1 seconds took five.") {
                try await bench.connection.send(bench.request(path: "/silent", timeout: .milliseconds(100)))
            }
        }
        // A connection over which nothing was sent may remain for the next request, whose answer ends it.
        let last = try await withDeadline("The request after a timeout was not answered.") {
            try await bench.connection.send(bench.request(path: "/last", timeout: nil)).body.text(upTo: 10)
        }
        try requireEqual(last, "last", "The answer after a timeout")
        try await bench.requireClosed(after: "a timeout")
    }

    /// A server that does not answer is given up, after the time of the request or the default of 60 seconds.
    public static let idleBeforeHead = TransportCase(
        "idleBeforeHead", "A server that does not answer is given up after the idle timeout."
    ) { subject in
        for timeout in [nil, Duration.seconds(90), .seconds(3)] {
            let clock = VirtualClock()
            let bench = try await subject.bench(clock: clock)
            bench.origin.enqueue(.hanging)
            let request = try bench.request(timeout: timeout)
            let task = Task { _ = try await bench.connection.send(request) }
            try await bench.waitForRequests(1)
            try await withDeadline("No task waits on the clock for a server that does not answer.") {
                try await clock.waitForSleepers()
            }
            clock.advance(by: (timeout ?? .seconds(60)) - .nanoseconds(1))
            try requireEqual(bench.origin.openConnectionCount, 1, "The open connections before the end")
            clock.advance(by: .nanoseconds(1))
            try await clock.advance(until: task)
            try await requireTransportError(of: [.timedOut], at: .head, "A silent server") { try await task.value }
            try await bench.requireClosed(after: "a timeout")
        }
    }

    /// A body that stands still is given up too.
    public static let idleWithinBody = TransportCase(
        "idleWithinBody", "A body that stands still is given up after the idle timeout."
    ) { subject in
        let clock = VirtualClock()
        let bench = try await subject.bench(clock: clock)
        bench.origin.enqueue(.script(.openHead(["Content-Length": "9"]), .raw("hal"), .hang))
        let response = try await bench.connection.send(bench.request(timeout: .seconds(5)))
        try await requireGivenUp(response, of: bench, by: clock)
    }

    /// Content that the server does not take is given up too.
    public static let idleUpload = TransportCase(
        "idleUpload", "Content that a server does not take is given up after the idle timeout."
    ) { subject in
        let clock = VirtualClock()
        let bench = try await subject.bench(clock: clock)
        let gate = Gate()
        bench.origin.enqueue(.script(.wait(gate), .receiveBody, .hang), answering: .afterHead)
        let request = try bench.request(.post, body: Body(BytePattern.bytes(32 << 20)), timeout: .seconds(5))
        let task = Task { _ = try await bench.connection.send(request) }
        try await bench.waitForHeads(1)
        try await clock.advance(until: task)
        try await requireTransportError(of: [.timedOut], at: .head, "Content that the server does not read") {
            try await task.value
        }
        // A server that does not read cannot see that the client has gone.
        gate.open()
        try await bench.requireClosed(after: "a timeout")
    }

    /// Once the head is there, content that is still to be made does not keep the exchange alive.
    public static let idleBesideProducer = TransportCase(
        "idleBesideProducer",
        "A body that stands still is given up though the request's content is not complete: its maker may wait for it."
    ) { subject in
        let clock = VirtualClock()
        let bench = try await subject.bench(clock: clock)
        bench.origin.enqueue(
            .script(.openHead(["Content-Length": "9"]), .raw("hal"), .hang), answering: .afterHead)
        let more = Gate()
        let body = Body(replay: .once) { _ in GatedReader(chunks: ["first", "second"]) { try await more.wait() } }
        let request = try bench.request(.post, body: body, timeout: .seconds(5))
        let response = try await withDeadline("The head was not returned while content is made.") {
            try await bench.connection.send(request)
        }
        try await requireGivenUp(response, of: bench, by: clock)
    }

    /// Requires that a response of which the body stands still after its first bytes times out.
    private static func requireGivenUp(
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
        try await clock.advance(until: task)
        try await requireTransportError(of: [.timedOut], at: .body, "A body that stands still") {
            try await task.value
        }
        try await bench.requireClosed(after: "a timeout")
    }

    /// Every byte starts the time anew.
    public static let slowServer = TransportCase(
        "slowServer", "A server that sends a byte from time to time is not given up, however long it takes."
    ) { subject in
        let clock = VirtualClock()
        let bench = try await subject.bench(clock: clock)
        let gate = Gate()
        bench.origin.enqueue(
            .script(
                .openHead(["Content-Length": "4"]), .wait(gate), .raw("a"), .wait(gate), .raw("b"), .wait(gate),
                .raw("c"), .wait(gate), .raw("d")))
        var reader = try await bench.connection.send(bench.request(timeout: .seconds(10))).body.open()
        for letter in ["a", "b", "c", "d"] {
            try await gate.waitForWaiting(1)
            clock.advance(by: .seconds(9))
            gate.admit()
            try requireEqual(try await reader.next(), Data(letter.utf8), "The next byte")
        }
        try requireEqual(try await reader.next(), nil, "The end")
    }

    /// The time of a slow reader does not count, whether all of the content has arrived or the server is held back.
    public static let slowReader = TransportCase(
        "slowReader", "A reader who takes an hour for a chunk does not time out."
    ) { subject in
        for count in [1 << 20, 16 << 20] {
            let clock = VirtualClock()
            let bench = try await subject.bench(clock: clock)
            let gate = Gate()
            let response = try await bench.send(
                to: .script(.head(.ok, ["Content-Length": "\(count)"]), .generated(Int64(count)), .wait(gate)))
            var reader = try await response.body.open()
            var offset = try await reader.next()?.count ?? 0

            // Real time, since no event tells that all is waiting for the reader: the server, or everything it sent.
            let end = ContinuousClock.now + .milliseconds(1500)
            while gate.waitingCount == 0, ContinuousClock.now < end {
                try await Task.sleep(for: .milliseconds(5))
            }
            try await Task.sleep(for: .milliseconds(100))
            // In steps, since what is still under way starts the time anew.
            for _ in 0..<720 {
                clock.advance(by: .seconds(5))
                try await Task.sleep(for: .milliseconds(2))
            }
            gate.open()

            while let chunk = try await reader.next() {
                try require(BytePattern.matches(chunk, at: Int64(offset)), "The bytes behind \(offset) are wrong.")
                offset += chunk.count
            }
            try requireEqual(offset, count, "The number of bytes")
        }
    }

    /// With an idle timeout of zero, a request fails before anything is sent; a negative timeout is refused.
    public static let noTime = TransportCase(
        "noTime", "An idle timeout of zero fails before anything is sent, and a negative one is refused."
    ) { subject in
        let bench = try await subject.bench()
        try await requireTransportError(of: [.timedOut], at: .connecting, "A timeout of zero") {
            _ = try await bench.connection.send(bench.request(timeout: .zero))
        }
        do {
            _ = try await bench.connection.send(bench.request(timeout: .seconds(-1)))
            throw ConformanceFailure("A negative timeout was accepted.")
        } catch is InvalidRequestError {
            try requireEqual(bench.origin.connectionCount, 0, "The number of connections")
        }
    }

    /// A time beyond all bounds does not overflow.
    public static let longTime = TransportCase(
        "longTime", "An idle timeout of any length is accepted."
    ) { subject in
        for clock in [VirtualClock(), SystemClock()] as [any DatedClock] {
            let bench = try await subject.bench(clock: clock)
            bench.origin.enqueue(.init(body: "hello"))
            let response = try await bench.connection.send(bench.request(timeout: .seconds(Int64.max / 4)))
            try requireEqual(try await response.body.collectAll().data.count, 5, "The number of bytes")
        }
    }
}

extension TransportBench {
    fileprivate func request(
        _ method: HTTPRequest.Method = .get, path: String = "/", body: Body = .empty, timeout: Duration?
    ) throws -> Request {
        var request = try request(method, path, body: body)
        request.options.idleTimeout = timeout
        return request
    }
}
