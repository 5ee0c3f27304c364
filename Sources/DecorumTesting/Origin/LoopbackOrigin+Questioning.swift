/// Questioning.
extension LoopbackOrigin {
    /// The requests whose heads have arrived, in that order.
    public var requests: [ReceivedRequest] {
        ledger.monitor.read(\.requests)
    }

    /// What was refused since it was not HTTP, in order.
    public var rejections: [RequestSyntaxError] {
        ledger.monitor.read(\.rejections)
    }

    /// The number of connections accepted so far.
    public var connectionCount: Int {
        ledger.monitor.read(\.connectionCount)
    }

    /// The number of connections that are open.
    public var openConnectionCount: Int {
        ledger.monitor.read(\.openConnectionCount)
    }

    /// Forgets the requests so far, those under way included, and the rejections.
    ///
    /// The closure that answers a request which was forgotten gets all of it all the same.
    public func forgetRequests() {
        ledger.forgetRequests()
    }

    /// Waits until a number of requests have arrived to their ends.
    ///
    /// - Parameter count: The smallest number, over all connections and since the last ``forgetRequests()``.
    /// - Returns: The requests, among which there may be some that are under way.
    /// - Throws: `CancellationError` when the task is cancelled, ``OriginStoppedError`` when the origin stops first.
    @discardableResult public func waitForRequests(_ count: Int) async throws -> [ReceivedRequest] {
        try await ledger.wait { $0.completeCount >= count }
        return requests
    }

    /// Waits until the heads of a number of requests have arrived, with or without their bodies.
    ///
    /// - Parameter count: The smallest number, over all connections and since the last ``forgetRequests()``.
    /// - Returns: The requests, of which some may be under way.
    /// - Throws: `CancellationError` when the task is cancelled, ``OriginStoppedError`` when the origin stops first.
    @discardableResult public func waitForHeads(_ count: Int) async throws -> [ReceivedRequest] {
        try await ledger.wait { $0.requests.count >= count }
        return requests
    }

    /// Waits until a number of connections have been accepted.
    ///
    /// - Parameter count: The smallest number, of open and closed ones.
    /// - Throws: `CancellationError` when the task is cancelled, ``OriginStoppedError`` when the origin stops first.
    public func waitForConnections(_ count: Int) async throws {
        try await ledger.wait { $0.connectionCount >= count }
    }

    /// Waits until exactly a number of connections are open; with 0, until the client has let go of all.
    ///
    /// - Parameter count: The number.
    /// - Throws: `CancellationError` when the task is cancelled, ``OriginStoppedError`` when the origin stops first.
    public func waitForOpenConnections(_ count: Int) async throws {
        try await ledger.wait { $0.openConnectionCount == count }
    }
}
