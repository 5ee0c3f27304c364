/// A request that a transport has under way, with its response.
///
/// A transport of yours has a class for it, which takes part in what all transports promise: a ``TimeLimitWatch`` ends an
/// exchange at its ``TransferLimits``, and a ``TransferLease`` ends one whose response was dropped. Either may call at any
/// moment, from any thread, and after the exchange has ended: only the first end counts.
///
/// The time limit is that of ``TransferLimits/next(after:at:)``. At a limit, the exchange fails with
/// ``TransferLimits/error(at:_:)``.
public protocol TransportExchange: TimeLimited {
    /// Ends the exchange since its response is not wanted any more, closes its connection if bytes are outstanding, and
    /// drops the bytes that have arrived.
    func cancel()
}

/// Cancels an exchange when the last reference to the lease is gone.
///
/// A ``Body`` owns its transfer: the readers of a response hold the lease and reach the exchange through it, while the
/// network's side holds the exchange alone. Dropping the response or its reader then ends the transfer.
///
/// ```swift
/// let lease = TransferLease(exchange)
/// let body = Body(length: head.contentLength, replay: .once) { _ in ExchangeReader(lease: lease) }
/// ```
public final class TransferLease<Exchange: TransportExchange>: Sendable {
    /// The exchange that the lease keeps going.
    public let exchange: Exchange

    /// Creates a lease.
    ///
    /// - Parameter exchange: The exchange to cancel when the lease is gone.
    public init(_ exchange: Exchange) {
        self.exchange = exchange
    }

    deinit {
        exchange.cancel()
    }
}
