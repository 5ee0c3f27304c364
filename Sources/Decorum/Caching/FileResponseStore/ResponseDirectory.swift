import Foundation
import HTTPTypes
import Synchronization

/// The digests of a key, which are the beginnings of the names of its files.
package struct ResponseKeyDigest: Sendable, Hashable {
    package let uri: UInt64
    package let key: UInt64
    package let principal: UInt64

    /// The folder of the files, one of ``ResponseDirectory/folderCount``.
    var folder: Int { Int(uri >> 56) }
}

extension ResponseKeyDigest {
    package init(_ key: ResponseKey) {
        let credentials = key.credentials.flatMap { [$0.name.canonicalName, $0.value] }
        self.init(
            uri: Self.digest(of: key.uri), key: Self.digest([key.method.rawValue] + credentials, seed: 2),
            principal: Self.digest(of: key.principal))
    }

    package static func digest(of uri: ResponseKey.URI) -> UInt64 {
        digest([uri.scheme, uri.authority, uri.path], seed: 1)
    }

    package static func digest(of principal: Principal?) -> UInt64 {
        principal.map { digest([$0.name], seed: 4) } ?? 0
    }

    /// The digest of the fields that selected a response, in which its variants differ.
    static func digest(ofVariant response: StoredResponse) -> UInt64 {
        var texts = response.vary.isAny ? ["*"] : []
        for name in response.vary.names.sorted(by: { $0.canonicalName < $1.canonicalName }) {
            texts.append(name.canonicalName)
            texts += response.selectingFields.filter { $0.name == name }.map(\.value)
        }
        return digest(texts, seed: 3)
    }

    private static func digest(_ texts: [String], seed: UInt64) -> UInt64 {
        var checksum = Checksum(seed: seed)
        for text in texts { checksum.add(text) }
        return checksum.value
    }
}

/// The name of the file of a stored response: the digests of its key, by which files are found without being listed or
/// opened, and its position among the files of the key.
struct ResponseFileName: Sendable, Hashable {
    let digest: ResponseKeyDigest
    /// The position: the first file of a key has 0, and says how many files there are.
    let index: Int
    // Three numbers of 16 digits, and one of 2.
    static let length = 50

    /// The name as a text in hexadecimal digits.
    var text: String {
        digest.uri.hexadecimal() + digest.key.hexadecimal() + digest.principal.hexadecimal()
            + index.hexadecimal(ofLength: 2)
    }
}

extension ResponseFileName {
    /// Reads a name; nil for the name of a file that the store did not write.
    init?(_ text: some StringProtocol) {
        guard text.utf8.count == Self.length, text.isHexadecimal else { return nil }
        func number(_ start: Int, _ count: Int) -> UInt64 {
            UInt64(text.dropFirst(start).prefix(count), radix: 16) ?? 0
        }
        self.init(
            digest: ResponseKeyDigest(uri: number(0, 16), key: number(16, 16), principal: number(32, 16)),
            index: Int(number(48, 2)))
    }
}

extension StringProtocol {
    fileprivate var isHexadecimal: Bool { utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) } }
}

/// A removal of responses from a store.
enum ResponseRemoval: Sendable {
    case key(ResponseKeyDigest)
    case uri(UInt64)
    case principal(UInt64)
    case all

    func covers(_ name: ResponseFileName) -> Bool {
        switch self {
        case .key(let key): name.digest == key
        case .uri(let uri): name.digest.uri == uri
        case .principal(let principal): name.digest.principal == principal
        case .all: true
        }
    }

    /// The folders that may have the files.
    var folders: ClosedRange<Int> {
        switch self {
        case .key(let digest): digest.folder...digest.folder
        case .uri(let uri): Int(uri >> 56)...Int(uri >> 56)
        case .principal, .all: 0...ResponseDirectory.folderCount - 1
        }
    }

    /// Where the time of the last such removal is among all times.
    ///
    /// Two removals may have one place, so that a response is removed without need.
    fileprivate var timeOffset: Int64 {
        let numbers: [UInt64]
        switch self {
        case .all: return 0
        case .key(let digest): numbers = [1, digest.uri, digest.key, digest.principal]
        case .uri(let uri): numbers = [2, uri]
        case .principal(let principal): numbers = [3, principal]
        }
        var checksum = Checksum(seed: 5)
        for number in numbers { checksum.add(number) }
        return Int64(1 + checksum.value % 65_535) * 8
    }
}

/// The directory of a store: folders of files by the first byte of their names, one of files that are being written, and
/// a file of the times of removals.
///
/// The directory is the only record of its content, since other processes work on it as well. Its own folders are
/// neither symbolic links nor another user's. A response counts only if its request was sent after the last removal that
/// covers it, so that a removal needs one write to be known to all processes; its files are deleted then.
final class ResponseDirectory: Sendable {
    static let folderCount = 256
    /// The longest time to wait for another process that changes the directory, whose own changes take milliseconds.
    private static let lockLimit = Duration.seconds(1)

    let fileSystem: any FileSystem
    let path: String
    /// The folder of files that are not whole yet; on the same disk as the others, so that they can be moved.
    private let unfinishedPath: String
    /// The file of the times of removals, which is also the lock of the directory.
    let removalsPath: String
    /// The folder that only the former format of the directory has.
    private let formerPath: String
    private let failure = Mutex<Int32?>(nil)
    private let thisProcess = Mutex(())
    /// Whether another process held the lock for too long at the last attempt, as one that is suspended does; until it
    /// releases the lock, no change waits for it.
    private let isHeld = Atomic(false)

    init(_ path: String, fileSystem: any FileSystem) {
        self.path = path
        self.fileSystem = fileSystem
        unfinishedPath = path + "/unfinished"
        removalsPath = path + "/removed"
        formerPath = path + "/removals"
    }

    /// The number of the error because of which the directory cannot be written now; otherwise nil.
    var error: Int32? { failure.withLock { $0 } }

    /// Creates the directory and its folders if they do not exist, and checks whether they can be written.
    func prepare() throws {
        do {
            try makeDirectory(path)
            for path in [path, unfinishedPath] {
                if path != self.path { try fileSystem.makeDirectory(path) }
                try checkOwn(path)
                try fileSystem.checkWritable(path)
            }
            try prepareRemovals()
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

    /// Performs work, and once more when the directory was missing, which is created again.
    func prepared<Result>(_ work: () throws -> Result) throws -> Result {
        do {
            return try work()
        } catch SystemError.noEntry {
            try prepare()
            return try work()
        }
    }

    private func prepareRemovals() throws {
        do {
            let descriptor = try fileSystem.create(removalsPath)
            defer { fileSystem.close(descriptor) }
            // With room for the time of a removal of all, so that a full disk does not prevent it later.
            try fileSystem.write([UInt8](repeating: 0, count: 8)[...], to: descriptor, at: 0)
        } catch SystemError.exists {
            try checkOwn(removalsPath, .regular)
        }
    }

    /// Throws unless a path names a directory, or a file, of this user; a symbolic link is not followed.
    private func checkOwn(_ path: String, _ kind: FileStatus.Kind = .directory) throws {
        let status = try fileSystem.status(of: path)
        guard status.kind == kind else { throw SystemError(code: ENOTDIR) }
        guard status.owner == fileSystem.user else { throw SystemError(code: EACCES) }
    }

    private func path(ofFolder folder: Int) -> String {
        "\(path)/\(folder.hexadecimal(ofLength: 2))"
    }

    func path(of name: ResponseFileName) -> String {
        "\(path(ofFolder: name.digest.folder))/\(name.text)"
    }

    /// Throws unless a folder of files exists and is the store's own.
    func checkFolder(_ folder: Int) throws {
        try checkOwn(path(ofFolder: folder))
    }

    /// Creates a folder of files if it does not exist.
    func prepareFolder(_ folder: Int) throws {
        do {
            try checkFolder(folder)
        } catch SystemError.noEntry {
            try fileSystem.makeDirectory(path(ofFolder: folder))
            try checkFolder(folder)
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
        try thisProcess.withLock { _ in
            let descriptor = try lock()
            defer { if let descriptor { fileSystem.unlock(descriptor) } }
            return try work()
        }
    }

    /// Takes the lock; returns nil on a file system without locks, which only one process uses.
    private func lock() throws -> Int32? {
        let limit = isHeld.load(ordering: .relaxed) ? .zero : Self.lockLimit
        do {
            let descriptor = try prepared { try fileSystem.lock(removalsPath, within: limit) }
            isHeld.store(false, ordering: .relaxed)
            return descriptor
        } catch let error as SystemError {
            if error == .isLocked { isHeld.store(true, ordering: .relaxed) }
            guard [ENOLCK, EOPNOTSUPP, ENOTSUP].contains(error.code) else { throw error }
            return nil
        }
    }

    /// The time of the last removal that covers a key; 0 without one.
    ///
    /// A time in the future was written before the clock was set, and no ticket is comparable over that.
    func lastRemoval(of digest: ResponseKeyDigest, mayWait: Bool) throws -> Int64 {
        let descriptor: Int32
        do {
            descriptor = try fileSystem.open(removalsPath, mayWait: mayWait)
        } catch let error as SystemError where [ENOENT, ENOTDIR].contains(error.code) {
            // Without a directory, no store has removed anything.
            return 0
        }
        defer { fileSystem.close(descriptor) }
        let removals: [ResponseRemoval] = [.all, .uri(digest.uri), .key(digest), .principal(digest.principal)]
        let length = try fileSystem.status(of: descriptor).length
        let times = try removals.filter { $0.timeOffset + 8 <= length }
            .map { try time(of: $0, descriptor, mayWait: mayWait) }
        // The clock is read after the times, so that a removal at this moment is not one of the future.
        let now = fileSystem.time.wall
        return times.filter { $0 <= now }.max() ?? 0
    }

    private func time(of removal: ResponseRemoval, _ descriptor: Int32, mayWait: Bool) throws -> Int64 {
        let bytes = try fileSystem.read(8, from: descriptor, at: removal.timeOffset, mayWait: mayWait)
        // Some versions of Linux return no bytes for a read that would have to wait.
        guard bytes.count == 8 || mayWait else { throw SystemError.mustWait }
        var reader = ByteReader(bytes[...])
        return reader.number() ?? 0
    }

    /// Writes the time of a removal, for all stores on the directory.
    func note(_ removal: ResponseRemoval, at time: Int64) throws {
        do {
            try prepared { try write(removal, time) }
        } catch let error as SystemError where error.isFullDisk {
            try write(.all, time)
        }
    }

    private func write(_ removal: ResponseRemoval, _ time: Int64) throws {
        let descriptor = try fileSystem.openForWriting(removalsPath)
        defer { fileSystem.close(descriptor) }
        let known = try self.time(of: removal, descriptor, mayWait: true)
        // A later removal stays later, except one in the future, from before the clock was set.
        guard known < time || known > fileSystem.time.wall else { return }
        var writer = ByteWriter()
        writer.add(time)
        try fileSystem.write(writer.bytes[...], to: descriptor, at: removal.timeOffset)
    }

    /// The names in a folder.
    func list(_ folder: Int) throws -> [ResponseFileName] {
        try fileSystem.list(path(ofFolder: folder)).compactMap { ResponseFileName($0) }
    }

    /// A unique path for a file that is being written.
    func newUnfinishedPath(_ digest: ResponseKeyDigest, nonce: UInt64) -> String {
        "\(unfinishedPath)/\(ResponseFileName(digest: digest, index: 0).text)-\(String(nonce, radix: 16))"
    }

    /// The paths of the files that are not whole yet, of some or all responses.
    func unfinished(where isWanted: (ResponseFileName) -> Bool = { _ in true }) throws -> [String] {
        try fileSystem.list(unfinishedPath).filter { name in
            // A file with another prefix is not from the store.
            ResponseFileName(name.prefix(ResponseFileName.length)).map(isWanted) ?? false
        }.map { "\(unfinishedPath)/\($0)" }
    }

    /// Whether files of a former format may be left.
    var isOfFormerFormat: Bool { (try? fileSystem.status(of: formerPath))?.kind == .directory }

    /// Deletes the files that former formats have written, whose names have other lengths.
    func removeFormerFiles() {
        let folders = (0..<Self.folderCount).map(path(ofFolder:)) + [unfinishedPath, formerPath]
        for folder in folders {
            for name in (try? fileSystem.list(folder)) ?? [] where isFormer(name, in: folder) {
                try? fileSystem.remove("\(folder)/\(name)")
            }
        }
        // This comes last, so that an end of the process before it has the next one try again.
        try? fileSystem.remove(formerPath)
    }

    private func isFormer(_ name: String, in folder: String) -> Bool {
        if folder == formerPath { return ["all", "key-", "uri-", "principal-"].contains(where: name.hasPrefix) }
        let digits = name.prefix { $0 != "-" }
        return [66, 80].contains(digits.utf8.count) && digits.isHexadecimal
    }
}
