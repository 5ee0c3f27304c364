public import Foundation
import Synchronization

/// A small file that only its user can read, and that is replaced as a whole.
///
/// ```swift
/// let file = PrivateFile(support.appending(path: "cookies.json"))
/// let jar = CookieJar(file: file)
/// ```
///
/// New content is written to a file beside it, which then takes its place, so that a process may end at any moment and no
/// reader sees a part. The file has the mode 0600. One that others can read or write, one of another user, and anything
/// but a plain file, such as a symbolic link, is not read. A missing directory is created for this user alone. New content
/// that an ended process has left beside the file is removed when the file is read or written.
///
/// Of two processes that write, the later one wins.
public final class PrivateFile: Sendable {
    /// The place of the file.
    public let url: URL

    private struct State: ~Copyable {
        /// Makes the content that is to be written next.
        var next: (@Sendable () -> Data)?
        var writing: Task<Void, Never>?
        var error: PrivateFileError?
    }

    private let state = Mutex(State())
    private let spawner: any TaskSpawner

    /// Creates a value; nothing is read or created yet.
    ///
    /// - Parameters:
    ///   - url: The place of the file.
    ///   - spawner: Starts the writing in the background.
    public init(_ url: URL, spawner: any TaskSpawner = SystemSpawner(priority: .utility)) {
        self.url = url
        self.spawner = spawner
    }

    /// The error of the last writing in the background; nil if it succeeded.
    public var error: PrivateFileError? { state.withLock { $0.error } }

    /// Reads at most a number of bytes, and waits for the disk; nil without a file.
    ///
    /// - Throws: ``PrivateFileError`` for a file that is too large, that others can read or write, or that cannot be read.
    package func contents(upTo limit: Int) throws(PrivateFileError) -> Data? {
        removeAbandoned()
        // Not blocking, since a pipe in the place of the file would wait for a writer.
        let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw PrivateFileError(errno == ELOOP ? .notPrivate : .system(errno))
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw PrivateFileError(.system(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw PrivateFileError(.notPrivate)
        }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(descriptor, &chunk, chunk.count)
            if count == 0 { return Data(bytes) }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw PrivateFileError(.system(errno))
            }
            bytes += chunk[..<count]
            guard bytes.count <= limit else { throw PrivateFileError(.tooLarge) }
        }
    }

    /// Replaces the content, and waits for the disk.
    ///
    /// - Throws: ``PrivateFileError`` if it cannot be written; the earlier content then stays.
    package func replace(with data: Data) throws(PrivateFileError) {
        do {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw PrivateFileError(.system(ENOENT))
        }
        removeAbandoned()
        let temporary = path(beside: "\(temporaryPrefix)\(UInt64.random(in: 0 ... .max))")
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw PrivateFileError(.system(errno)) }
        // Closed once the file is in its place, because until then the lock tells that its process lives.
        defer { close(descriptor) }
        flock(descriptor, LOCK_EX | LOCK_NB)
        do throws(PrivateFileError) {
            try Self.write(data, to: descriptor)
            guard unsafe rename(temporary, path) == 0 else { throw PrivateFileError(.system(errno)) }
        } catch {
            unsafe unlink(temporary)
            throw error
        }
    }

    /// Replaces the content soon, in the background; several changes in a short time are written, and made, once.
    package func update(_ content: @escaping @Sendable () -> Data) {
        state.withLock { state in
            state.next = content
            if state.writing == nil { state.writing = spawner.spawn { [self] in self.writeAll() } }
        }
    }

    /// Waits until the changes so far are written, or could not be.
    package func waitUntilWritten() async {
        await state.withLock { $0.writing }?.value
    }

    private func writeAll() {
        while true {
            let content = state.withLock { state in
                defer { state.next = nil }
                if state.next == nil { state.writing = nil }
                return state.next
            }
            guard let content else { return }
            var failure: PrivateFileError?
            do {
                try replace(with: content())
            } catch {
                failure = error
            }
            state.withLock { $0.error = failure }
        }
    }

    private var path: String { url.path(percentEncoded: false) }
    private var directory: URL { url.deletingLastPathComponent() }
    private var temporaryPrefix: String { ".\(url.lastPathComponent)." }

    private func path(beside name: String) -> String {
        directory.appending(path: name).path(percentEncoded: false)
    }

    /// Removes the new content that ended processes have not moved into its place.
    private func removeAbandoned() {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path(percentEncoded: false))) ?? []
        for name in names where name.hasPrefix(temporaryPrefix) {
            let temporary = path(beside: name)
            guard UInt64(name.dropFirst(temporaryPrefix.count)) != nil else { continue }
            let descriptor = unsafe open(temporary, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var status = stat()
            // An empty file may be one that its process has not locked yet.
            guard unsafe fstat(descriptor, &status) == 0, status.st_size > 0 else { continue }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unsafe unlink(temporary) }
        }
    }

    private static func write(_ data: Data, to descriptor: Int32) throws(PrivateFileError) {
        // Without `fsync`, a loss of power may leave an empty file in the place of the earlier one.
        guard unsafe data.withUnsafeBytes({ unsafe $0.write(to: descriptor) }), fsync(descriptor) == 0 else {
            throw PrivateFileError(.system(errno))
        }
    }
}

/// A private file was not read or written.
public struct PrivateFileError: DescribableError, Hashable {
    /// The reason.
    public enum Reason: Sendable, Hashable {
        /// Others can read or write the file, it is another user's, or it is no plain file.
        case notPrivate
        /// The file has more bytes than its reader takes.
        case tooLarge
        /// The system has failed, with the number of its error.
        case system(Int32)
    }

    /// The reason.
    public let reason: Reason

    package init(_ reason: Reason) {
        self.reason = reason
    }

    /// The name of the reason.
    public var shortDescription: String {
        switch reason {
        case .notPrivate: "notPrivate"
        case .tooLarge: "tooLarge"
        case .system: "system"
        }
    }

    /// The reason and the way to mend it, without the path, which may name a user.
    public var description: String {
        switch reason {
        case .notPrivate:
            "The file is not read, because it is no plain file of this user alone. Remove it, or take the rights of others "
                + "away (chmod 600; 700 for a folder)."
        case .tooLarge: "The file is not read, because it is too large. Remove it."
        case .system(let code): "The file cannot be read or written: error \(code) of the system."
        }
    }
}

extension URL {
    /// Keeps a file or a folder out of backups, or lets it into them; the attribute moves with the file.
    package func excludeFromBackup(_ isExcluded: Bool) {
        #if canImport(Darwin)
        var (url, values) = (self, URLResourceValues())
        values.isExcludedFromBackup = isExcluded
        try? url.setResourceValues(values)
        #endif
    }
}
