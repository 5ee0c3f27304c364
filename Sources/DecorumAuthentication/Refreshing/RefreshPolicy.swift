import Decorum

/// When ``Tokens`` gets a new token, and how long it waits after a failure.
public struct RefreshPolicy: Sendable, Hashable {
    /// How long before its expiry a token is replaced in the background; by default one minute.
    ///
    /// The time is at most a fifth of the remaining lifetime. Each token uses a random part of it, between a half and
    /// the whole, so that the clients of a server do not all refresh at the same moment.
    public var lead: Duration
    /// How long a token that the server has just given is used, even if it is rejected or has expired; by default ten seconds.
    ///
    /// Without it, each call would ask for a new token while a server rejects the tokens that it gives.
    public var minimumInterval: Duration
    /// How long a refresh may take; by default 30 seconds.
    public var timeLimit: Duration
    /// The wait after the first failure, which doubles with each further one; by default one second.
    ///
    /// During the wait, no caller sends a refresh: each caller who needs a new token gets the error at once. The wait
    /// is a random part of this time, between a half and the whole. A longer `Retry-After` replaces it.
    public var firstBackoff: Duration
    /// The longest wait after a failure; by default five minutes.
    public var maximumBackoff: Duration

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - lead: How long before its expiry a token is replaced in the background.
    ///   - minimumInterval: How long a token that the server has just given is used in any case.
    ///   - timeLimit: How long a refresh may take.
    ///   - firstBackoff: The wait after the first failure.
    ///   - maximumBackoff: The longest wait after a failure, and the longest `Retry-After` that is heeded.
    public init(
        lead: Duration = .seconds(60), minimumInterval: Duration = .seconds(10), timeLimit: Duration = .seconds(30),
        firstBackoff: Duration = .seconds(1), maximumBackoff: Duration = .seconds(300)
    ) {
        self.lead = max(.zero, lead)
        self.minimumInterval = max(.zero, minimumInterval)
        self.timeLimit = max(.zero, timeLimit)
        self.firstBackoff = max(.zero, firstBackoff)
        self.maximumBackoff = max(.zero, maximumBackoff)
    }

    /// The wait after a number of failures in a row.
    func backoff(after failures: Int, asked: Duration?, random: Double) -> Duration {
        let longest = maximumBackoff.bounded
        let doubled = firstBackoff.bounded * (1 << min(max(0, failures - 1), 20))
        let chosen = min(doubled, longest) * (0.5 + random / 2)
        return max(chosen, min(asked ?? .zero, longest))
    }

    /// The time before the expiry at which a token with a remaining lifetime is replaced.
    func lead(ofRemaining remaining: Duration, random: Double) -> Duration {
        max(.zero, min(lead, remaining / 5)) * (0.5 + random / 2)
    }
}
