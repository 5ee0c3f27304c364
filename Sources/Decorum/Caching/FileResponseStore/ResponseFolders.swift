import Foundation
import Synchronization

/// The directory of a store: folders of files by the first byte of their names, and one of files that are being
/// written.
///
/// The directory is the only record of its content, since other processes work on it as well.
final class ResponseFolders: Sendable {
    static let count = 256

    let fileSystem: any FileSystem
    private let path: String
    private let folders: [ResponseFolder]
    private let refused = RefusedRemovals()

    init(_ path: String, fileSystem: any FileSystem) {
        self.path = path
        self.fileSystem = fileSystem
        folders = (0..<Self.count).map { number in
            let digits = String(number, radix: 16)
            return ResponseFolder(path + (number < 16 ? "/0" : "/") + digits)
        }
    }

    /// The folder of files that are not whole yet; on the same disk as the others, so that they can be moved.
    var unfinishedPath: String { path + "/unfinished" }

    /// Creates the directory if it does not exist.
    func prepare() throws {
        try makeDirectory(path)
        guard try fileSystem.status(of: path).kind == .directory else { throw SystemError(code: ENOTDIR) }
        try fileSystem.makeDirectory(unfinishedPath)
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

    func path(of name: ResponseFileName) -> String {
        folders[name.folder].prefix + name.text
    }

    /// The names of the files of a key, as far as they are known.
    func names(of digest: ResponseKeyDigest) -> [ResponseFileName] {
        folders[digest.folder].names(of: digest, fileSystem)
    }

    /// Calls a closure with each name in a folder.
    func list(_ folder: Int, _ visit: (ResponseFileName) -> Void) {
        try? folders[folder].list(fileSystem, visit)
    }

    /// Moves a file that is whole now to its place.
    func moveIntoPlace(_ unfinished: String, _ name: ResponseFileName) throws {
        let path = path(of: name)
        do {
            try fileSystem.rename(unfinished, to: path)
        } catch SystemError.noEntry {
            try fileSystem.makeDirectory(folders[name.folder].path)
            try fileSystem.rename(unfinished, to: path)
        }
    }

    /// Removes files, finished or not; files that the disk does not remove count as removed until a later attempt
    /// succeeds.
    func remove(_ removal: ResponseFileRemoval) {
        retryRemovals()
        if !tryRemoving(removal) { refused.add(removal, at: fileSystem.now) }
    }

    /// Removes a file that is finished.
    func remove(_ name: ResponseFileName) {
        let isRemoved = succeeds { try fileSystem.remove(path(of: name)) }
        if !isRemoved { refused.add(.file(name), at: fileSystem.now) }
    }

    /// Tries again to remove the files that the disk did not remove.
    func retryRemovals() {
        for entry in refused.all where tryRemoving(entry.removal) { refused.drop(entry) }
    }

    /// Whether a file that was written at a time should be gone.
    func isRemoved(_ name: ResponseFileName, writtenAt time: Int64) -> Bool {
        refused.cover(name, writtenAt: time)
    }

    private func tryRemoving(_ removal: ResponseFileRemoval) -> Bool {
        // The unfinished first, since they may become finished ones.
        var isDone = removeAll { remove in
            for file in try unfinished() where removal.covers(file.name) { remove(file.path) }
        }
        for folder in removal.folder.map({ $0...$0 }) ?? 0...Self.count - 1 {
            let isEmptied = removeAll { remove in
                try folders[folder].list(fileSystem) { if removal.covers($0) { remove(path(of: $0)) } }
            }
            isDone = isEmptied && isDone
        }
        return isDone
    }

    /// Removes the files that a listing finds, and returns whether it could be made and all are gone.
    private func removeAll(_ list: (_ remove: (_ path: String) -> Void) throws -> Void) -> Bool {
        var paths: [String] = []
        var isDone = succeeds { try list { paths.append($0) } }
        for path in paths {
            let isRemoved = succeeds { try fileSystem.remove(path) }
            isDone = isRemoved && isDone
        }
        return isDone
    }

    /// Whether an operation succeeded, or the file did not exist.
    private func succeeds(_ work: () throws -> Void) -> Bool {
        do {
            try work()
        } catch {
            return error as? SystemError == .noEntry
        }
        return true
    }

    /// The files that are not whole yet, with the names that they are to have.
    func unfinished() throws -> [(path: String, name: ResponseFileName)] {
        var files: [(path: String, name: ResponseFileName)] = []
        unsafe try fileSystem.list(unfinishedPath) { text in
            // The folder holds only such files; a file with another prefix is not from the store.
            guard
                let name = unsafe ResponseFileName(UnsafeBufferPointer(rebasing: text.prefix(ResponseFileName.length)))
            else { return }
            unsafe files.append((unfinishedPath + "/" + String(decoding: text, as: UTF8.self), name))
        }
        return files
    }

    /// A unique path for a file that is being written.
    func newUnfinishedPath(_ name: ResponseFileName, nonce: UInt64) -> String {
        unfinishedPath + "/" + name.text + "-" + String(nonce, radix: 16)
    }

    /// Whether the body in a file was read whole before, or written, in this process.
    func isVerified(_ name: ResponseFileName, nonce: UInt64) -> Bool {
        folders[name.folder].isVerified(nonce)
    }

    func noteVerified(_ name: ResponseFileName, nonce: UInt64) {
        folders[name.folder].noteVerified(nonce)
    }

    /// Has the body in a file verified once more before it is given out again.
    func noteDamaged(_ name: ResponseFileName, nonce: UInt64) {
        folders[name.folder].noteDamaged(nonce)
    }
}

/// A folder of files, with its listing, which is read again when the folder has changed.
private final class ResponseFolder: Sendable {
    private struct Listing {
        /// When the folder had changed last, as it was listed.
        var folderTime = Int64.min
        var time = Int64.min
        /// Sorted.
        var names: [ResponseFileName] = []
        var verified: Set<UInt64> = []

        /// Whether a later change would have a later time: the times of files have steps, on some systems of seconds.
        var isSettled: Bool {
            let step: Int64 = folderTime % 1_000_000_000 == 0 ? 2_100_000_000 : 20_000_000
            return time.subtractingReportingOverflow(folderTime).partialValue > step
        }
    }

    let path: String
    /// The prefix of the paths of the files.
    let prefix: String
    private let listing = Mutex(Listing())

    init(_ path: String) {
        self.path = path
        prefix = path + "/"
    }

    func names(of digest: ResponseKeyDigest, _ fileSystem: any FileSystem) -> [ResponseFileName] {
        // A symbolic link is not accepted as a folder, since `status` does not follow it.
        guard let status = try? fileSystem.status(of: path), status.kind == .directory else { return [] }
        return listing.withLock { listing in
            if listing.folderTime != status.time || !listing.isSettled {
                listing.folderTime = status.time
                listing.time = fileSystem.now
                listing.names.removeAll(keepingCapacity: true)
                do {
                    try list(fileSystem) { listing.names.append($0) }
                } catch {
                    // A folder that could not be listed may not be empty.
                    listing.folderTime = .min
                }
                listing.names.sort()
            }
            return listing.names.first(where: digest)
        }
    }

    func list(_ fileSystem: any FileSystem, _ visit: (ResponseFileName) -> Void) throws {
        unsafe try fileSystem.list(path) { text in
            if let name = unsafe ResponseFileName(text) { visit(name) }
        }
    }

    func isVerified(_ nonce: UInt64) -> Bool {
        listing.withLock { $0.verified.contains(nonce) }
    }

    func noteVerified(_ nonce: UInt64) {
        listing.withLock { listing in
            // A limit for a process that runs for months; entries that are dropped are verified again.
            if listing.verified.count >= 1000 { listing.verified = [] }
            listing.verified.insert(nonce)
        }
    }

    func noteDamaged(_ nonce: UInt64) {
        listing.withLock { _ = $0.verified.remove(nonce) }
    }
}

extension [ResponseFileName] {
    /// The names of a key among names in order.
    fileprivate func first(where digest: ResponseKeyDigest) -> [ResponseFileName] {
        var (lower, upper) = (0, count)
        while lower < upper {
            let middle = (lower + upper) / 2
            if self[middle].isBefore(digest) { lower = middle + 1 } else { upper = middle }
        }
        var found: [ResponseFileName] = []
        while lower < count, self[lower].isAt(digest) {
            if self[lower].isOf(digest) { found.append(self[lower]) }
            lower += 1
        }
        return found
    }
}
