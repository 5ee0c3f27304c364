import Foundation

/// What this process has used so far.
enum ProcessUsage {
    /// The time that all threads have spent on processors, in nanoseconds.
    static var processorTime: Double { nanoseconds(CLOCK_PROCESS_CPUTIME_ID) }

    /// The time of a clock that only moves forwards, in nanoseconds.
    static var time: Double { nanoseconds(CLOCK_MONOTONIC) }

    /// The largest number of bytes in memory so far.
    static var peakMemory: Int {
        var usage = rusage()
        // The system fills in the whole structure, which it is given the address of.
        guard unsafe getrusage(thisProcess, &usage) == 0 else { return 0 }
        return usage.ru_maxrss * unit
    }

    private static func nanoseconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        // As above.
        guard unsafe clock_gettime(clock, &time) == 0 else { return 0 }
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
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
