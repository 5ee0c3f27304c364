import Synchronization

/// The responses that are being stored, so that no response replaces one that arrived later.
final class Arrivals: Sendable {
    private struct Entry {
        let number: Int
        let key: ResponseKey
        /// The response without its body.
        let response: StoredResponse
    }

    private let state = Mutex<(last: Int, entries: [Entry])>((0, []))

    /// Records that a response has arrived.
    ///
    /// - Returns: The arrival, which ends when it is dropped.
    func begin(_ response: StoredResponse, for key: ResponseKey) -> Arrival {
        var response = response
        response.body = .empty
        let number = state.withLock { [response] state in
            state.last += 1
            state.entries.append(Entry(number: state.last, key: key, response: response))
            return state.last
        }
        return Arrival(number: number, among: self)
    }

    fileprivate func contains(_ number: Int) -> Bool {
        state.withLock { $0.entries.contains { $0.number == number } }
    }

    fileprivate func removeEarlier(than number: Int) {
        state.withLock { state in
            guard state.entries.count > 1, let later = state.entries.first(where: { $0.number == number }) else {
                return
            }
            state.entries.removeAll { earlier in
                earlier.number < number && earlier.key == later.key
                    && earlier.response.isOfSameVariant(as: later.response)
            }
        }
    }

    fileprivate func end(_ number: Int) {
        state.withLock { $0.entries.removeAll { $0.number == number } }
    }
}

/// One response that is being stored.
final class Arrival: Sendable {
    private let number: Int
    private let arrivals: Arrivals

    fileprivate init(number: Int, among arrivals: Arrivals) {
        self.number = number
        self.arrivals = arrivals
    }

    deinit {
        arrivals.end(number)
    }

    /// Whether a response of the same variant that arrived later was stored.
    var isOvertaken: Bool { !arrivals.contains(number) }

    /// Records that the response is stored, so that responses of the same variant that arrived earlier are not stored
    /// any more.
    func overtake() {
        arrivals.removeEarlier(than: number)
    }
}
