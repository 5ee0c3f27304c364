import Decorum
import Foundation
import HTTPTypes

/// Decides what an outbox or a queue does next, and what an outcome means.
enum EntryDecision {
    /// The waits after failures: a second at first, then growing to a quarter of an hour.
    static let waits = RetryPolicy(
        retries: .max, baseDelay: .seconds(1), factor: 2, maximumDelay: .seconds(900), certainPart: 0.5)

    struct Plan: Equatable {
        /// What is sent, or is too old for that.
        var begins: [OutboxEntry.ID] = []
        var stops: [OutboxEntry.ID] = []
        /// What each other entry waits for.
        var waits: [OutboxEntry.ID: String] = [:]
        /// The instant at which to decide anew; nil if nothing waits for a time.
        var wake: ContinuousClock.Instant?
    }

    /// The first entry of a lane is sent, or holds the others back until it has ended, or is older than a limit.
    static func plan(
        _ items: some Sequence<EntryItem>, olderThan limit: Duration, places: Int, network: NetworkState,
        at now: ContinuousClock.Instant
    ) -> Plan {
        var plan = Plan()
        var lanes = Set<String>()
        var free = places
        // The highest priority first, and the oldest of it.
        let items = items.filter { $0.record.result == nil && $0.record.job?.isPaused != true }.sorted { one, other in
            let (priority, another) = (one.record.job?.priority ?? .medium, other.record.job?.priority ?? .medium)
            return priority == another ? one.record.id.rawValue < other.record.id.rawValue : priority > another
        }
        for item in items.filter(\.isRunning) + items.filter({ !$0.isRunning }) {
            let (id, lane, need) = (item.record.id, item.record.lane, item.record.job?.network)
            let lack = network.lack(for: need ?? .any)
            // A monitor may be wrong, so a write is tried all the same once in the longest wait.
            let due = max(item.due ?? now, lack == nil ? now : item.last + waits.maximumDelay)
            if item.isRunning, need == nil || lack == nil {
                free -= 1
                lanes.insert(lane)
            } else if need == nil, item.since.duration(to: now) > limit, !lanes.contains(lane) {
                plan.begins.append(id)
            } else if need == nil, !lanes.insert(lane).inserted {
                plan.waits[id] = "its turn"
            } else if let lack, need != nil || due > now {
                plan.waits[id] = lack
                if item.isRunning { plan.stops.append(id) }
                if need == nil { plan.wake = min(plan.wake ?? due, due) }
            } else if due > now {
                plan.waits[id] = "another attempt"
                plan.wake = min(plan.wake ?? due, due)
            } else if free > 0 {
                free -= 1
                plan.begins.append(id)
            } else {
                plan.waits[id] = "its turn"
            }
        }
        return plan
    }

    enum Verdict: Equatable {
        case finished
        /// The server has refused it, or it cannot be sent; it does not hold its lane back, since the app has the answer.
        case failed
        /// It is sent again: after the wait that the server asks for, or else after one that grows.
        case again(asked: Duration?)
    }

    static func verdict(on head: HTTPResponse, attempts: Int, at date: Date) -> Verdict {
        // A refusal of the connection, and not of the request, passes: missing credentials (401, 407), a network that asks for
        // a sign-in (511), a redirection that nobody has followed, as by a portal, and a first sending still under way (409).
        let asked = AskedWait.duration(in: head.headerFields, at: date)
        switch head.status.code {
        case 200...299: return .finished
        case 300...399, 401, 407, 408, 425, 429, 500, 502, 503, 504, 507, 511, 520...529: return .again(asked: asked)
        case 409 where asked != nil || attempts <= 3: return .again(asked: asked)
        case 403 where asked != nil: return .again(asked: asked)
        default: return .failed
        }
    }

    static func verdict(
        on error: any Error, ofTransfer isTransfer: Bool, attempts: Int, at now: ContinuousClock.Instant, _ date: Date
    ) -> Verdict {
        // All errors of a write pass, as what was accepted is not lost, but for a request that no one can send.
        if let error = error as? StatusError {
            // A signed URL that has run out is asked anew.
            if isTransfer, error.status == .forbidden, attempts <= 3 { return .again(asked: nil) }
            return verdict(on: error.response.head, attempts: attempts, at: date)
        }
        if error is InvalidRequestError { return .failed }
        let passing = error as? any TemporaryError
        let isInUse = (error as? DownloadError)?.reason == .inUse
        // A portal answers in the place of the server.
        let isForeign = (error as? TransportError)?.code == .tls
        guard !isTransfer || isInUse || isForeign || passing?.mayPass == true else { return .failed }
        return .again(asked: passing?.askedWait(at: now))
    }

    static func wait(afterAttempts attempts: Int, asked: Duration?, _ generator: any RandomGenerator) -> Duration {
        // A proxy may ask for a year; an entry waits an hour at most.
        if let asked { return AskedWait.spread(min(asked, .seconds(3600))).random(using: generator) }
        return waits.backoff(afterRetries: max(0, attempts - 1)).random(using: generator)
    }
}

extension NetworkState {
    /// What a network lacks, in words; nil if a transfer may use it.
    fileprivate func lack(for need: TransferNetwork) -> String? {
        if !isReachable { return "the network" }
        if isCaptive == true { return "a sign-in to the network" }
        return need == .inexpensive && isExpensive ? "a network that is not expensive" : nil
    }
}
