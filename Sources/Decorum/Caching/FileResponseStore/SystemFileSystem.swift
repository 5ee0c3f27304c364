import Foundation

/// The disk of the machine.
struct SystemFileSystem: FileSystem {
    private let cached = CachedFileCalls()
    #if os(Linux)
    private static let steadyClock = CLOCK_BOOTTIME
    #else
    private static let steadyClock = CLOCK_MONOTONIC
    #endif

    var time: TicketTime {
        .read(wall: { Self.nanoseconds(of: CLOCK_REALTIME) }, steady: { Self.nanoseconds(of: Self.steadyClock) })
    }

    private static func nanoseconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return time.nanoseconds
    }

    let user: UInt32 = geteuid()

    func makeDirectory(_ path: String) throws {
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemError.last }
    }

    func checkWritable(_ directory: String) throws {
        guard unsafe access(directory, W_OK | X_OK) == 0 else { throw SystemError.last }
    }

    func status(of path: String, mayWait: Bool) throws -> FileStatus {
        guard mayWait else {
            let descriptor = try cached.find(path)
            defer { close(descriptor) }
            return try status(of: descriptor)
        }
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw SystemError.last }
        return FileStatus(status)
    }

    func list(_ directory: String, _ visit: (UnsafeBufferPointer<UInt8>) -> Void) throws {
        let descriptor = unsafe Foundation.open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError.last }
        guard let stream = unsafe fdopendir(descriptor) else {
            let error = SystemError.last
            close(descriptor)
            throw error
        }
        defer { unsafe closedir(stream) }
        while let entry = unsafe readdir(stream) {
            // The system ends each name with a zero, within the entry.
            let name = unsafe (UnsafeRawPointer(entry) + Self.nameOffset).assumingMemoryBound(to: UInt8.self)
            var count = 0
            while unsafe name[count] != 0 { count += 1 }
            unsafe visit(UnsafeBufferPointer(start: name, count: count))
        }
    }

    private static let nameOffset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 0

    // Not blocking, since a pipe in the place of the file would wait for a writer.
    private static let readingFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC

    func open(_ path: String, mayWait: Bool) throws -> Int32 {
        guard mayWait else { return try cached.open(path) }
        let descriptor = unsafe Foundation.open(path, Self.readingFlags)
        guard descriptor >= 0 else { throw SystemError.last }
        return descriptor
    }

    func openForWriting(_ path: String) throws -> Int32 {
        let descriptor = unsafe Foundation.open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError.last }
        return descriptor
    }

    func lock(_ directory: String, within limit: Duration) throws -> Int32 {
        let descriptor = unsafe Foundation.open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError.last }
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

    func status(of descriptor: Int32) throws -> FileStatus {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw SystemError.last }
        return FileStatus(status)
    }

    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, mayWait: Bool) throws
        -> Int
    {
        guard mayWait else {
            let count = unsafe try cached.read(descriptor, into: buffer, at: offset)
            // The rest is not in memory, or the file has ended: only a call that may wait tells.
            guard count == buffer.count else { throw SystemError.mustWait }
            return count
        }
        var done = 0
        while done < buffer.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
            guard count >= 0 || errno == EINTR else { throw SystemError.last }
            guard count != 0 else { break }
            done += max(count, 0)
        }
        return done
    }

    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64) throws {
        var done = 0
        while done < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
            guard count >= 0 || errno == EINTR else { throw SystemError.last }
            done += max(count, 0)
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
        guard unsafe unlink(path) == 0 else { throw SystemError.last }
    }
}

extension SystemError {
    fileprivate static var last: SystemError { SystemError(code: errno) }
}

extension FileStatus {
    fileprivate init(_ status: stat) {
        let kind: Kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            default: .other
            }
        self.init(
            kind: kind, length: Int64(status.st_size), time: status.modificationTime.nanoseconds, owner: status.st_uid)
    }
}

extension timespec {
    fileprivate var nanoseconds: Int64 {
        Int64(tv_sec).multipliedReportingOverflow(by: 1_000_000_000).partialValue &+ Int64(tv_nsec)
    }
}

#if canImport(Darwin)
extension stat {
    fileprivate var modificationTime: timespec { st_mtimespec }
}
#else
extension stat {
    fileprivate var modificationTime: timespec { st_mtim }
}
#endif
