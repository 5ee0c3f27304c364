import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that cancelling the caller's task cancels what the base does, and reaches the caller as `CancellationError`.
    ///
    /// A layer that sends in a separate task must pass the cancellation on. A layer that catches errors must not treat
    /// this one as a failure.
    public static let cancellation = DecoratorLaw(
        "cancellation", "Cancelling a call cancels the base's sending at once and throws CancellationError."
    ) { subject in
        for path in [.ordinary] + subject.activePaths {
            for number in 1...(path.isOfLaws ? 1 : 4) {
                let wasCancelled = try await checkCancelling(sending: number, in: subject, on: path)
                try require(wasCancelled || !path.isOfLaws, "The base was never asked.")
                guard wasCancelled else { break }
            }
        }

        let gate = Gate()
        let connection = try subject.connection(
            over: Probe { _, _ in
                try await gate.wait()
                return Response(status: .ok)
            })
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

    /// Cancels a call while the base handles the sending of a number; returns whether there was one.
    private static func checkCancelling(
        sending number: Int, in subject: DecoratorSubject, on path: ActivePath
    ) async throws -> Bool {
        let gate = Gate()
        let call = CallInProgress {
            try await path.provoke(subject, with: path.request()) { _, current, outcome in
                if current == number { try await gate.wait() }
                return try outcome.get()
            }.result.get()
        }
        guard try await call.waits(at: gate) else { return false }
        let result = try await call.cancelled("With \(path), a cancelled call went on for five seconds.")
        try require(
            gate.waitingCount == 0, "With \(path), the cancelled call ended, but what the base did for it went on.")
        try requireCancellation(result, "With \(path), a cancelled call")
        return true
    }

    /// Demands that cancelling the task that reads a response's body ends the reading with `CancellationError`.
    public static let bodyCancellation = DecoratorLaw(
        "bodyCancellation", "Cancelling the reader of a response ends the reading at once."
    ) { subject in
        for path in subject.contentPaths {
            let gate = Gate()
            let call = CallInProgress {
                let provoked = try await path.provoke(subject, with: path.request()) { request, _, outcome in
                    guard !subject.isOwnRequest(request.head) else { return try outcome.get() }
                    return try await outcome.get().carried(for: request.head.method, chunks: 1, gate: gate).response
                }
                return try await provoked.result.get().body.collectAll().data.count
            }
            guard try await call.waits(at: gate) else {
                try require(!path.isOfLaws, "The content was never read.")
                continue
            }
            let result = try await call.cancelled("With \(path), a cancelled reading went on for five seconds.")
            try require(
                gate.waitingCount == 0,
                "With \(path), the cancelled reading ended, but that of the base's body went on.")
            try requireCancellation(result, "With \(path), a cancelled reading")
        }
    }

    /// Demands that nothing more is sent once the caller's task has been cancelled.
    ///
    /// A retry or a redirection after a cancellation costs the server work, and may do what the user wanted to stop.
    public static let silenceAfterCancellation = DecoratorLaw(
        "silenceAfterCancellation", "Once a call has been cancelled, nothing more is sent for it."
    ) { subject in
        for path in subject.provocations {
            for number in 1...(path.isOfLaws ? 1 : 4) {
                let task = Monitor<Task<Provoked, any Error>?>(nil)
                let call = Task {
                    try await path.provoke(subject, with: path.request()) { _, current, outcome in
                        guard current == number else { return try outcome.get() }
                        try await task.wait { $0 != nil }
                        task.state?.cancel()
                        return try outcome.get()
                    }
                }
                task.update { $0 = call }
                let result = try await withDeadline("After \(path), a cancelled call went on.") {
                    await call.result
                }
                let count = (try? result.get())?.sent.count ?? 0
                try require(
                    count <= number,
                    "After \(path) and cancellation, \(count - number) more requests were sent.")
            }
        }
    }

    /// Demands that a layer which waits ends its call when its wait is cancelled, and sends nothing more.
    ///
    /// `try? await clock.sleep(…)` goes on at once where the caller has left, mostly to send again. A decorator is held
    /// to this with the clock of ``DecoratorConditions``.
    public static let cancelledSleep = DecoratorLaw(
        "cancelledSleep",
        "A call that is cancelled while its layer sleeps throws CancellationError and sends nothing more."
    ) { subject in
        for path in subject.provocations {
            let clock = VirtualClock()
            let (sent, busy) = (Monitor(0), Monitor(0))
            let call = CallInProgress {
                try await path.provoke(subject, with: path.request(), on: .init(clock: clock)) { _, _, outcome in
                    busy.update { $0 += 1 }
                    defer { busy.update { $0 -= 1 } }
                    _ = sent.increment()
                    return try outcome.get()
                }.result.get()
            }
            guard try await call.sleeps(on: clock, whileIdle: busy) else { continue }
            let count = sent.state
            let result = try await call.cancelled("After \(path), a call went on whose sleep was cancelled.")
            try require(
                sent.state == count,
                "After \(path), \(sent.state - count) more requests were sent once the sleep was cancelled.")
            try requireCancellation(result, "After \(path), a call whose sleep was cancelled")
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
