import DecorumProbe

/// Counts the allocations of an operation; on Linux alone, where a program may replace the system's `malloc`.
enum AllocationCounting {
    private static let count = 1000

    /// Returns the number of allocations of one operation; nil where they cannot be counted.
    static func allocations(of row: Row) async throws -> Double? {
        guard decorum_counts_allocations() else { return nil }
        try await row.perform(100)
        decorum_set_counting(true)
        defer { decorum_set_counting(false) }
        let before = decorum_allocation_count()
        try await row.perform(count)
        let allocations = Double(decorum_allocation_count() - before) / Double(count)
        // What the runtime allocates once, or when an array of the store grows, belongs to no operation.
        return (allocations * 100).rounded() / 100
    }
}
