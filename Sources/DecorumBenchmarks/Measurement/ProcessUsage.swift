import Foundation

/// The resources that this process has used so far.
enum ProcessUsage {
    /// The time that all threads have spent on processors, in nanoseconds.
    static var processorTime: Double { nanoseconds(CLOCK_PROCESS_CPUTIME_ID) }

    /// The time of a clock that only moves forwards, in nanoseconds.
    static var time: Double { nanoseconds(CLOCK_MONOTONIC) }

    private static func nanoseconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        // Safe: the system fills in the whole structure at this address.
        guard unsafe clock_gettime(clock, &time) == 0 else { return 0 }
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
