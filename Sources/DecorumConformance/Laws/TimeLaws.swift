import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that cancelling the caller's task cancels what the base does, and reaches the caller as `CancellationError`.
    ///
    /// A layer that sends in a separate task passes the cancellation on; one that catches errors does not catch this one.
    public static let cancellation = DecoratorLaw("cancellation") { subject in
        try await subject.each(subject.plainPaths) { path in
            for number in 1...(path.isOfLaws ? 1 : 4) {
                let gate = Gate()
                let call = CallInProgress {
                    try await path.provoke(subject, includingOwn: true) { _, current, outcome in
                        if current == number { try await gate.wait() }
                        return try outcome.get()
                    }.result.get()
                }
                let isSent = try await call.waits(at: gate)
                try expect(isSent || !path.isOfLaws, "a question to the base")
                guard isSent else { break }
                try await expectEnd(of: call, at: gate)
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
        try await expectCancelled(early)
    }

    /// Cancels a call, and expects that it ends together with the work of the base.
    private static func expectEnd(of call: CallInProgress<some Any>, at gate: Gate) async throws {
        let result = try await call.cancelled()
        try expect(gate.waitingCount, is: 0, "work of the base that goes on")
        try expectCancellation(result)
    }

    /// Demands that cancelling the task that reads a response's body ends the reading at once with `CancellationError`.
    public static let bodyCancellation = DecoratorLaw("bodyCancellation") { subject in
        try await subject.each(subject.contentPaths) { path in
            let gate = Gate()
            let call = CallInProgress {
                let provoked = try await path.provoke(subject) { request, _, outcome in
                    try await outcome.get().carried(for: request.head.method, chunks: 1, gate: gate).response
                }
                return try await provoked.result.get().body.collectAll().data.count
            }
            guard try await call.waits(at: gate) else { return try expect(!path.isOfLaws, "a reading") }
            try await expectEnd(of: call, at: gate)
        }
    }

    /// Demands that nothing more is sent once the caller's task has been cancelled.
    ///
    /// A retry or a redirection after a cancellation costs the server work, and may do what the user wanted to stop.
    public static let silenceAfterCancellation = DecoratorLaw("silenceAfterCancellation") { subject in
        try await subject.each(subject.provocations) { path in
            for number in 1...(path.isOfLaws ? 1 : 4) {
                let task = Monitor<Task<Provoked, any Error>?>(nil)
                let call = Task {
                    try await path.provoke(subject, includingOwn: true) { _, current, outcome in
                        guard current == number else { return try outcome.get() }
                        try await task.wait { $0 != nil }
                        task.state?.cancel()
                        return try outcome.get()
                    }
                }
                task.update { $0 = call }
                let result = try await withDeadline { await call.result }
                let count = (try? result.get())?.sent.count ?? 0
                try expect(count <= number, "\(number) sendings after cancellation, got \(count)")
            }
        }
    }

    /// Demands that a layer which waits ends its call when its wait is cancelled, and sends nothing more.
    ///
    /// The law needs a decorator that waits on the clock of ``DecoratorConditions``.
    public static let cancelledSleep = DecoratorLaw("cancelledSleep") { subject in
        try await subject.each(subject.provocations) { path in
            try await checkFirstSleep(of: subject, on: path) { result, _, sent in
                try expect(sent, is: 0, "sendings after a cancelled sleep")
                try expectCancellation(result)
            }
        }
    }

    /// Demands that a layer which waits says so by the fact `.waits`, and how long at most.
    ///
    /// The law measures the first wait on each path by the clock of ``DecoratorConditions``.
    public static let declaredWaits = DecoratorLaw("declaredWaits") { subject in
        try await subject.each(subject.provocations) { path in
            try await checkFirstSleep(of: subject, on: path) { _, wait, _ in
                let waiting = try subject.ownLayers().filter { $0.facts.contains(.waits) }
                try expect(!waiting.isEmpty, "the fact waits")
                try expect(waiting.contains { $0.time.waiting.allows(wait) }, "a declared wait of \(wait)")
            }
        }
    }

    /// Sends a request on a path until the decorator sleeps, if it does, and cancels the call.
    private static func checkFirstSleep(
        of subject: DecoratorSubject, on path: ActivePath,
        _ examine: (_ result: ActivePath.Outcome, _ wait: Duration, _ sent: Int) throws -> Void
    ) async throws {
        let (clock, sent) = (VirtualClock(), Monitor(0))
        let call = CallInProgress {
            try await path.provoke(subject, on: .init(clock: clock), includingOwn: true) { _, _, outcome in
                _ = sent.increment()
                return try outcome.get()
            }.result.get()
        }
        guard try await call.sleeps(on: clock) else { return }
        let (wait, count) = (clock.pendingSleeps.min() ?? .zero, sent.state)
        let result = try await call.cancelled()
        do {
            try examine(result, wait, sent.state - count)
        } catch {
            // On a busy machine, a call that is about to end beside a timer seems to sleep; it ends while no time passes.
            let withoutTime = { @Sendable in
                try await path.provoke(subject, on: .init(clock: VirtualClock()), includingOwn: true)
            }
            guard (try? await withDeadline(of: .seconds(2), withoutTime)) != nil else { throw error }
        }
    }

    /// Demands that each of two hundred calls at the same time, a third of them with a hitch, gets its own answer.
    public static let concurrency = DecoratorLaw("concurrency") { subject in
        let hitches = Monitor<Set<Int>>([])
        let probe = Probe { request, _ in
            let text = try await request.body.text(upTo: 100)
            let path = request.head.path ?? ""
            let number = Int(path.dropFirst()) ?? 0
            for _ in 0..<number % 5 { await Task.yield() }
            let isFirst = hitches.update { $0.insert(number).inserted }
            guard number % 3 > 0 || !isFirst else {
                return Response(status: .serviceUnavailable, fields: [.retryAfter: "0"], body: Body("\(path) \(text)"))
            }
            return Response(status: .ok, fields: [.server: "\(number)"], body: Body("\(path) \(text)"))
        }
        let connection = try subject.connection(over: probe)
        let refuses = try subject.ownLayers().facts.contains(.refuses)
        try await withThrowingTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    let response: Response
                    do {
                        let body = Body("content \(number)")
                        response = try await connection.send(Request(.put, origin + "/\(number)", body: body))
                    } catch  where refuses || number % 3 == 0 {
                        // A layer that judges statuses throws for a hitch, and one that refuses for any call.
                        return
                    }
                    try expect(try await response.text(), is: "/\(number) content \(number)")
                    try expect(response.head.headerFields[.server] ?? "\(number)", is: "\(number)", "field")
                }
            }
            try await group.waitForAll()
        }
    }

    /// Demands that a call ends at the deadline of its request.
    ///
    /// A layer hands the deadline on, or ends the wait of each caller itself. A layer that would wait past the deadline gives
    /// up at once, with the response or the error that it has.
    public static let deadlines = DecoratorLaw("deadlines") { subject in
        try await subject.each(subject.plainPaths) { path in
            let gate = Gate()
            var request = try path.request()
            request.options.deadline = .now + .milliseconds(50)
            _ = try await withDeadline { [request] in
                try await path.provoke(subject, with: request, on: .init(clock: SystemClock())) { sent, _, outcome in
                    try await silence(until: sent.options.deadline, by: SystemClock(), or: gate)
                    return try outcome.get()
                }
            }
            try await withDeadline { while gate.waitingCount > 0 { try await Task.sleep(for: .milliseconds(1)) } }
        }
        try await subject.each([unavailable] + subject.activePaths) { path in
            let clock = ImpatientClock()
            var request = try path.request()
            let deadline = clock.now + .seconds(10)
            request.options.deadline = deadline
            let late = Monitor(0)
            _ = try await withDeadline { [request] in
                try await path.provoke(
                    subject, with: request, on: .init(clock: clock), includingOwn: true
                ) { _, _, outcome in
                    if clock.now > deadline { _ = late.increment() }
                    return try outcome.get()
                }
            }
            try expect(late.state, is: 0, "sendings after the deadline")
            try expect(clock.now <= deadline, "no sleep past the deadline")
        }
    }

    /// Waits, as a silent base does, until the deadline of a request and fails then, or until a gate is open.
    private static func silence(
        until deadline: ContinuousClock.Instant?, by clock: any DatedClock, or gate: Gate
    ) async throws {
        guard let deadline else { return try await gate.wait() }
        try await clock.sleep(until: deadline, tolerance: nil)
        throw TransportError(.deadlineExceeded, at: .head)
    }

    private static let unavailable = ActivePath(ofLaws: "a wait of 30 seconds") { number, _ in
        number < 3
            ? HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "30"]) : HTTPResponse(status: .ok)
    }

    /// Demands that a decorator takes no longer than its layers declare.
    ///
    /// The worst case of a stack (`Bounds`) is computed from these numbers. The base is silent, or its content never comes,
    /// and the law measures by the clock of ``DecoratorConditions``.
    public static let declaredTimes = DecoratorLaw("declaredTimes") { subject in
        try await subject.each(subject.plainPaths) { path in
            try await checkTime(of: subject, over: .unbounded, on: path) { clock, sent, outcome in
                try await silence(until: sent.options.deadline, by: clock, or: Gate())
                return try outcome.get()
            }
        }
        try await subject.each(subject.provocations) { path in
            // The content of each answer never comes.
            try await checkTime(of: subject, over: .atMost(.zero), on: path) { _, sent, outcome in
                var response = try outcome.get()
                guard response.head.mayHaveContent(for: sent.head.method) else { return response }
                response.body = BodyProbe(Data()).body(chunks: 0, gate: Gate())
                return response
            }
        }
    }

    /// Expects that an exchange takes no longer than the layers declare over a base with a limit.
    private static func checkTime(
        of subject: DecoratorSubject, over limit: Layer.Bound<Duration>, on path: ActivePath,
        _ answer: @escaping @Sendable (ImpatientClock, Request, ActivePath.Outcome) async throws -> Response
    ) async throws {
        let own = try subject.ownLayers()
        let base = Layer(name: "base", role: .transport, time: .init(limit: limit))
        guard own.allSatisfy(\.isDeclared), let most = Bounds(of: own + [base]).duration.value else { return }
        let clock = ImpatientClock()
        let start = ContinuousClock.now
        _ = try await withDeadline {
            try await path.provoke(subject, on: .init(clock: clock)) { sent, _, outcome in
                try await answer(clock, sent, outcome)
            }
        }
        // Without the real time, by which a decorator with the clock of the system sets its deadlines.
        let time = clock.now - start - (ContinuousClock.now - start)
        try expect(time <= most, "at most \(most), got \(time)")
    }
}
