import Foundation

/// How much memory this process has needed.
enum ProcessMemory {
    /// The largest number of bytes in memory so far.
    static var peak: Int {
        var usage = rusage()
        // The system fills in the whole structure, which it is given the address of.
        guard unsafe getrusage(thisProcess, &usage) == 0 else { return 0 }
        return usage.ru_maxrss * unit
    }
}

#if canImport(Darwin)
private let thisProcess = RUSAGE_SELF
private let unit = 1
#elseif canImport(Glibc)
private let thisProcess = __rusage_who_t(RUSAGE_SELF.rawValue)
private let unit = 1024
#else
private let thisProcess = RUSAGE_SELF
private let unit = 1024
#endif
