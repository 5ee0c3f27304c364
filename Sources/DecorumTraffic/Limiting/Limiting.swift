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
    /// A request that waits is sent by its `priority`, and within one priority in the order of arrival; each tenth place goes to
    /// the request that has waited for the longest time. A waiting request leaves at its `deadline` and when its task is cancelled.
    /// One that cannot be answered in its time, as the latest answers show, fails at once with a ``LimitError``. If the queue is
    /// full, the least important request fails: the new one or the last one of the lowest priority.
    ///
    /// A request is on its way until its response has been read or dropped, whichever way its call ends. So code must not hold
    /// as many unread responses as the limit allows while it sends another request; otherwise that one waits for
    /// ``LimitPolicy/longestWait``, and fails. ``LimitPolicy/releasesAtHead`` ends it before.
    ///
    /// ``Limits/Concurrency/adaptive(within:)`` finds the number of requests that a server works on at the same time. It lowers
    /// the number after 429, 503 and timeouts, too.
    ///
    /// Place it inside of `retrying`, so that no request holds its place between two attempts, and outside of authentication, so
    /// that credentials are new when the request is sent. A refresh of credentials must not wait for the same limits.
    ///
    /// A `limiter` steers and shows the requests of several stacks. The `spawner` starts the wait for the rate.
    public func limiting(
        _ policy: LimitPolicy = .standard,
        in limiter: RequestLimiter? = nil,
        clock: any DatedClock = SystemClock(),
        spawner: any TaskSpawner = SystemSpawner()
    ) -> some Connection {
        limiting(policy, in: limiter, clock: clock, spawner: spawner, sharing: nil)
    }

    /// Limits requests as above, with rates that several machines may share.
    package func limiting(
        _ policy: LimitPolicy, in limiter: RequestLimiter?, clock: any DatedClock, spawner: any TaskSpawner,
        sharing: RateSharing?
    ) -> some Connection {
        let (isSteered, limiter) = (limiter != nil, limiter ?? RequestLimiter())
        let table = limiter.table(
            for: policy, isSteered: isSteered, clock: clock, spawner: spawner, sharing: sharing)
        return LimitingConnection(base: self, table: table)
    }
}

struct LimitingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let table: LimitTable

    var layer: Layer {
        let policy = table.rule.policy
        var facts = Layer.facts(of: table.rule.watch.clock).union([.limitsRequests, .refuses, .waitsUntilDeadline])
        if policy.allLimits.contains(where: \.isAdaptive) { facts.insert(.readsStatus) }
        if policy.allLimits.contains(where: \.letNothingPass) { facts.insert(.letsNothingPass) }
        let sharing = table.rule.sharing.map { Layer.Setting("sharedBy", "\($0.machines) machines") }
        return Layer(
            name: "limiting", role: .resilience, settings: policy.layerSettings + [sharing].compactMap(\.self),
            facts: facts,
            time: .init(waiting: .atMost(policy.boundedWait)), memory: .init(state: [.init(table.lanes)]))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        let lane = table.lane(of: request)
        let permit: LimitPermit
        if let present = lane.permitAtOnce(for: request.options) {
            permit = present
        } else {
            permit = try await lane.turn(for: request.options)
        }
        do {
            // In place, since each copy of a response costs.
            var response =
                if let steered = permit.steered { try await sendSteered(request, steered) } else {
                    try await base.send(request)
                }
            hold(permit, by: &response)
            return response
        } catch {
            let isTimeout = [.timedOut, .deadlineExceeded].contains((error as? TransportError)?.code)
            permit.giveBack(noting: isTimeout ? .timeout : nil)
            throw error
        }
    }

    // Its closure would copy each request.
    @inline(never) private func sendSteered(
        _ request: consuming Request, _ steered: SteeredRequest
    ) async throws -> Response {
        let request = request
        return try await steered.response { [base] in try await base.send(request) }
    }

    /// Notes the head of a response, and keeps the permit until its body has ended.
    private func hold(_ permit: LimitPermit, by response: inout Response) {
        let now = table.rule.now
        var outcome = AdaptiveLimit.Outcome.answer
        if permit.lane.isAdaptive {
            // The text is compared, since a status takes several times as long to read.
            let status = response.head.pseudoHeaderFields.status.value
            if status == "429" || status == "503" { outcome = .rejection }
        }
        if table.rule.policy.releasesAtHead || response.body.bytes != nil || response.body.isEmpty
            || response.body.file != nil
        {
            return permit.giveBack(noting: outcome, at: now)
        }
        permit.lane.note(outcome, of: permit, isEnd: false, at: now)
        response.body = response.body.read { reader, _ in PermittedBodyReader(reader: reader, permit: permit) }
    }
}

/// Reads a body until its end, its failure or the cancellation of its request, and then gives the permit back.
private struct PermittedBodyReader: BodyReader {
    var reader: any BodyReader
    let permit: LimitPermit

    mutating func next() async throws -> Data? {
        do {
            let chunk = try await reader.next()
            try permit.steered?.checkCancellation()
            if chunk == nil { permit.giveBack() }
            return chunk
        } catch {
            permit.giveBack()
            throw error
        }
    }

    var trailers: HTTPFields? { reader.trailers }
}
