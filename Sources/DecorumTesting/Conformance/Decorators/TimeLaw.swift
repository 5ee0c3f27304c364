import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that a decorator takes no longer than its layers declare.
    ///
    /// The worst case of a stack (`Bounds`) is computed from these numbers. A layer with a time limit ends each
    /// request over a silent base then, and one that reads of a response before it replaces it, as before another attempt,
    /// stops after its longest reading. The law measures by the clock of ``DecoratorConditions``.
    public static let declaredTimes = DecoratorLaw(
        "declaredTimes", "A call ends within the time limit, the waits and the readings that its layers declare."
    ) { subject in
        for path in [.ordinary] + subject.activePaths {
            try await checkLimit(of: subject, on: path)
        }
        for path in subject.provocations {
            try await checkReadings(of: subject, on: path)
        }
    }

    /// Sends a request to a base that is silent until the deadline that it gets.
    private static func checkLimit(of subject: DecoratorSubject, on path: ActivePath) async throws {
        guard let most = try subject.longestTime(over: .unbounded) else { return }
        let clock = ImpatientClock()
        let gate = Gate()
        let time = try await elapsed(on: clock, "With \(path), a call goes on after the time limit that it declares.") {
            try await path.provoke(subject, with: path.request(), on: .init(clock: clock)) { sent, _, outcome in
                guard !subject.isOwnRequest(sent.head) else { return try outcome.get() }
                guard let deadline = sent.options.deadline else {
                    try await gate.wait()
                    return try outcome.get()
                }
                try await clock.sleep(until: deadline, tolerance: nil)
                throw TransportError(.deadlineExceeded, at: .head)
            }
        }
        try require(time <= most, "With \(path), a call took \(time), and its layers declare at most \(most).")
    }

    /// Sends a request to a base whose answers have content that never comes.
    private static func checkReadings(of subject: DecoratorSubject, on path: ActivePath) async throws {
        guard let most = try subject.longestTime(over: .atMost(.zero)) else { return }
        let clock = ImpatientClock()
        let time = try await elapsed(on: clock, "After \(path), a layer reads content that never comes.") {
            try await path.provoke(subject, with: path.request(), on: .init(clock: clock)) { sent, _, outcome in
                var response = try outcome.get()
                guard !subject.isOwnRequest(sent.head), response.head.mayHaveContent(for: sent.head.method) else {
                    return response
                }
                response.body = Body(length: nil, replay: .once) { _ in SilentReader() }
                return response
            }
        }
        try require(
            time <= most,
            "After \(path), a call took \(time) until its response, and its layers declare \(most).")
    }

    /// The time that an exchange takes by a clock, without the real time, by which a decorator with the clock of the system
    /// sets its deadlines.
    private static func elapsed(
        on clock: ImpatientClock, _ sentence: String, _ exchange: @escaping @Sendable () async throws -> Provoked
    ) async throws -> Duration {
        let start = ContinuousClock.now
        _ = try await withDeadline(sentence) { try await exchange() }
        return clock.now - start - (ContinuousClock.now - start)
    }
}

extension DecoratorSubject {
    /// The longest time of a call that the layers of the decorator declare, over a base with a limit; nil for any time.
    fileprivate func longestTime(over limit: Layer.Bound<Duration>) throws -> Duration? {
        let own = try ownLayers(over: Probe { _, _ in Response(status: .ok) })
        let base = Layer(name: "base", role: .transport, time: .init(limit: limit))
        guard own.allSatisfy(\.isDeclared) else { return nil }
        return Bounds(of: own + [base]).duration.value
    }
}

private struct SilentReader: BodyReader {
    let trailers: HTTPFields? = nil

    mutating func next() async throws -> Data? {
        try await Gate().wait()
        return nil
    }
}
