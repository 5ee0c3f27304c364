/// A connection whose transfers can be ended, and which can be closed in good order, as every transport can.
public protocol ClosableConnection: Connection {
    /// Ends the transfers under way at once, and stays open for new requests.
    ///
    /// Each call that waits for a response, and each reader of a body that has not arrived as a whole, gets a
    /// `CancellationError`, although its task was not cancelled; no layer sends such a request again. A call that waits in a
    /// layer, as for its next attempt, has no transfer and goes on: `ending(with:)` ends those of a user who has signed out.
    ///
    /// After ``close()`` was called it ends the wait for the transfers.
    func cancelAll()

    /// Refuses new requests, waits until the transfers under way have ended, and closes the connections.
    ///
    /// A request that is sent from now on fails with ``TransportError/Code/closed``, at the stage
    /// ``TransportError/Stage/connecting``. The call returns when each response has been read to its end, was dropped or
    /// has failed. Where the task that calls is cancelled, it returns at once. Closing a second time does no harm.
    ///
    /// You need not close a transport: its connections close when the transport and its responses are released.
    func close() async
}
