#if !os(macOS) && !os(Linux)
package import Foundation

/// Stands for a script where a process cannot start another.
package final class RunningScript: Sendable {
    /// A folder that is never made.
    package let folder: URL

    /// Throws always.
    package init(_ script: String, files: [String: String] = [:]) throws {
        folder = FileManager.default.temporaryDirectory
        throw ConformanceSkip(reason: "An app cannot start other programs on this system.")
    }

    /// Finds nothing.
    package static func program(_ name: String, variable: String) -> String? { nil }

    /// Returns nothing.
    package func waitForOutput(of words: String) async throws -> String { "" }

    /// Returns nothing.
    package func waitForEnd() async throws -> String { "" }

    /// Does nothing.
    package func waitForFile(_ name: String) async throws {}
}
#endif
