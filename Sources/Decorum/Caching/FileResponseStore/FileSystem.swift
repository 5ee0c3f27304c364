import Foundation

/// The disk operations of a store, in one value that a test can replace, to record them or to make them fail.
///
/// Paths are never followed through a symbolic link at their end. Calls with `mayWait` false return at once, or throw
/// ``SystemError/mustWait`` where they would have to wait for the disk. Only the threads of ``DiskThreads`` make calls
/// that may wait.
protocol FileSystem: Sendable {
    // These calls never wait.

    /// The time of the machine's clocks.
    var time: TicketTime { get }
    /// The user who runs this process.
    var user: UInt32 { get }
    func status(of descriptor: Int32) throws -> FileStatus
    /// Closes a file; of one that was removed meanwhile, only a small one.
    func close(_ descriptor: Int32)

    // These calls may wait unless they are asked not to.

    func status(of path: String, mayWait: Bool) throws -> FileStatus
    /// Opens a file for reading.
    func open(_ path: String, mayWait: Bool) throws -> Int32
    /// Reads as many bytes as the buffer takes; fewer only at the end of the file.
    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, mayWait: Bool) throws
        -> Int

    // These calls may wait.

    func makeDirectory(_ path: String) throws
    /// Throws unless this process may create files in a directory.
    func checkWritable(_ directory: String) throws
    /// Calls a closure with the name of each file and folder in a directory.
    func list(_ directory: String, _ visit: (UnsafeBufferPointer<UInt8>) -> Void) throws
    /// Creates a file that does not exist, for this user alone, and locks it until it is closed.
    func create(_ path: String) throws -> Int32
    /// Opens a file that exists for reading and writing.
    func openForWriting(_ path: String) throws -> Int32
    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64) throws
    /// Whether the file is still open that a process has created; throws where the file system has no locks.
    func isHeld(_ path: String) throws -> Bool
    /// Opens a directory, and locks it for this process until the descriptor is closed.
    ///
    /// Throws ``SystemError/isLocked`` when another process holds the lock for all of the time.
    func lock(_ directory: String, within limit: Duration) throws -> Int32
    /// Sets the time of a file or directory, in nanoseconds.
    func setTime(of path: String, to time: Int64) throws
    func rename(_ path: String, to newPath: String) throws
    func remove(_ path: String) throws
}

extension FileSystem {
    func write(_ bytes: [UInt8], to descriptor: Int32, at offset: Int64) throws {
        unsafe try bytes.withUnsafeBytes { unsafe try write($0, to: descriptor, at: offset) }
    }
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

    /// Whether there is no space on the disk, or none that this user may take.
    var isFullDisk: Bool { code == ENOSPC || code == EDQUOT }

    static func ~= (pattern: SystemError, error: any Error) -> Bool {
        error as? SystemError == pattern
    }
}
