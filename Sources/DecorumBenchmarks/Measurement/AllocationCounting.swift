import DecorumProbe

/// Counts the allocations of an operation; only on Linux, where a program may replace the system's `malloc`.
enum AllocationCounting {
    private static let count = 1000

    /// Returns the number of allocations of one operation; nil when they cannot be counted.
    static func allocations(of row: Row) async throws -> Double? {
        guard decorum_counts_allocations() else { return nil }
        try await row.perform(100)
        decorum_set_counting(true)
        defer { decorum_set_counting(false) }
        let before = decorum_allocation_count()
        try await row.perform(count)
        let allocations = Double(decorum_allocation_count() - before) / Double(count)
        // Allocations that the runtime makes once, or when an array of the store grows, do not count for an operation.
        return (allocations * 100).rounded() / 100
    }
}
