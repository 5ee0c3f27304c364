import Foundation

/// What the process holds at the moment; zeros where the system has no `/proc`.
enum Footprint {
    /// Whether the long form of the tests was asked for.
    static var isSoak: Bool { ProcessInfo.processInfo.environment["DECORUM_SOAK"] == "1" }

    /// The number of open descriptors.
    static var descriptors: Int { entries(of: "/proc/self/fd") }

    /// The number of threads.
    static var threads: Int { entries(of: "/proc/self/task") }

    /// The largest number of bytes of memory so far.
    static var peak: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(separator: " ").compactMap { Int($0) }.first ?? 0) << 10
    }

    private static func entries(of folder: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
    }
}
