/// The requests and connections that the origin has seen.
extension LoopbackOrigin {
    /// The requests whose heads have arrived, in that order.
    public var requests: [ReceivedRequest] {
        ledger.monitor.read(\.requests)
    }

    /// The requests that were refused because they broke the rules of HTTP, in order.
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

    /// Forgets the rejections and all requests so far, including those in progress.
    ///
    /// A closure that answers a forgotten request still gets the whole request.
    public func forgetRequests() {
        ledger.forgetRequests()
    }

    /// Waits until a number of requests have arrived to their ends.
    ///
    /// - Parameter count: The smallest number, over all connections and since the last ``forgetRequests()``.
    /// - Returns: The requests, some of which may still be in progress.
    /// - Throws: `CancellationError` when the task is cancelled, ``OriginStoppedError`` when the origin stops first.
    @discardableResult public func waitForRequests(_ count: Int) async throws -> [ReceivedRequest] {
        try await ledger.wait { $0.completeCount >= count }
        return requests
    }

    /// Waits until the heads of a number of requests have arrived, with or without their bodies.
    ///
    /// - Parameter count: The smallest number, over all connections and since the last ``forgetRequests()``.
    /// - Returns: The requests, some of which may still be in progress.
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

    /// Waits until exactly a number of connections are open; with 0, until the client has closed all.
    ///
    /// - Parameter count: The number.
    /// - Throws: `CancellationError` when the task is cancelled, ``OriginStoppedError`` when the origin stops first.
    public func waitForOpenConnections(_ count: Int) async throws {
        try await ledger.wait { $0.openConnectionCount == count }
    }
}
