/// A connection that can be closed in good order, as every transport can.
public protocol ClosableConnection: Connection {
    /// Refuses new requests, waits until the transfers under way have ended, and closes the connections.
    ///
    /// A request that is sent from now on fails with ``TransportError/Code/closed``, at the stage
    /// ``TransportError/Stage/connecting``. The call returns when each response has been read to its end, was dropped or
    /// has failed. Where the task that calls is cancelled, it returns at once. Closing a second time does no harm.
    ///
    /// You need not close a transport: its connections close when the transport and its responses are released.
    func close() async
}
