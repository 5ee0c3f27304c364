import Foundation

/// What the process holds at the moment; zeros where the system has no `/proc`.
enum Footprint {
    /// Whether the long form of the tests was asked for.
    static var isSoak: Bool { ProcessInfo.processInfo.environment["DECORUM_SOAK"] == "1" }

    /// The number of open descriptors.
    static var descriptors: Int { entries(of: "/proc/self/fd") }

    /// The number of threads.
    static var threads: Int { entries(of: "/proc/self/task") }

    private static func entries(of folder: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
    }
}
