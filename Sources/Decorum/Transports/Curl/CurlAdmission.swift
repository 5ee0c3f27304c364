#if os(Linux)
/// A server to which connections are counted.
struct CurlHost: Hashable, Sendable {
    let isSecure: Bool
    let authority: String
}

/// The exchanges that wait for a connection to their host, in the order in which they were sent.
///
/// libcurl looks at all of its transfers in each turn, also at those for which it has no connection. So an exchange that
/// needs a connection for itself is given to libcurl only once there is one for it.
struct CurlAdmission<Exchange> {
    private struct Line {
        var active = 0
        /// Those that were taken are nil, up to the first one that waits.
        var waiting: [Exchange?] = []
        var first = 0
        /// The number of those that have ended while they waited, at most.
        var ended = 0

        mutating func takeFirst() -> Exchange? {
            guard first < waiting.count else { return nil }
            defer { first += 1 }
            return waiting[first].take()
        }

        /// Removes those that were taken, or have ended, once they are the half.
        mutating func clean(where isRunning: (Exchange) -> Bool) {
            guard first + ended > 16, (first + ended) * 2 > waiting.count else { return }
            waiting = waiting[first...].filter { $0.map(isRunning) ?? false }
            (first, ended) = (0, 0)
        }
    }

    private let limit: Int
    private let isRunning: (Exchange) -> Bool
    private var lines: [CurlHost: Line] = [:]

    /// Creates an empty admission.
    ///
    /// - Parameters:
    ///   - limit: The largest number of connections to a host.
    ///   - isRunning: Whether an exchange has not ended.
    init(limit: Int, isRunning: @escaping (Exchange) -> Bool) {
        self.limit = limit
        self.isRunning = isRunning
    }

    /// The number of exchanges that wait, with those that have ended and were not removed yet.
    var waitingCount: Int { lines.values.reduce(0) { $0 + $1.waiting.count - $1.first } }

    /// Whether an exchange may start now; otherwise it waits until one that has started leaves.
    ///
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - host: The server that it is for.
    ///   - isSharing: Whether several exchanges with the host may have one connection, so that each may start.
    /// - Returns: Whether it may start.
    mutating func admits(_ exchange: Exchange, to host: CurlHost, isSharing: Bool) -> Bool {
        var line = lines[host].take() ?? Line()
        defer { lines[host] = line }
        guard isSharing || line.active < limit else {
            line.waiting.append(exchange)
            return false
        }
        line.active += 1
        return true
    }

    /// Notes the end of an exchange that has started, and returns those that may start now.
    mutating func leave(_ host: CurlHost, isSharing: Bool) -> [Exchange] {
        lines[host]?.active -= 1
        return admit(to: host, upTo: isSharing ? .max : limit)
    }

    /// Returns all that wait for a host, which may start now since its connections turned out to be shared.
    mutating func admitAll(to host: CurlHost) -> [Exchange] {
        admit(to: host, upTo: .max)
    }

    private mutating func admit(to host: CurlHost, upTo limit: Int) -> [Exchange] {
        guard var line = lines[host].take() else { return [] }
        var admitted: [Exchange] = []
        while line.active < limit, let next = line.takeFirst() {
            guard isRunning(next) else { continue }
            line.active += 1
            admitted.append(next)
        }
        line.clean(where: isRunning)
        lines[host] = line.active > 0 ? line : nil
        return admitted
    }

    /// Notes the end of an exchange that has not started.
    mutating func noteEnd(for host: CurlHost) {
        guard var line = lines[host].take() else { return }
        line.ended += 1
        line.clean(where: isRunning)
        lines[host] = line
    }
}
#endif
