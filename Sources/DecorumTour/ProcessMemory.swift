import Foundation

#if canImport(Darwin)
private let unit = 1
#else
private let unit = 1024
#endif

/// How much memory this process has needed.
enum ProcessMemory {
    /// The largest number of bytes in memory so far.
    static var peak: Int {
        var usage = rusage()
        // The system fills in the whole structure, which it is given the address of.
        guard unsafe getrusage(RUSAGE_SELF, &usage) == 0 else { return 0 }
        return usage.ru_maxrss * unit
    }
}
