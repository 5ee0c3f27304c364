import Synchronization

/// The responses that are on their way into a store, so that none takes the place of one that came later.
final class Arrivals: Sendable {
    private struct Entry {
        let number: Int
        let key: ResponseKey
        /// The response without its body.
        let response: StoredResponse
    }

    private let state = Mutex<(last: Int, entries: [Entry])>((0, []))

    /// Notes that a response has come.
    ///
    /// - Returns: The arrival, which is over when nobody holds it.
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

/// One response on its way into a store.
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

    /// Whether a response of the same variant was kept that came later.
    var isOvertaken: Bool { !arrivals.contains(number) }

    /// Notes that the response is kept, so that those of the same variant that came earlier no longer are.
    func overtake() {
        arrivals.removeEarlier(than: number)
    }
}
