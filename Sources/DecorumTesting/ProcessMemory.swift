import Foundation

/// The memory that this process has needed.
package enum ProcessMemory {}

#if canImport(Darwin)
extension ProcessMemory {
    /// The largest number of bytes in memory so far.
    package static var peak: Int {
        var usage = rusage()
        // The system fills in the whole structure, which it is given the address of.
        guard unsafe getrusage(RUSAGE_SELF, &usage) == 0 else { return 0 }
        return usage.ru_maxrss
    }
}
#else
extension ProcessMemory {
    /// The largest number of bytes in memory so far.
    ///
    /// Not from `getrusage`, which on Linux still counts the program that started this one with `exec`.
    package static var peak: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(separator: " ").compactMap { Int($0) }.first.map { $0 * 1024 } ?? 0
    }
}
#endif
