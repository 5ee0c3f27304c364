public import Decorum
import Foundation
import HTTPTypes

extension Connection {
    /// Limits the requests that are on their way at the same time, or that begin in a time, and lets the others wait.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .limiting(LimitPolicy(Limits(.fixed(6)), groups: ["images": Limits(.fixed(2))]))
    ///     .retrying()
    /// ```
    ///
    /// A request that waits is sent by its `priority`, and within one priority in the order of arrival;
    /// each tenth place goes to the request that has waited for the longest time. A waiting request leaves at its
    /// `deadline` and when its task is cancelled. One that cannot be answered in its time, as the latest
    /// answers show, fails at once with a ``LimitError``. If the queue is full, the least important request fails: the new one
    /// or the last one of the lowest priority.
    ///
    /// A request is on its way until its response has been read or dropped, whichever way its call ends. So code must not hold
    /// as many unread responses as the limit allows while it sends another request; otherwise that one waits for
    /// ``LimitPolicy/longestWait``, and fails. ``LimitPolicy/release`` can end it with the head of the response.
    ///
    /// ``Limits/Concurrency/adaptive(within:)`` finds the number of requests that a server works on at the same time. It lowers
    /// the number after 429, 503 and timeouts, too.
    ///
    /// Place it inside of `retrying`, so that no request holds its place between two attempts, and outside of authentication, so
    /// that credentials and signatures are new when the request is sent. A refresh of credentials must not wait for the same
    /// limits.
    ///
    /// - Parameters:
    ///   - policy: The limits.
    ///   - limiter: The value that steers and shows the requests, which several stacks may share; nil for one of the layer.
    ///   - clock: The clock that waits and measures.
    ///   - spawner: Starts the task that waits until the rate allows the next request.
    /// - Returns: A connection that throws ``LimitError`` for requests that are not let through.
    public func limiting(
        _ policy: LimitPolicy = .standard,
        in limiter: RequestLimiter? = nil,
        clock: any DatedClock = SystemClock(),
        spawner: any TaskSpawner = SystemSpawner()
    ) -> some Connection {
        let isSteered = limiter != nil
        let limiter = limiter ?? RequestLimiter()
        return LimitingConnection(
            base: self, limiter: limiter,
            table: limiter.table(for: policy, isSteered: isSteered, clock: clock, spawner: spawner),
            watch: TimeLimitWatch(clock: clock))
    }
}

struct LimitingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let limiter: RequestLimiter
    let table: LimitTable
    let watch: TimeLimitWatch

    var layer: Layer {
        let policy = table.policy
        var facts = Layer.facts(of: table.time.clock).union([.limitsRequests, .refuses, .waitsUntilDeadline])
        if policy.isAdaptive { facts.insert(.readsStatus) }
        if policy.letsNothingPass { facts.insert(.letsNothingPass) }
        return Layer(
            name: "limiting", role: .resilience, settings: policy.layerSettings, facts: facts,
            time: .init(waiting: .atMost(policy.boundedWait)), memory: .init(state: [.init(limiter)]))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        let permit: LimitPermit
        if let present = permitAtOnce(request) {
            permit = present
        } else {
            permit = try await waitForTurn(table.policy.key(of: request), request.options)
        }
        do {
            let response =
                table.isSteered ? try await sendSteered(request, with: permit) : try await base.send(request)
            return hold(permit, by: response)
        } catch {
            giveBack(permit, after: error)
            throw error
        }
    }

    private func permitAtOnce(_ request: borrowing Request) -> LimitPermit? {
        let isDeferred = request.options.deferral.map { $0 > .zero } ?? false
        return table.lane(of: request).permitAtOnce(request.options.group, isDeferred: isDeferred, at: table.time.now)
    }

    /// Waits for the permit of a request that has not got one at once.
    @inline(never) private func waitForTurn(
        _ key: TrafficKey, _ options: RequestOptions
    ) async throws -> LimitPermit {
        do {
            if let deferral = options.deferral, deferral > .zero {
                let priority = LimitTicket.deferredPriority
                if let permit = try await permit(key, options, priority, within: deferral.bounded) { return permit }
            }
            if let permit = try await permit(key, options, Int((options.priority ?? .medium).rawValue)) {
                return permit
            }
            throw table.lane(for: key).error(.timeOver)
        } catch let error as LimitError {
            options.callContext?.note(CallDecision(.givesUp, by: "limiting", "not sent: \(error.reason)"))
            throw error
        }
    }

    /// Waits for a permit; returns nil if the time is over.
    private func permit(
        _ key: TrafficKey, _ options: RequestOptions, _ priority: Int, within deferral: Duration = .longest
    ) async throws -> LimitPermit? {
        let (time, now) = (table.time, table.time.now)
        let deadline = options.timeLeft(at: time.start.advanced(by: now)).map { now + $0 }
        let limit = min(deadline ?? now + table.policy.boundedWait, now + deferral)
        let waiter = LimitWaiter(
            LimitTicket(group: options.group, priority: priority, deadline: deadline, limit: limit), from: time.start)
        while true {
            let lane = table.lane(for: key)
            switch try lane.enter(waiter, at: now) {
            case .isGone: continue
            case .permit(let permit): return permit
            case .wait(let waiter, let place, let ahead):
                options.callContext?.note(
                    CallDecision(.waits, by: "limiting", "waits for its turn at the limits of \(key), behind \(ahead)"))
                defer { lane.leave(waiter, from: place) }
                let permit = try await waiter.wait.value(watchedBy: watch, orCancel: {})
                // A permit that came together with the cancellation goes back as it is dropped.
                try Task.checkCancellation()
                return permit
            }
        }
    }

    /// Sends a request in a task that the limiter can cancel.
    private func sendSteered(_ request: consuming Request, with permit: LimitPermit) async throws -> Response {
        let request = request
        let task = Task { [base] in try await base.send(request) }
        permit.run(task)
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        permit.finishRun()
        if let cancellation = permit.cancellation { throw cancellation }
        return try result.get()
    }

    /// Notes the head of a response, and keeps the permit until its body has ended.
    private func hold(_ permit: LimitPermit, by response: consuming Response) -> Response {
        var outcome = AdaptiveLimit.Outcome.answer
        if permit.lane.isAdaptive {
            // The text is compared, since a status takes several times as long to read.
            let status = response.head.pseudoHeaderFields.status.value
            if status == "429" || status == "503" { outcome = .rejection }
        }
        let now = table.time.now
        let sample = permit.sample(outcome, at: now)
        if table.policy.release == .head || response.body.bytes != nil || response.body.isEmpty
            || response.body.file != nil
        {
            permit.giveBack(noting: sample, at: now)
            return response
        }
        permit.lane.note(sample, at: now)
        let content = table.isSteered ? response.body.cancelled(by: permit) : response.body
        response.body = content.observed { event in
            if case .chunk = event { return }
            permit.giveBack()
        }
        return response
    }

    private func giveBack(_ permit: LimitPermit, after error: any Error) {
        let now = table.time.now
        switch (error as? TransportError)?.code {
        case .timedOut, .deadlineExceeded: permit.giveBack(noting: permit.sample(.timeout, at: now), at: now)
        default: permit.giveBack(at: now)
        }
    }
}

extension Body {
    /// The body, which fails with its next chunk once the limiter has cancelled its request.
    fileprivate func cancelled(by permit: LimitPermit) -> Body {
        let body = self
        return Body(length: length, replay: replay) { offset in
            if let cancellation = permit.cancellation { throw cancellation }
            return CancellableBodyReader(reader: try await body.open(at: offset), permit: permit)
        }
    }
}

private struct CancellableBodyReader: BodyReader {
    var reader: any BodyReader
    let permit: LimitPermit

    mutating func next() async throws -> Data? {
        let chunk = try await reader.next()
        if let cancellation = permit.cancellation { throw cancellation }
        return chunk
    }

    var trailers: HTTPFields? { reader.trailers }
}
