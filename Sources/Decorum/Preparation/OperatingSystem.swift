public import Foundation

/// The name and version of an operating system.
public struct OperatingSystem: Sendable, Hashable {
    /// The name, as in `iOS` or `Linux`.
    public let name: String
    /// The version, which on Linux is that of the kernel; empty when it is not sent.
    public let version: String

    /// Creates an operating system.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - version: The version.
    public init(name: String, version: String) {
        self.name = name
        self.version = version
    }

    /// Creates an operating system from a version in three numbers.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - version: The version, as Foundation's `ProcessInfo` returns it.
    public init(name: String, version: OperatingSystemVersion) {
        self.init(name: name, version: "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)")
    }

    /// The system that this program runs on.
    public static let current = OperatingSystem(
        name: currentName, version: ProcessInfo.processInfo.operatingSystemVersion)

    #if os(macOS)
    private static let currentName = "macOS"
    #elseif os(iOS)
    private static let currentName = "iOS"
    #elseif os(tvOS)
    private static let currentName = "tvOS"
    #elseif os(watchOS)
    private static let currentName = "watchOS"
    #elseif os(visionOS)
    private static let currentName = "visionOS"
    #elseif os(Android)
    private static let currentName = "Android"
    #elseif os(Windows)
    private static let currentName = "Windows"
    #else
    private static let currentName = "Linux"
    #endif
}

extension OperatingSystem: CustomStringConvertible {
    /// The name and the version, as in `Linux 6.8.0`.
    public var description: String { version.isEmpty ? name : "\(name) \(version)" }
}
