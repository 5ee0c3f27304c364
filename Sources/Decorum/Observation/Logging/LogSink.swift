import Foundation

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
    public static let standardError = LogSink { entry in
        try? FileHandle.standardError.write(contentsOf: Data((entry + "\n").utf8))
    }
}
