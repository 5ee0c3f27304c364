/// The responses that are being written, so that what is forgotten meanwhile is not kept after all.
struct OngoingWrites: Sendable {
    private var keys: [Int: ResponseKey] = [:]
    private var next = 0

    /// Notes that a response is being written.
    ///
    /// - Returns: A number for ``end(_:)``.
    mutating func begin(_ key: ResponseKey) -> Int {
        next += 1
        keys[next] = key
        return next
    }

    /// Notes that a response is written, or given up, and returns whether it is still wanted.
    mutating func end(_ number: Int) -> Bool {
        keys.removeValue(forKey: number) != nil
    }

    /// Whether a response is still wanted.
    func isWanted(_ number: Int) -> Bool {
        keys[number] != nil
    }

    /// Has the responses dropped that are being written under certain keys.
    mutating func cancel(where isForgotten: (ResponseKey) -> Bool) {
        // Hardly ever is anything being written when something is forgotten.
        guard !keys.isEmpty else { return }
        keys = keys.filter { !isForgotten($0.value) }
    }
}
