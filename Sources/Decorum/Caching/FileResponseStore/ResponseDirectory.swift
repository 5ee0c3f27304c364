import Foundation
import Synchronization

/// The directory of a store: folders of files by the first byte of their names, one of files that are being written, and
/// one of marks of removals.
///
/// The directory is the only record of its content, since other processes work on it as well. Its own folders are
/// neither symbolic links nor another user's.
final class ResponseDirectory: Sendable {
    static let folderCount = 256
    /// The longest time to wait for another process that changes the directory, whose own changes take milliseconds.
    private static let lockLimit = Duration.seconds(1)

    let fileSystem: any FileSystem
    /// The folder of files that are not whole yet; on the same disk as the others, so that they can be moved.
    let unfinishedPath: String
    /// The folder of marks of removals, which is also the lock of the directory.
    let removalsPath: String
    let path: String
    private let folderPaths: [String]
    private let failure = Mutex<Int32?>(nil)
    /// Whether another process held the lock for too long at the last attempt, as one that is suspended does; until it
    /// releases the lock, no change waits for it.
    private let isHeld = Atomic(false)

    init(_ path: String, fileSystem: any FileSystem) {
        self.path = path
        self.fileSystem = fileSystem
        unfinishedPath = path + "/unfinished"
        removalsPath = path + "/removals"
        folderPaths = (0..<Self.folderCount).map { path + ($0 < 16 ? "/0" : "/") + String($0, radix: 16) }
    }

    /// The number of the error because of which the directory cannot be written now; otherwise nil.
    var error: Int32? { failure.withLock { $0 } }

    /// Creates the directory and its folders if they do not exist, and checks whether they can be written.
    func prepare() throws {
        do {
            try makeDirectory(path)
            for path in [path, unfinishedPath, removalsPath] {
                if path != self.path { try fileSystem.makeDirectory(path) }
                try checkOwn(path)
                try fileSystem.checkWritable(path)
            }
            try RemovalMarks(self).prepare()
        } catch {
            failure.withLock { $0 = (error as? SystemError)?.code ?? EIO }
            throw error
        }
        failure.withLock { $0 = nil }
    }

    private func makeDirectory(_ path: String) throws {
        do {
            try fileSystem.makeDirectory(path)
        } catch let error as SystemError {
            guard error.code == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
                throw error
            }
            try makeDirectory(String(path[..<slash]))
            try fileSystem.makeDirectory(path)
        }
    }

    /// Throws unless a path is that of a directory of this user; a symbolic link is not followed.
    private func checkOwn(_ path: String) throws {
        let status = try fileSystem.status(of: path, mayWait: true)
        guard status.kind == .directory else { throw SystemError(code: ENOTDIR) }
        guard status.owner == fileSystem.user else { throw SystemError(code: EACCES) }
    }

    /// Throws unless a folder of files exists and is the store's own.
    func checkFolder(_ folder: Int) throws {
        try checkOwn(folderPaths[folder])
    }

    /// Creates a folder of files if it does not exist.
    func prepareFolder(_ folder: Int) throws {
        do {
            try checkOwn(folderPaths[folder])
        } catch SystemError.noEntry {
            try fileSystem.makeDirectory(folderPaths[folder])
            try checkOwn(folderPaths[folder])
        }
    }

    /// Notes that a change of the directory has failed, which is an error of the directory if it will fail again.
    func note(_ error: any Error) {
        guard let code = (error as? SystemError)?.code, [EACCES, EPERM, EROFS, ENOTDIR, ELOOP].contains(code) else {
            return
        }
        failure.withLock { $0 = code }
    }

    /// Performs work while no other store changes the directory.
    ///
    /// The system releases the lock when a process ends. Throws ``SystemError/isLocked`` when another process holds it
    /// for longer than a second.
    func locked<Result>(_ work: () throws -> Result) throws -> Result {
        let descriptor: Int32?
        do {
            descriptor = try lock()
        } catch let error as SystemError where [ENOLCK, EOPNOTSUPP, ENOTSUP].contains(error.code) {
            // A file system without locks is used by one process.
            descriptor = nil
        }
        defer { if let descriptor { fileSystem.close(descriptor) } }
        return try work()
    }

    private func lock() throws -> Int32 {
        let limit = isHeld.load(ordering: .relaxed) ? .zero : Self.lockLimit
        do {
            let descriptor = try lock(within: limit)
            isHeld.store(false, ordering: .relaxed)
            return descriptor
        } catch SystemError.isLocked {
            isHeld.store(true, ordering: .relaxed)
            throw SystemError.isLocked
        }
    }

    private func lock(within limit: Duration) throws -> Int32 {
        do {
            return try fileSystem.lock(removalsPath, within: limit)
        } catch SystemError.noEntry {
            try prepare()
            return try fileSystem.lock(removalsPath, within: limit)
        }
    }

    func path(of name: ResponseFileName) -> String {
        "\(folderPaths[name.folder])/\(name.text)"
    }

    /// Calls a closure with each name in a folder.
    func list(_ folder: Int, _ visit: (ResponseFileName) -> Void) throws {
        unsafe try fileSystem.list(folderPaths[folder]) { text in
            if let name = unsafe ResponseFileName(text) { visit(name) }
        }
    }

    /// The paths of the files in a folder that an earlier version has written, whose names are longer.
    func outdated(_ folder: Int) -> [String] {
        var paths: [String] = []
        unsafe try? fileSystem.list(folderPaths[folder]) { text in
            guard text.count == 80, unsafe text.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return }
            unsafe paths.append("\(folderPaths[folder])/\(String(decoding: text, as: UTF8.self))")
        }
        return paths
    }

    /// A unique path for a file that is being written.
    func newUnfinishedPath(_ digest: ResponseKeyDigest, nonce: UInt64) -> String {
        "\(unfinishedPath)/\(ResponseFileName(digest: digest, index: 0).text)-\(String(nonce, radix: 16))"
    }

    /// The paths of the files that are not whole yet, of some or all responses.
    func unfinished(where isWanted: (ResponseFileName) -> Bool = { _ in true }) throws -> [String] {
        var paths: [String] = []
        unsafe try fileSystem.list(unfinishedPath) { text in
            // A file with another prefix is not from the store.
            let start = unsafe UnsafeBufferPointer(rebasing: text.prefix(ResponseFileName.length))
            guard let name = unsafe ResponseFileName(start), isWanted(name) else { return }
            unsafe paths.append("\(unfinishedPath)/\(String(decoding: text, as: UTF8.self))")
        }
        return paths
    }
}
