import Foundation

/// The number of descriptors and threads that the process has; zeros where the system has no `/proc`.
public enum Footprint: Sendable {
    /// Whether `DECORUM_SOAK=1` in the environment asks for the long form of the tests.
    public static var isSoak: Bool { ProcessInfo.processInfo.environment["DECORUM_SOAK"] == "1" }

    /// The number of open descriptors.
    public static var descriptors: Int { entries(of: "/proc/self/fd") }

    /// The number of threads.
    public static var threads: Int { entries(of: "/proc/self/task") }

    private static func entries(of folder: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
    }
}
