import Decorum
import Foundation

/// A folder of this user alone, with files that are written durably and that no link leads out of.
///
/// It has the mode 0700, its files have 0600, no backup takes it, and links, and what others own or can enter, are refused.
struct PrivateFolder: Sendable {
    let url: URL
    // Without a slash at its end, with which the system would follow a link.
    private var path: String { url.path }

    init(_ url: URL) { self.url = url }

    func create() throws(PrivateFileError) {
        if unsafe mkdir(path, 0o700) != 0 {
            if errno == EEXIST { return try check() }
            guard errno == ENOENT else { throw .last }
            try? FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        try check()
        url.deletingLastPathComponent().persistNames()
        url.excludeFromBackup(true)
    }

    func facts() throws(PrivateFileError) -> [String: FileFacts] {
        try check()
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw PrivateFileError(.system(EIO))
        }
        var facts: [String: FileFacts] = [:]
        for name in names {
            var status = stat()
            if unsafe lstat("\(path)/\(name)", &status) == 0 { facts[name] = FileFacts(status) }
        }
        return facts
    }

    func file(_ name: String) throws(PrivateFileError) -> HeldFile? {
        do throws(PrivateFileError) {
            let file = try open(name, O_RDONLY)
            if file.facts.isPrivate { return file }
        } catch {
            guard error.isMissing else { throw error }
            return nil
        }
        throw PrivateFileError(.notPrivate)
    }

    /// Writes a file, in place of one that is there; it outlasts a loss of power once this returns.
    func write(_ content: Data, to name: String) throws(PrivateFileError) {
        try PrivateFile(url.appending(path: name, directoryHint: .notDirectory)).replace(with: content)
        try persistNames()
    }

    func persistNames() throws(PrivateFileError) { try open(".", O_RDONLY).persist() }

    /// Renames a file, or a link as such, and tells whether it was there.
    @discardableResult func move(_ name: String, to newName: String) throws(PrivateFileError) -> Bool {
        try check()
        if unsafe rename("\(path)/\(name)", "\(path)/\(newName)") == 0 { return true }
        guard errno == ENOENT else { throw .last }
        return false
    }

    /// Removes a file, a link as such, or a folder, and tells whether it was there.
    @discardableResult func remove(_ name: String) throws(PrivateFileError) -> Bool {
        try check()
        if unsafe unlink("\(path)/\(name)") == 0 { return true }
        if errno == ENOENT { return false }
        guard (try? FileManager.default.removeItem(atPath: "\(path)/\(name)")) != nil else { throw .last }
        return true
    }

    /// Takes a lock that lasts until it is dropped, or until the process ends; nil if another holder has it all the time.
    func lock(_ name: String, within limit: Duration) throws(PrivateFileError) -> HeldFile? {
        let lock = try open(name, O_RDWR | O_CREAT)
        let end = ContinuousClock.now + limit
        while !lock.lock() {
            guard errno == EWOULDBLOCK else { throw .last }
            guard ContinuousClock.now < end else { return nil }
            usleep(1000)
        }
        return lock
    }

    func open(_ name: String, _ flags: Int32) throws(PrivateFileError) -> HeldFile {
        try check()
        // Not blocking, since a pipe in the place of the file would wait for a writer.
        let file = unsafe Foundation.open("\(path)/\(name)", flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw errno == ELOOP ? PrivateFileError(.notPrivate) : .last }
        return HeldFile(file)
    }

    private func check() throws(PrivateFileError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw .last }
        guard status.st_mode & S_IFMT == S_IFDIR, status.isOwn else { throw PrivateFileError(.notPrivate) }
    }
}

/// What the system says of a file; each file that takes its place has other facts.
struct FileFacts: Hashable {
    let length: Int64
    /// Whether it is a plain file of this user alone, with one name.
    let isPrivate: Bool
    private let version: [Int]

    fileprivate init(_ status: stat) {
        length = Int64(status.st_size)
        isPrivate = status.isOwn && status.st_mode & S_IFMT == S_IFREG && status.st_nlink <= 1
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        version = [Int(truncatingIfNeeded: status.st_ino), Int(time.tv_sec), Int(time.tv_nsec)]
    }
}

extension stat {
    fileprivate var isOwn: Bool { st_uid == geteuid() && st_mode & 0o077 == 0 }
}

/// An open file, which is closed when it is dropped; a lock on it ends then.
final class HeldFile: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { unlockAndClose(descriptor) }

    var facts: FileFacts {
        var status = stat()
        unsafe fstat(descriptor, &status)
        return FileFacts(status)
    }

    /// Locks the file, unless another holder has the lock, or there is an error.
    func lock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    func isNamed(_ path: String) -> Bool {
        var (status, named) = (stat(), stat())
        return unsafe fstat(descriptor, &status) == 0 && lstat(path, &named) == 0
            && status.st_ino == named.st_ino && status.st_dev == named.st_dev
    }

    func chunk(_ count: Int, at offset: Int64) throws(PrivateFileError) -> Data {
        var bytes = Data(count: count)
        let done = unsafe bytes.withUnsafeMutableBytes { unsafe $0.read(from: descriptor, at: offset) }
        guard let done else { throw .last }
        return bytes.prefix(done)
    }

    func write(_ bytes: Data, at offset: Int64) throws(PrivateFileError) {
        guard unsafe bytes.withUnsafeBytes({ unsafe $0.write(to: descriptor, at: offset) }) else { throw .last }
    }

    /// The checksum of the content in parts of one size, on which it depends; it finds damage, and no forgery.
    func checksum() throws(PrivateFileError) -> UInt64 {
        var checksum = Checksum(seed: 21)
        var offset: Int64 = 0
        while true {
            let chunk = try chunk(64 << 10, at: offset)
            guard !chunk.isEmpty else { return checksum.value }
            checksum.add(Array(chunk)[...])
            offset += Int64(chunk.count)
        }
    }

    func persist() throws(PrivateFileError) {
        #if canImport(Darwin)
        // There, `fsync` alone does not reach the medium.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw .last }
    }
}

extension PrivateFileError {
    fileprivate static var last: PrivateFileError { PrivateFileError(.system(errno)) }

    var isMissing: Bool { reason == .system(ENOENT) }

    /// Whether the file can never be read, so that it is set aside.
    var isOfFile: Bool { [.notPrivate, .system(EACCES), .system(ENXIO)].contains(reason) }
}

extension URL {
    /// Makes the names in a folder durable, if the file system can.
    func persistNames() {
        let folder = unsafe open(path(percentEncoded: false), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if folder >= 0 { try? HeldFile(folder).persist() }
    }
}
