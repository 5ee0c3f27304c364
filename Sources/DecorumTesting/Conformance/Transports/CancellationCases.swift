import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// Cancellation, at each point of an exchange.
    public static let cancellations: [TransportCase] = [
        .cancelledTask, .cancellationBeforeHead, .cancellationWithinBody, .cancellationWithinUpload,
        .cancelledReader,
    ]

    /// A task that is cancelled already sends nothing.
    public static let cancelledTask = TransportCase(
        "cancelledTask", "A cancelled task sends nothing."
    ) { subject in
        let bench = try await subject.bench()
        let request = try bench.request(.post, body: "hello")
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            _ = try await bench.connection.send(request)
        }
        task.cancel()
        try await requireCancelled(task, "a task before it sends")
        try requireEqual(bench.origin.connectionCount, 0, "The number of connections")
    }

    /// Cancelling before the head has arrived ends the call and closes the connection, both at once.
    public static let cancellationBeforeHead = TransportCase(
        "cancellationBeforeHead", "Cancelling before the head throws at once and closes the connection."
    ) { subject in
        let bench = try await subject.bench()
        bench.origin.enqueue(.hanging)
        let request = try bench.request(.post, body: "hello")
        let task = Task { _ = try await bench.connection.send(request) }
        try await bench.waitForRequests(1)
        task.cancel()
        try await requireCancelled(task, "a call before the head")
        try await bench.requireClosed(after: "a cancellation")
        try await bench.requireUsable(after: "a cancellation")
    }

    /// Cancelling while the content is awaited ends the reading and closes the connection, both at once.
    public static let cancellationWithinBody = TransportCase(
        "cancellationWithinBody", "Cancelling within the body throws at once and closes the connection."
    ) { subject in
        let bench = try await subject.bench()
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
        task.cancel()
        try await requireCancelled(task, "a reading")
        try await bench.requireClosed(after: "a cancellation")
        try await bench.requireUsable(after: "a cancellation")
    }

    /// Cancelling while content is sent that the server does not take.
    public static let cancellationWithinUpload = TransportCase(
        "cancellationWithinUpload",
        "Cancelling within an upload throws at once, closes the connection and the body."
    ) { subject in
        let bench = try await subject.bench()
        let gate = Gate()
        bench.origin.enqueue(.script(.wait(gate), .receiveBody, .hang), answering: .afterHead)
        let request = try bench.request(.post, body: Body(BytePattern.bytes(32 << 20)))
        let task = Task { _ = try await bench.connection.send(request) }
        try await bench.waitForHeads(1)
        task.cancel()
        try await requireCancelled(task, "an upload")
        // A server that does not read cannot see that the client has gone.
        gate.open()
        try await bench.requireClosed(after: "a cancellation")
        try await bench.requireUsable(after: "a cancellation")
    }

    /// A reader in a cancelled task throws even where bytes have arrived.
    public static let cancelledReader = TransportCase(
        "cancelledReader", "A cancelled reader throws although there is more to read, and goes on throwing."
    ) { subject in
        let bench = try await subject.bench()
        bench.origin.enqueue(.generated(count: 1 << 40))
        let gate = Gate()
        let request = try bench.request()
        let task = Task {
            var reader = try await bench.connection.send(request).body.open()
            _ = try await reader.next()
            gate.open()
            while !Task.isCancelled { await Task.yield() }
            for _ in 0..<2 {
                do {
                    _ = try await reader.next()
                } catch is CancellationError {
                    continue
                }
                return
            }
            throw CancellationError()
        }
        try await gate.wait()
        task.cancel()
        try await requireCancelled(task, "a reader with bytes that have arrived")
        try await bench.requireClosed(after: "a cancellation")
    }
}
