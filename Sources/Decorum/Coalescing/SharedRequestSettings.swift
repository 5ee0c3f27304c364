/// The settings of a layer that shares requests; a class, since each shared request has them.
final class SharedRequestSettings: Sendable {
    /// The name of the layer.
    let layer: String
    let backlogLimit: Int
    let patience: Duration
    let clock: any DatedClock
    /// Ends the waits of callers at their deadlines.
    let watch: TimeLimitWatch
    let spawner: any TaskSpawner
    /// Whether callers can join a response that has arrived, until a caller reads from it.
    let isOpenAfterArrival: Bool

    init(
        _ policy: CoalescingPolicy, of layer: String, clock: any DatedClock, spawner: any TaskSpawner,
        isOpenAfterArrival: Bool
    ) {
        self.layer = layer
        backlogLimit = max(0, policy.backlogLimit)
        patience = max(.zero, policy.patience).bounded
        self.clock = clock
        watch = TimeLimitWatch(clock: clock)
        self.spawner = spawner
        self.isOpenAfterArrival = isOpenAfterArrival
    }
}
