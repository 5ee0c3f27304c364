import Foundation

/// SHA-256 of many bodies at once, which a tool of the system computes.
enum Digests {
    static let tool: URL? = ["/usr/bin/sha256sum", "/bin/sha256sum", "/opt/homebrew/bin/sha256sum", "/sbin/sha256sum"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }.map { URL(filePath: $0) }

    static func digests(of bodies: [Data]) throws -> [String] {
        guard let tool else { return [] }
        let folder = FileManager.default.temporaryDirectory.appending(path: "digests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (index, body) in bodies.enumerated() { try body.write(to: folder.appending(path: "\(index)")) }

        let process = Process()
        let pipe = Pipe()
        process.executableURL = tool
        process.currentDirectoryURL = folder
        process.arguments = bodies.indices.map { "\($0)" }
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self).split(separator: "\n").map { String($0.prefix(64)) }
    }
}
