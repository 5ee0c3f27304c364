#if CassetteImport
import DecorumTesting
import Foundation

/// SHA-256 of many bodies at once, which a tool of the system computes.
enum Digests {
    static let tool = RunningScript.program("sha256sum", variable: "DECORUM_SHA256SUM")

    static func digests(of bodies: [Data]) async throws -> [String] {
        let files = bodies.enumerated().map { (index, body) in ("body-\(index)", body) }
        let output = try await RunningScript.output(
            of: "sha256sum $(ls body-* | sort -t - -k 2 -n)", files: Dictionary(uniqueKeysWithValues: files))
        return String(decoding: output, as: UTF8.self).split(separator: "\n").map { String($0.prefix(64)) }
    }
}
#endif
