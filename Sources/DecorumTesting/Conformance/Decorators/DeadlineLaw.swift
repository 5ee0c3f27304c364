import Decorum
import Foundation
import HTTPTypes
import Synchronization

extension DecoratorLaw {
    /// Demands that a call ends at the deadline of its request.
    ///
    /// A layer hands the deadline on, so that the transport ends the call then. A layer that leaves it out, such as one that
    /// sends a request for several callers, ends the wait of each caller itself. A layer that would wait past the deadline
    /// gives up at once, with the response or the error that it has.
    public static let deadlines = DecoratorLaw(
        "deadlines", "A call over a silent server ends at its deadline, and no layer waits past it."
    ) { subject in
        for path in [.ordinary] + subject.activePaths {
            try await checkSilence(in: subject, on: path)
        }
        for path in [unavailable] + subject.activePaths {
            try await checkWaits(of: subject, on: path)
        }
    }

    /// Sends a request to a base that is silent until the deadline that it gets, or for ever.
    private static func checkSilence(in subject: DecoratorSubject, on path: ActivePath) async throws {
        let gate = Gate()
        var request = try path.request()
        request.options.deadline = .now + .milliseconds(50)
        _ = try await withDeadline("With \(path), a call over a silent server went on after its deadline.") {
            [request] in
            try await path.provoke(subject, with: request, on: .init(clock: SystemClock())) { sent, _, outcome in
                guard !subject.isOwnRequest(sent.head) else { return try outcome.get() }
                guard let deadline = sent.options.deadline else {
                    try await gate.wait()
                    return try outcome.get()
                }
                try await Task.sleep(until: deadline, clock: .continuous)
                throw TransportError(.deadlineExceeded, at: .head)
            }
        }
        try await withDeadline("With \(path), a call ended at its deadline, but what the base did for it went on.") {
            while gate.waitingCount > 0 { try await Task.sleep(for: .milliseconds(1)) }
        }
    }

    /// Sends a request to a base that asks for long waits, on a clock that records the sleeps.
    private static func checkWaits(of subject: DecoratorSubject, on path: ActivePath) async throws {
        let clock = RecordingClock()
        var request = try path.request()
        let deadline = clock.now + .seconds(10)
        request.options.deadline = deadline
        let late = Monitor(0)
        _ = try await withDeadline("With \(path), a call waits past its deadline.") { [request] in
            try await path.provoke(subject, with: request, on: .init(clock: clock)) { _, _, outcome in
                if clock.now > deadline { _ = late.increment() }
                return try outcome.get()
            }
        }
        try require(late.state == 0, "With \(path), a request was sent after the deadline of its call.")
        try require(clock.latest <= deadline, "With \(path), a layer sleeps past the deadline of a call.")
    }

    private static let unavailable = ActivePath(ofLaws: "a 503 that asks for a wait of 30 seconds") { number, _ in
        number < 3
            ? HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "30"]) : HTTPResponse(status: .ok)
    }
}

/// An impatient clock that knows the latest instant until which something wanted to sleep.
private final class RecordingClock: DatedClock {
    private let base = ImpatientClock()
    private let state: Mutex<ContinuousClock.Instant>

    init() {
        state = Mutex(base.now)
    }

    var latest: ContinuousClock.Instant { state.withLock(\.self) }
    var now: ContinuousClock.Instant { base.now }
    var date: Date { base.date }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        state.withLock { $0 = max($0, deadline) }
        try await base.sleep(until: deadline, tolerance: tolerance)
    }
}
