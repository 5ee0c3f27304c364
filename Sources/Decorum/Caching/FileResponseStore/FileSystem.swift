import Foundation

/// The disk operations of a store, in one value that a test can replace, to record them or to make them fail.
///
/// Paths are never followed through a symbolic link at their end.
protocol FileSystem: Sendable {
    /// The date and time of day, in nanoseconds, as files have it.
    var now: Int64 { get }

    func makeDirectory(_ path: String) throws
    func status(of path: String) throws -> FileStatus
    /// Calls a closure with the name of each file and folder in a directory.
    func list(_ directory: String, _ visit: (UnsafeBufferPointer<UInt8>) -> Void) throws

    /// Opens a file for reading.
    func open(_ path: String) throws -> Int32
    /// Creates a file that does not exist, for this user alone.
    func create(_ path: String) throws -> Int32
    func status(of descriptor: Int32) throws -> FileStatus
    /// Reads as many bytes as the buffer takes; fewer only at the end of the file.
    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws
        -> Int
    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64) throws
    /// Sets the time of a file to now.
    func touch(_ descriptor: Int32)
    func close(_ descriptor: Int32)

    func rename(_ path: String, to newPath: String) throws
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

    static func ~= (pattern: SystemError, error: any Error) -> Bool {
        error as? SystemError == pattern
    }
}
