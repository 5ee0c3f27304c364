public import Decorum
public import DecorumTraffic

/// The rates of `limiting` that all machines of a fleet keep together.
///
/// A twentieth of the requests of a rate may begin in each twentieth of its period, on whichever machine; a rate of fewer than
/// twenty requests has as many windows as requests. So no period has more than 105 % of them, or one request more, and no more
/// than a window has begin at once after a quiet time. The requests wait in the queue of their machine, which takes tokens for
/// all of them in one call; tokens that it does not use within their window are lost. A period that is shorter than a second
/// counts as a second with as many more requests.
///
/// While the storage fails, or takes longer than its deadline, each machine lets its share of the rate through: the rate
/// divided by the number of machines. A machine that alone does not reach the storage adds its share to what the others
/// send. For each window by which the dates of the machines differ, the requests of another one may begin in a period. The
/// number of requests on their way stays a limit of one machine.
public struct SharedLimits: Sendable {
    fileprivate let sharing: RateSharing

    /// Creates limits on a storage, with a name that is the same on all machines and that no key shows.
    public init(
        on storage: any SharedStorage, named name: String, machines: Int, deadline: Duration = .milliseconds(50),
        clock: any DatedClock = SystemClock()
    ) {
        let storage = GuardedStorage<any SharedStorage>(storage, deadline: deadline, clock: clock)
        sharing = RateSharing(machines: machines) { count, key, window in
            var checksum = Checksum(seed: 0)
            for part in [name, "\(key)", "\(window.length)"] { checksum.add(part) }
            let key = SharedKey("limit", numbers: checksum.value, UInt64(bitPattern: window.number))
            // A machine whose date is behind by ten seconds still finds the count.
            let lifetime = Duration.seconds(min(2 * window.length, 1e9) + 10)
            return try? await storage.call { try await $0.add(Int64(count), to: key, expiringAfter: lifetime) }
        }
    }
}

extension Connection {
    /// Limits requests as `limiting(_:in:clock:spawner:)` does, with rates that all machines of a fleet keep together.
    ///
    /// `longestWait` of the policy counts as 100 ms at least, so that a request can wait for the storage. The limiter is of
    /// this machine alone; the date of the clock is the same on all.
    public func limiting(
        _ policy: LimitPolicy, sharedBy limits: SharedLimits, in limiter: RequestLimiter? = nil,
        clock: any DatedClock = SystemClock(), spawner: any TaskSpawner = SystemSpawner()
    ) -> some Connection {
        var policy = policy
        policy.longestWait = max(policy.longestWait, .milliseconds(100))
        return limiting(policy, in: limiter, clock: clock, spawner: spawner, sharing: limits.sharing)
    }
}
