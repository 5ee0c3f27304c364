package import Foundation

extension FileResponseStore {
    /// A response in the directory, as a command shows it: without its body, and without responses that are only in memory.
    package struct Entry: Sendable {
        /// The key under which it is stored.
        package let key: ResponseKey
        /// The head with its dates; the body is empty.
        package let response: StoredResponse
        /// The number of bytes of the body.
        package let bodyLength: Int64
        /// The number of bytes that the file takes on the disk.
        package let allocatedLength: Int
        /// When the file was last written or used, to within a minute.
        package let usedAt: Date

        /// The age at a time, and the time until the response is stale, in seconds; negative for a stale response.
        package func freshness(at now: Date) -> (age: Double, timeToLive: Double) {
            let age = response.age(at: now)
            return (age, response.freshness.lifetime(guessing: .standard) - age)
        }
    }

    /// Whether a folder is the directory of a store, which opening one would make of any folder.
    package static func isDirectory(_ folder: URL) -> Bool {
        ["removed", "unfinished/"].allSatisfy { FileManager.default.fileExists(atPath: "\(folder.path)/\($0)") }
    }

    /// Finds all responses in the directory, in no order; reading them does not count as a use.
    package func entries() async -> [Entry] { await files.allEntries() }
}

extension ResponseFiles {
    func allEntries() async -> [FileResponseStore.Entry] {
        await reading.perform { [self] in
            (0..<ResponseDirectory.folderCount).flatMap { folder in
                ((try? directory.list(folder)) ?? []).compactMap { try? entry(of: $0) }
            }
        }
    }

    /// The response of a file; nil if it is damaged, or counts as removed.
    private func entry(of name: ResponseFileName) throws -> FileResponseStore.Entry? {
        let fileSystem = directory.fileSystem
        let descriptor = try fileSystem.open(directory.path(of: name), mayWait: true)
        defer { fileSystem.close(descriptor) }
        let status = try fileSystem.status(of: descriptor)
        guard status.kind == .regular, status.owner == fileSystem.user,
            let reading = try ResponseFile.read(descriptor, status.length, fileSystem, mayWait: true),
            reading.file.sent > (try changes.lastRemoval(of: name.digest, mayWait: true)),
            let key = ResponseFile.key(in: reading.head), let response = ResponseFile.response(reading.head, key: key)
        else { return nil }
        return FileResponseStore.Entry(
            key: key, response: response, bodyLength: reading.file.bodyLength, allocatedLength: status.allocatedLength,
            usedAt: Date(timeIntervalSince1970: Double(status.time) / 1e9))
    }
}
