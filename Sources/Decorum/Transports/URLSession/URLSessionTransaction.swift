import Foundation

/// What URLSession on Apple's systems tells of one transaction of a task at its end; a date is nil where nothing happened.
struct URLSessionTransaction {
    var fetchStart: Date?
    var lookupStart: Date?
    var lookupEnd: Date?
    var connectStart: Date?
    /// The end of the TLS handshake, where there is one.
    var connectEnd: Date?
    var handshakeStart: Date?
    var handshakeEnd: Date?
    var requestStart: Date?
    var responseStart: Date?
    var responseEnd: Date?
    var isReused = false
    /// The name of the protocol as ALPN has it (RFC 7301), as in `h2`.
    var protocolName: String?
    var remoteAddress: String?
    var network = NetworkState.reachable

    /// The parts of the exchange; nil without the date from which they are counted.
    var timings: TransferTimings? {
        guard let fetchStart else { return nil }
        // The dates are those of the wall clock, which may be set back.
        func time(_ date: Date?) -> Duration? {
            date.map { .seconds(max(0, $0.timeIntervalSince(fetchStart))) }
        }
        var timings = TransferTimings(total: time(responseEnd))
        timings.queued = time(isReused ? requestStart : lookupStart ?? connectStart ?? requestStart)
        if !isReused {
            timings.nameLookup = time(lookupEnd)
            // With QUIC, the handshake begins with the connection.
            let hasOwnHandshake = handshakeStart.map { $0 > connectStart ?? fetchStart } ?? false
            timings.connect = time(hasOwnHandshake ? handshakeStart : connectEnd)
            timings.handshake = time(handshakeEnd)
        }
        timings.firstByte = time(responseStart)
        timings.isConnectionReused = isReused
        timings.protocolVersion = protocolName.flatMap { Self.versions[$0] }
        timings.remoteAddress = remoteAddress
        timings.network = network
        return timings
    }

    private static let versions = [
        "http/1.0": "HTTP/1.0", "http/1.1": "HTTP/1.1", "h2": "HTTP/2", "h2c": "HTTP/2", "h3": "HTTP/3",
    ]
}

#if !canImport(FoundationNetworking)
extension URLSessionTransaction {
    init(_ metrics: URLSessionTaskTransactionMetrics) {
        (fetchStart, requestStart) = (metrics.fetchStartDate, metrics.requestStartDate)
        (lookupStart, lookupEnd) = (metrics.domainLookupStartDate, metrics.domainLookupEndDate)
        (connectStart, connectEnd) = (metrics.connectStartDate, metrics.connectEndDate)
        (handshakeStart, handshakeEnd) = (metrics.secureConnectionStartDate, metrics.secureConnectionEndDate)
        (responseStart, responseEnd) = (metrics.responseStartDate, metrics.responseEndDate)
        isReused = metrics.isReusedConnection
        (protocolName, remoteAddress) = (metrics.networkProtocolName, metrics.remoteAddress)
        network = NetworkState(
            kind: metrics.isCellular ? .cellular : nil, isExpensive: metrics.isExpensive,
            isConstrained: metrics.isConstrained)
    }
}

extension URLSessionEvents {
    /// Receives the times of the last transaction of a task, which is the one that has the response.
    ///
    /// URLSession calls before it tells the end of the task. If it does so later, as it may under load, they are lost.
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        guard let last = metrics.transactionMetrics.last else { return }
        exchange(of: task)?.receive(URLSessionTransaction(last))
    }
}
#endif
