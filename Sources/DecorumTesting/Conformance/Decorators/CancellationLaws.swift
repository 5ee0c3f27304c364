import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that cancelling the caller's task cancels what the base does, and reaches the caller as `CancellationError`.
    ///
    /// A layer that sends in a task of its own must pass the cancellation on; one that catches errors must not take
    /// this one for a failure.
    public static let cancellation = DecoratorLaw(
        "cancellation passes", "Cancelling a call cancels the base's sending at once and throws CancellationError."
    ) { subject in
        let gate = Gate()
        let probe = Probe { _, _ in
            try await gate.wait()
            return Response(status: .ok)
        }
        let connection = try subject.connection(over: probe)
        let task = Task { try await connection.send(.lawful()) }
        try await withDeadline("The base was never asked.") { try await gate.waitForWaiting(1) }
        task.cancel()
        let result = try await withDeadline("A cancelled call went on for five seconds.") {
            await task.result
        }
        try require(gate.waitingCount == 0, "The cancelled call ended, but what the base did for it went on.")
        try requireCancellation(result, "A cancelled call")

        let early = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await connection.send(.lawful())
        }
        early.cancel()
        let earlyResult = try await withDeadline("A call in a cancelled task went on.") {
            await early.result
        }
        try requireCancellation(earlyResult, "A call in a cancelled task")
    }

    /// Demands that cancelling the task that reads a response's body ends the reading with `CancellationError`.
    public static let bodyCancellation = DecoratorLaw(
        "cancellation passes within bodies", "Cancelling the reader of a response ends the reading at once."
    ) { subject in
        for fields: HTTPFields in [[:], [.eTag: #""1""#]] {
            let gate = Gate()
            let body = BodyProbe().body(chunks: 1, gate: gate)
            let probe = Probe { _, _ in Response(status: .ok, fields: fields, body: body) }
            let connection = try subject.connection(over: probe)
            let task = Task { try await connection.send(.lawful()).body.collectAll().data.count }
            try await withDeadline("The content was never read.") { try await gate.waitForWaiting(1) }
            task.cancel()
            let result = try await withDeadline("A cancelled reading went on for five seconds.") {
                await task.result
            }
            try require(gate.waitingCount == 0, "The cancelled reading ended, but that of the base's body went on.")
            try requireCancellation(result, "A cancelled reading")
        }
    }

    /// Demands that nothing more is sent once the caller's task has been cancelled.
    ///
    /// A retry or a redirection that goes out after the user has left costs the server work, and may do what the user
    /// wanted to stop.
    public static let silenceAfterCancellation = DecoratorLaw(
        "nothing is sent after cancellation", "Once a call has been cancelled, nothing more is sent for it."
    ) { subject in
        for provocation in Provocation.all {
            let call = Monitor<Task<Provoked, any Error>?>(nil)
            let task = Task {
                try await provocation.provoke(subject, with: .lawful()) { _, _, outcome in
                    try await call.wait { $0 != nil }
                    call.state?.cancel()
                    return Response(head: try outcome.get())
                }
            }
            call.update { $0 = task }
            let result = try await withDeadline("After \(provocation), a cancelled call went on.") {
                await task.result
            }
            let count = (try? result.get())?.requests.count ?? 1
            try require(count <= 1, "After \(provocation) and cancellation, \(count - 1) more requests were sent.")
        }
    }

    private static func requireCancellation(
        _ result: Result<some Any, any Error>, _ what: String
    ) throws(ConformanceFailure) {
        switch result {
        case .success: throw ConformanceFailure("\(what) did not throw.")
        case .failure(let error):
            try require(
                error is CancellationError, "\(what) threw \(type(of: error)) in place of CancellationError.")
        }
    }
}
