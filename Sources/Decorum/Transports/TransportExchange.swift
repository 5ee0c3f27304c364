/// A request that a transport has under way, and its response.
protocol TransportExchange: AnyObject, Sendable {
    /// When the exchange fails unless something is sent or received; nil once it has ended.
    ///
    /// While it is not the server who is waited for, that is a whole idle timeout from now.
    var deadline: ContinuousClock.Instant? { get }

    /// Fails the exchange when nothing was sent or received for too long.
    func timeOut()

    /// Ends the exchange because nobody wants it any more; what has arrived is dropped.
    func cancel()
}
