/// Holds on to a transfer and ends it when it is let go.
final class TransferLease<Exchange: TransportExchange>: Sendable {
    let exchange: Exchange

    init(_ exchange: Exchange) {
        self.exchange = exchange
    }

    deinit {
        exchange.cancel()
    }
}
