/// The responses that are being written, so that a response that is removed meanwhile is not stored.
struct OngoingWrites: Sendable {
    private var keys: [Int: ResponseKey] = [:]
    private var next = 0

    /// Records that a response is being written.
    ///
    /// - Returns: A number for ``end(_:)``.
    mutating func begin(_ key: ResponseKey) -> Int {
        next += 1
        keys[next] = key
        return next
    }

    /// Records that a response is written or abandoned, and returns whether it is still wanted.
    mutating func end(_ number: Int) -> Bool {
        keys.removeValue(forKey: number) != nil
    }

    /// Whether a response is still wanted.
    func isWanted(_ number: Int) -> Bool {
        keys[number] != nil
    }

    /// Marks the responses that are being written under certain keys as unwanted.
    mutating func cancel(where isForgotten: (ResponseKey) -> Bool) {
        // In most removals, no response is being written.
        guard !keys.isEmpty else { return }
        keys = keys.filter { !isForgotten($0.value) }
    }
}
