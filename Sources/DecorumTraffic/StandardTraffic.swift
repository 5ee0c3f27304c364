public import Decorum

extension StandardStack.Addition {
    /// Other places for requests that the server cannot answer, outside of the retries and of the cache, so that nothing they
    /// answer is stored, and inside of the fields and the redirections, which they share with the server.
    public static func fallingBack(
        to fallbacks: Fallback...,
        when isNeeded: @escaping @Sendable (_ outcome: Fallback.Outcome) -> Bool = Fallback.isNeeded(after:),
        clock: any DatedClock = SystemClock()
    ) -> Self {
        .outside(of: .caching) {
            FallingBackConnection(base: AnyConnection($0), fallbacks: fallbacks, isNeeded: isNeeded, clock: clock)
        }
    }

    /// Faults between the transport and the wire log, where the network is.
    public static func injectingFaults(
        _ faults: Fault..., to isAffected: @escaping @Sendable (_ request: borrowing Request) -> Bool = { _ in true },
        clock: any DatedClock = SystemClock(), generator: any RandomGenerator = SystemGenerator()
    ) -> Self {
        .inside(of: .wireLog) {
            InjectingFaultsConnection(
                base: AnyConnection($0), faults: faults, isAffected: isAffected, clock: clock, generator: generator)
        }
    }

    /// A second request for a slow answer, inside of `pacing`, whose waits are no slow answers, and outside of circuits and
    /// limits, which see both requests.
    public static func hedging(_ policy: HedgingPolicy = .standard, clock: any DatedClock = SystemClock()) -> Self {
        .inside(of: .pacing) { $0.hedging(policy, clock: clock) }
    }

    /// A wait for the network, directly inside of the retries.
    public static func waitingForNetwork(
        _ policy: NetworkWaitPolicy = .standard, on network: any NetworkMonitor = SystemNetwork.shared,
        clock: any DatedClock = SystemClock(), generator: any RandomGenerator = SystemGenerator()
    ) -> Self {
        .inside(of: .retries) { $0.waitingForNetwork(policy, on: network, clock: clock, generator: generator) }
    }

    /// Circuits that open for a server that keeps failing, outside of the time of an attempt, so that they see its end.
    ///
    /// Write it behind ``limiting(_:in:clock:)``, so that a request which is refused takes no place of another.
    public static func breakingCircuits(
        _ policy: CircuitPolicy = .standard, in breakers: CircuitBreakers = CircuitBreakers(),
        clock: any DatedClock = SystemClock(), generator: any RandomGenerator = SystemGenerator()
    ) -> Self {
        .outside(of: .attemptTime) { $0.breakingCircuits(policy, in: breakers, clock: clock, generator: generator) }
    }

    /// Limits of the requests that are on their way or begin in a time, outside of the time of an attempt, which does not count
    /// the wait.
    public static func limiting(
        _ policy: LimitPolicy = .standard, in limiter: RequestLimiter? = nil, clock: any DatedClock = SystemClock()
    ) -> Self {
        .outside(of: .attemptTime) { $0.limiting(policy, in: limiter, clock: clock) }
    }
}

/// The kind of program whose requests `traffic(_:clock:generator:)` steers.
public enum TrafficPreset: Sendable, Hashable {
    /// An app: its requests wait for the network, and six to each origin are on their way at the same time.
    case app
    /// A server: a circuit breaks for each origin that keeps failing, and as many requests are on their way as the origin can
    /// work on.
    case server
}

extension [StandardStack.Addition] {
    /// The layers that steer the requests of a kind of program.
    ///
    /// ```swift
    /// let connection = try StandardStack(.server, for: "https://api.example.com/").composed(
    ///     principal: Principal("service"), adding: .traffic(.server) + [.hedging()])
    /// ```
    public static func traffic(
        _ preset: TrafficPreset, clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) -> Self {
        switch preset {
        case .app: [.waitingForNetwork(clock: clock, generator: generator), .limiting(clock: clock)]
        case .server:
            // After a longer break, a server that is well again would wait for its requests.
            [
                .limiting(.adaptive, clock: clock),
                .breakingCircuits(CircuitPolicy(longestBreak: .seconds(10)), clock: clock, generator: generator),
            ]
        }
    }
}

extension RetryPolicy {
    /// The policy of an app with many installations, each of which sends a request every some minutes: `standard`, but one of four
    /// requests whose connection is refused is not sent again.
    ///
    /// Such a client learns of a server that is stopped by its own request alone, and has one retry for it, which comes too early
    /// in most cases. All clients together would send each request twice. The price: of the requests whose connection is
    /// refused only once, which a retry would mend, a quarter fail at once.
    ///
    /// - Parameter generator: The source of the choice.
    /// - Returns: The policy.
    public static func fleet(generator: any RandomGenerator = SystemGenerator()) -> RetryPolicy {
        let sparing = RetryRule(deciding: "sparing") { attempt in
            let isRefused = (attempt.error as? TransportError)?.code == .connectionRefused
            return isRefused && generator.uniform() < 0.25 ? .giveUp : .noOpinion
        }
        return RetryPolicy(when: sparing || .standard)
    }
}
