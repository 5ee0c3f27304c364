import Synchronization

/// Requests in flight, by key: who asks for what is in flight already shares it.
///
/// A caller is cancelled by itself; the request is cancelled with the last caller.
final class Flights<Key: Hashable & Sendable>: Sendable {
    private let table = Mutex<[Key: Flight]>([:])
    private let settings: FlightSettings

    init(
        policy: CoalescingPolicy = .standard, clock: any DatedClock = SystemClock(),
        spawner: any TaskSpawner = SystemSpawner(), isOpenAfterLanding: Bool = true
    ) {
        settings = FlightSettings(
            backlogLimit: max(0, policy.backlogLimit), patience: max(.zero, policy.patience), clock: clock,
            spawner: spawner, isOpenAfterLanding: isOpenAfterLanding)
    }

    /// The number of flights that can be joined.
    var count: Int { table.withLock { $0.count } }

    /// Shares the response of the flight under a key, or starts one.
    ///
    /// - Parameters:
    ///   - key: What callers have in common who may share.
    ///   - request: The caller's request.
    ///   - sent: Collects what `send` sends.
    ///   - send: Sends the request, in a task of its own, for the caller who starts the flight.
    /// - Returns: The caller's own response, which says whether it is shared; nil where the flight has ended with a
    ///   response or an error that is for the caller alone who started it.
    /// - Throws: The error of `send`, or `CancellationError` for a caller who is cancelled.
    func response(
        for key: Key, to request: Request, collecting sent: SentRequests,
        _ send: @escaping @Sendable () async throws -> Response
    ) async throws -> Response? {
        try Task.checkCancellation()
        let (flight, boarding) = board(key, sent)
        switch boarding {
        case .arrived(let response):
            flight.sent.reportSending(of: request)
            return response
        case .waiting(Flight.firstPassenger):
            flight.start(send)
            return try await flight.response(for: Flight.firstPassenger)
        case .waiting(let passenger):
            let response = try await flight.response(for: passenger)
            if response != nil { flight.sent.reportSending(of: request) }
            return response
        }
    }

    private func board(_ key: Key, _ sent: SentRequests) -> (Flight, Flight.Boarding) {
        // Keys cost more to look up than all the rest, so that each way takes one look.
        table.withLock { board(key, sent, &$0[key]) }
    }

    private func board(_ key: Key, _ sent: SentRequests, _ entry: inout Flight?) -> (Flight, Flight.Boarding) {
        if let flight = entry, let boarding = flight.board() { return (flight, boarding) }
        let flight = Flight(settings, sent) { [weak self] flight in self?.remove(flight, for: key) }
        entry = flight
        return (flight, .waiting(Flight.firstPassenger))
    }

    /// Lets nobody join the flights under some keys any more; who shares one already goes on.
    func close(where isClosed: (Key) -> Bool) {
        let closed = table.withLock { table in
            let keys = table.keys.filter(isClosed)
            return keys.compactMap { table.removeValue(forKey: $0) }
        }
        for flight in closed { flight.close() }
    }

    private func remove(_ flight: Flight, for key: Key) {
        let removed = table.withLock { table in
            // A closed flight may have been replaced by the next one.
            table.index(forKey: key).flatMap { table[$0].value === flight ? table.remove(at: $0).value : nil }
        }
        withExtendedLifetime(removed) {}
    }
}

struct FlightSettings: Sendable {
    let backlogLimit: Int
    let patience: Duration
    let clock: any DatedClock
    let spawner: any TaskSpawner
    /// Whether a response that has arrived can be joined until somebody reads from it.
    let isOpenAfterLanding: Bool
}
