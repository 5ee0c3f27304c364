import Decorum
import Foundation
import HTTPTypes

/// The deadlines of the bodies of responses, and of requests whose content takes long.
extension TransportCase {
    /// A body that never ends is given up at its own deadline.
    public static let deadlineOfBody = TransportCase(
        "deadlineOfBody", "A body that is dripped for ever is given up at the deadline of the body."
    ) { subject in
        let clock = VirtualClock()
        let bench = try await subject.bench(clock: clock)
        bench.origin.enqueue(
            .script(.openHead(["Content-Length": "1000000"]), .trickle(.endless("b"), every: .milliseconds(5))))
        let request = try bench.request(deadline: clock.now + .seconds(20), bodyDeadline: clock.now + .seconds(40))
        let response = try await bench.connection.send(request)
        let task = Task { _ = try await response.body.collectAll() }
        try await clock.advance(until: task)
        try await requireTransportError(of: [.deadlineExceeded], at: .body, "A body without an end") {
            try await task.value
        }
        try await bench.requireClosed(after: "the deadline of a body")
    }

    /// The deadline of a body counts although the body is not read.
    public static let deadlineBesideReader = TransportCase(
        "deadlineBesideReader", "The deadline of a body ends its transfer, although nothing is read from it."
    ) { subject in
        let clock = VirtualClock()
        let bench = try await subject.bench(clock: clock)
        bench.origin.enqueue(.script(.openHead(["Content-Length": "9"]), .raw("hal"), .hang))
        let response = try await bench.connection.send(bench.request(bodyDeadline: clock.now + .seconds(40)))
        let task = Task { try await bench.requireClosed(after: "the deadline of a body") }
        try await clock.advance(until: task)
        try await task.value
        try await requireTransportError(of: [.deadlineExceeded], at: .body, "A body after its deadline") {
            _ = try await response.body.collectAll()
        }
    }

    /// The deadline of a request ends with the head of its response.
    public static let deadlineSparesBody = TransportCase(
        "deadlineSparesBody", "A body may arrive long after the deadline, which is one for the head alone."
    ) { subject in
        let clock = VirtualClock()
        let bench = try await subject.bench(clock: clock)
        let gate = Gate()
        bench.origin.enqueue(.script(.openHead(["Content-Length": "4"]), .raw("l"), .wait(gate), .raw("ate")))
        let response = try await bench.connection.send(bench.request(deadline: clock.now + .seconds(10)))
        try await gate.waitForWaiting(1)
        for _ in 0..<4 {
            clock.advance(by: .seconds(10))
            // The watch of the transport gets its turn.
            try await Task.sleep(for: .milliseconds(10))
        }
        gate.open()
        let text = try await withDeadline("A body did not arrive after the deadline.") {
            try await response.body.text(upTo: 10)
        }
        try requireEqual(text, "late", "The content")
    }

    /// Content that the server does not take is given up at the deadline.
    public static let deadlineOfUpload = TransportCase(
        "deadlineOfUpload", "Content that a server does not take is given up at the deadline."
    ) { subject in
        let clock = VirtualClock()
        let bench = try await subject.bench(clock: clock)
        let gate = Gate()
        bench.origin.enqueue(.script(.wait(gate), .receiveBody, .hang), answering: .afterHead)
        let request = try bench.request(
            .post, body: Body(BytePattern.bytes(32 << 20)), deadline: clock.now + .seconds(20))
        let task = Task { _ = try await bench.connection.send(request) }
        try await bench.waitForHeads(1)
        try await clock.advance(until: task)
        try await requireTransportError(of: [.deadlineExceeded], at: .head, "Content that the server does not read") {
            try await task.value
        }
        // A server that does not read cannot see that the client has gone.
        gate.open()
        try await bench.requireClosed(after: "a deadline")
    }

    /// Content that is never made does not put the deadline off, although it does not count as idle time.
    public static let deadlineOfProducer = TransportCase(
        "deadlineOfProducer", "A request whose own content never comes, or cannot be opened, ends at its deadline."
    ) { subject in
        let never = Gate()
        let bodies = [
            Body(replay: .once) { _ in GatedReader(chunks: ["first", "second"]) { try await never.wait() } },
            Body(replay: .once) { _ in
                try await never.wait()
                return try await Body("never").open()
            },
        ]
        for body in bodies {
            let clock = VirtualClock()
            let bench = try await subject.bench(clock: clock)
            bench.origin.route(nil, "*", .init(body: "ok"))
            let request = try bench.request(.post, body: body, deadline: clock.now + .seconds(100))
            let task = Task { _ = try await bench.connection.send(request) }
            try await never.waitForWaiting(1)
            try await clock.advance(until: task)
            try await requireTransportError(of: [.deadlineExceeded], "Content that never comes") {
                try await task.value
            }
            try await bench.requireClosed(after: "a deadline")
            try await withDeadline("The reading of content goes on after the deadline.") {
                while never.waitingCount > 0 { try await Task.sleep(for: .milliseconds(2)) }
            }
        }
    }
}
