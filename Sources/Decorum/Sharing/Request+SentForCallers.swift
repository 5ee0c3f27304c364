extension Request {
    /// Makes the request that one caller sends for all callers who wait for its response.
    ///
    /// Options that do not travel to shared requests are left out.
    ///
    /// - Parameter callers: The callers; nil for a request that is sent for one caller alone, which stays as it is.
    /// - Returns: The request.
    consuming func sent(for callers: (any WaitingCallers)?) -> Request {
        guard let callers else { return self }
        options.travelToSharedRequest()
        options.waitingCallers = callers
        return self
    }
}
