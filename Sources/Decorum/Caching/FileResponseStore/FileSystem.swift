import Foundation

#if os(Linux)
import DecorumSystem
#endif

/// The disk operations of a store, in one value that a test can replace, to record them or to make them fail.
///
/// Paths are never followed through a symbolic link at their end. A call with `mayWait` false returns at once, or throws
/// ``SystemError/mustWait`` when it would have to wait for the disk. Only the store's own queues make calls that may
/// wait.
protocol FileSystem: Sendable {
    // These calls never wait.

    /// The time of the machine's clocks.
    var time: TicketTime { get }
    /// The user who runs this process.
    var user: UInt32 { get }
    func status(of descriptor: Int32) throws -> FileStatus
    /// Closes a file; the caller of a large file that may have been removed may wait.
    func close(_ descriptor: Int32)

    // These calls may wait unless they are asked not to.

    /// Opens a file for reading.
    func open(_ path: String, mayWait: Bool) throws -> Int32
    /// Reads bytes; fewer than `count` at the end of the file, and when the rest is not in memory and the call must not
    /// wait.
    func read(_ count: Int, from descriptor: Int32, at offset: Int64, mayWait: Bool) throws -> [UInt8]

    // These calls may wait.

    func status(of path: String) throws -> FileStatus
    func makeDirectory(_ path: String) throws
    /// Throws unless this process may create files in a directory.
    func checkWritable(_ directory: String) throws
    /// The names of all files and folders in a directory.
    func list(_ directory: String) throws -> [String]
    /// Creates a file that does not exist, for this user alone, and locks it until it is closed.
    func create(_ path: String) throws -> Int32
    /// Opens a file that exists for reading and writing.
    func openForWriting(_ path: String) throws -> Int32
    func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, at offset: Int64) throws
    /// Whether the file is still open that a process has created; throws on a file system without locks.
    func isHeld(_ path: String) throws -> Bool
    /// Opens a file, and locks it for this process until ``unlock(_:)``.
    ///
    /// Throws ``SystemError/isLocked`` when another process holds the lock for all of the time.
    func lock(_ path: String, within limit: Duration) throws -> Int32
    /// Unlocks a file and closes it.
    func unlock(_ descriptor: Int32)
    /// Sets the time of a file, in nanoseconds.
    func setTime(of path: String, to time: Int64) throws
    func rename(_ path: String, to newPath: String) throws
    /// Removes a file or an empty directory.
    func remove(_ path: String) throws
}

/// The properties of a file that are known without opening it.
struct FileStatus: Sendable {
    enum Kind: Sendable {
        case regular
        case directory
        case other
    }

    let kind: Kind
    let length: Int64
    /// When the content was changed, or the file last used, in nanoseconds.
    let time: Int64
    /// The user to whom the file belongs.
    let owner: UInt32

    /// The number of bytes that the file takes on a disk, in whole blocks.
    var allocatedLength: Int { Self.allocatedLength(Int(clamping: length)) }

    static func allocatedLength(_ count: Int) -> Int {
        (max(count, 0) &+ 4095) & ~4095
    }
}

/// A failed system call, with its error number.
struct SystemError: Error, Equatable {
    let code: Int32

    static let noEntry = SystemError(code: ENOENT)
    static let exists = SystemError(code: EEXIST)
    /// Another process holds the lock.
    static let isLocked = SystemError(code: ETIMEDOUT)
    /// The call was asked not to wait.
    static let mustWait = SystemError(code: EAGAIN)

    /// Whether there is no space on the disk, or no more for this user.
    var isFullDisk: Bool { code == ENOSPC || code == EDQUOT }

    fileprivate static var last: SystemError { SystemError(code: errno) }

    static func ~= (pattern: SystemError, error: any Error) -> Bool {
        error as? SystemError == pattern
    }
}

/// The disk of the machine.
struct SystemFileSystem: FileSystem {
    #if os(Linux)
    private static let steadyClock = CLOCK_BOOTTIME
    #else
    private static let steadyClock = CLOCK_MONOTONIC
    #endif
    // Not blocking, since a pipe in the place of the file would wait for a writer.
    private static let flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC

    let user: UInt32 = geteuid()

    var time: TicketTime {
        .read(wall: { Self.nanoseconds(of: CLOCK_REALTIME) }, steady: { Self.nanoseconds(of: Self.steadyClock) })
    }

    private static func nanoseconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return time.nanoseconds
    }

    func makeDirectory(_ path: String) throws {
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemError.last }
    }

    func checkWritable(_ directory: String) throws {
        guard unsafe access(directory, W_OK | X_OK) == 0 else { throw SystemError.last }
    }

    func status(of path: String) throws -> FileStatus {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw SystemError.last }
        return FileStatus(status)
    }

    func status(of descriptor: Int32) throws -> FileStatus {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw SystemError.last }
        return FileStatus(status)
    }

    func list(_ directory: String) throws -> [String] {
        guard try status(of: directory).kind == .directory else { throw SystemError(code: ENOTDIR) }
        return try FileManager.default.contentsOfDirectory(atPath: directory)
    }

    func open(_ path: String, mayWait: Bool) throws -> Int32 {
        guard mayWait else { return Int32(try Self.atOnce { Self.openCached(path) }) }
        let descriptor = unsafe Foundation.open(path, O_RDONLY | Self.flags)
        guard descriptor >= 0 else { throw SystemError.last }
        return descriptor
    }

    func openForWriting(_ path: String) throws -> Int32 {
        let descriptor = unsafe Foundation.open(path, O_RDWR | Self.flags)
        guard descriptor >= 0 else { throw SystemError.last }
        return descriptor
    }

    func create(_ path: String) throws -> Int32 {
        let descriptor = unsafe Foundation.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError.last }
        // On a file system without locks, the age of a file has to tell whether its process lives.
        flock(descriptor, LOCK_EX | LOCK_NB)
        return descriptor
    }

    func isHeld(_ path: String) throws -> Bool {
        let descriptor = try open(path, mayWait: true)
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return false }
        guard errno == EWOULDBLOCK else { throw SystemError.last }
        return true
    }

    func lock(_ path: String, within limit: Duration) throws -> Int32 {
        let descriptor = try openForWriting(path)
        let end = ContinuousClock.now + limit
        var pause: UInt32 = 50
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let error = SystemError.last
            guard error.code == EINTR || error.code == EWOULDBLOCK && ContinuousClock.now < end else {
                close(descriptor)
                throw error.code == EWOULDBLOCK ? SystemError.isLocked : error
            }
            // The system's own waiting has no limit.
            usleep(pause)
            pause = min(pause * 2, 5000)
        }
        return descriptor
    }

    func unlock(_ descriptor: Int32) { unlockAndClose(descriptor) }

    func read(_ count: Int, from descriptor: Int32, at offset: Int64, mayWait: Bool) throws -> [UInt8] {
        unsafe try [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            guard mayWait else {
                done = try Self.atOnce { unsafe Self.readCached(descriptor, bytes, offset) }
                return
            }
            guard let count = unsafe bytes.read(from: descriptor, at: offset) else { throw SystemError.last }
            done = count
        }
    }

    func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, at offset: Int64) throws {
        guard unsafe bytes.withUnsafeBytes({ unsafe $0.write(to: descriptor, at: offset) }) else {
            throw SystemError.last
        }
    }

    func setTime(of path: String, to time: Int64) throws {
        let (seconds, rest) = time.quotientAndRemainder(dividingBy: 1_000_000_000)
        let value = timespec(tv_sec: Int(clamping: seconds), tv_nsec: Int(rest))
        let times = [value, value]
        guard unsafe utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0 else { throw SystemError.last }
    }

    func close(_ descriptor: Int32) {
        _ = Foundation.close(descriptor)
    }

    func rename(_ path: String, to newPath: String) throws {
        guard unsafe Foundation.rename(path, newPath) == 0 else { throw SystemError.last }
    }

    func remove(_ path: String) throws {
        guard unsafe Foundation.remove(path) == 0 else { throw SystemError.last }
    }

    #if os(Linux)
    private static func openCached(_ path: String) -> Int { unsafe Int(decorum_open_cached(path)) }

    private static func readCached(_ descriptor: Int32, _ rest: UnsafeMutableRawBufferPointer, _ offset: Int64) -> Int {
        unsafe decorum_read_cached(descriptor, rest.baseAddress, rest.count, offset)
    }
    #else
    // The system has no calls that read a file only if that needs no waiting.
    private static func openCached(_ path: String) -> Int { -Int(ENOSYS) }

    private static func readCached(_ descriptor: Int32, _ rest: UnsafeMutableRawBufferPointer, _ offset: Int64) -> Int {
        -Int(ENOSYS)
    }
    #endif

    /// Returns the result of a call that never waits, which is a negative error number when it fails.
    private static func atOnce(_ call: () -> Int) throws -> Int {
        let result = call()
        guard result < 0 else { return result }
        switch Int32(-result) {
        // A kernel or a sandbox that does not know the call, or a path with a symbolic link.
        case EAGAIN, ELOOP, EINTR, ENOSYS, EINVAL, EPERM, EOPNOTSUPP: throw SystemError.mustWait
        default: throw SystemError(code: Int32(-result))
        }
    }
}

extension FileStatus {
    fileprivate init(_ status: stat) {
        let kind: Kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            default: .other
            }
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        self.init(kind: kind, length: Int64(status.st_size), time: time.nanoseconds, owner: status.st_uid)
    }
}

extension timespec {
    fileprivate var nanoseconds: Int64 {
        Int64(tv_sec).multipliedReportingOverflow(by: 1_000_000_000).partialValue &+ Int64(tv_nsec)
    }
}
