import Foundation
import Synchronization

/// Where a log goes: a value that takes one entry at a time.
///
/// ```swift
/// let sink = LogSink { entry in logger.info(entry) }
/// ```
public struct LogSink: Sendable {
    private let writing: @Sendable (String) -> Void

    /// Creates a sink from a closure.
    ///
    /// - Parameter write: Gets an entry without a line break at its end; it is called from many tasks at a time and
    ///   must not block.
    public init(_ write: @escaping @Sendable (_ entry: String) -> Void) {
        writing = write
    }

    /// Writes an entry.
    ///
    /// - Parameter entry: One or more lines, without a line break at the end.
    public func write(_ entry: String) {
        writing(entry)
    }

    /// A sink that writes to standard error; what cannot be written there is lost.
    public static let standardError = LogSink(entriesTo: .standardError)

    private init(entriesTo file: FileHandle) {
        let file = LockedFile(file)
        self.init { entry in file.write(Data((entry + "\n").utf8)) }
    }
}

/// Writes one entry after the other, however many tasks write.
private final class LockedFile: Sendable {
    private let file: Mutex<FileHandle>

    init(_ file: sending FileHandle) {
        self.file = Mutex(file)
    }

    func write(_ data: Data) {
        file.withLock { try? $0.write(contentsOf: data) }
    }
}
