import Foundation
import Synchronization

/// The destination of a log: a value that takes one entry at a time.
///
/// ```swift
/// let sink = LogSink { logger.info("\($0)") }
/// ```
///
/// With `DecorumTelemetry`, `.logger(logger)` is a sink for the loggers of swift-log and of Apple's systems, with levels and
/// metadata. Secrets are redacted before.
public struct LogSink: Sendable {
    private let writing: @Sendable (LogEntry) -> Void
    private let asking: (@Sendable () -> Bool)?
    private let choosing: (@Sendable (CallReport) -> Bool)?
}

extension LogSink {
    /// Creates a sink from a closure.
    ///
    /// - Parameter write: Gets an entry without a line break at its end; it is called from many tasks at a time and
    ///   must not block.
    public init(_ write: @escaping @Sendable (_ entry: String) -> Void) {
        self.init(writing: { write($0.text) }, asking: nil, choosing: nil)
    }

    /// Creates a sink from a closure that gets the report of an entry too, as a structured log needs it.
    ///
    /// - Parameters:
    ///   - isEnabled: Whether the sink may want the entry of a request that is about to be sent; if not, no work is done
    ///     for it.
    ///   - wants: Whether the sink wants the entry of a report, whose text is made only then; it is asked once for each.
    ///   - write: Gets an entry; it is called from many tasks at a time and must not block.
    /// - Returns: A sink.
    public static func structured(
        isEnabled: (@Sendable () -> Bool)? = nil,
        wants: (@Sendable (_ report: CallReport) -> Bool)? = nil,
        _ write: @escaping @Sendable (_ entry: LogEntry) -> Void
    ) -> LogSink {
        LogSink(writing: write, asking: isEnabled, choosing: wants)
    }

    /// Writes an entry.
    ///
    /// - Parameter entry: One or more lines, without a line break at the end.
    public func write(_ entry: String) {
        writing(LogEntry(line: entry, report: CallReport()))
    }

    var isEnabled: Bool { asking?() ?? true }

    func wants(_ report: CallReport) -> Bool { choosing?(report) ?? true }

    func write(_ entry: LogEntry) { writing(entry) }

    /// A sink that writes to standard error; an entry that cannot be written is lost, also if the reader of a pipe has ended.
    public static let standardError = LogSink(descriptor: STDERR_FILENO)

    /// Creates a sink that writes to a descriptor, which stays open.
    init(descriptor: Int32) {
        let file = LockedFile(descriptor)
        self.init { entry in file.append(entry + "\n") }
    }
}

/// An entry of a log.
public struct LogEntry: Sendable {
    /// The line of the report.
    public internal(set) var line = ""
    /// The lines with the fields and the body of the request; empty unless the log was asked to show them.
    public internal(set) var request: [String] = []
    /// The lines with the fields and the body of the response; empty likewise.
    public internal(set) var response: [String] = []
    /// The report of the call or the attempt.
    public internal(set) var report: CallReport

    /// All lines, in which `>` marks those of the request and `<` those of the response.
    public var text: String {
        guard !request.isEmpty || !response.isEmpty else { return line }
        return ([line] + request.map { "  > " + $0 } + response.map { "  < " + $0 }).joined(separator: "\n")
    }
}

/// Writes one entry after the other, also when several tasks write.
private final class LockedFile: Sendable {
    private let descriptor: Mutex<Int32>

    init(_ descriptor: Int32) {
        self.descriptor = Mutex(descriptor)
    }

    func append(_ text: String) {
        descriptor.withLock { descriptor in
            PipeSignal.withhold(writingTo: descriptor) { Self.writeAll(Array(text.utf8)[...], to: descriptor) }
        }
    }

    private static func writeAll(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) {
        var rest = bytes
        while !rest.isEmpty {
            // This is safe because the system reads only these bytes and only during the call.
            let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || count < 0 && errno == EINTR else { return }
            rest = rest.dropFirst(max(0, count))
        }
    }
}

/// The signal (`SIGPIPE`) that ends a process that writes to a pipe without a reader.
private enum PipeSignal {
    #if canImport(Darwin)
    /// Writes without the signal, which the system would send to the process: it is switched off for the file, whose setting
    /// is restored after that, since the file may be shared with other code.
    static func withhold(writingTo descriptor: Int32, _ write: () -> Void) {
        let isOff = fcntl(descriptor, F_GETNOSIGPIPE) == 1
        guard isOff || fcntl(descriptor, F_SETNOSIGPIPE, 1) == 0 else { return }
        write()
        if !isOff { _ = fcntl(descriptor, F_SETNOSIGPIPE, 0) }
    }
    #else
    /// Writes without the signal, which the system sends to the writing thread: it is blocked there during the write, which
    /// causes no other signal of this kind, and then consumed.
    static func withhold(writingTo descriptor: Int32, _ write: () -> Void) {
        var signal = sigset_t()
        var pending = sigset_t()
        var mask = sigset_t()
        // This is safe because each call only reads or writes one of these sets, and keeps no pointer to it.
        unsafe sigemptyset(&signal)
        unsafe sigaddset(&signal, SIGPIPE)
        unsafe sigpending(&pending)
        // A signal that is already pending belongs to other code, which has blocked it.
        let isPending = unsafe sigismember(&pending, SIGPIPE) == 1
        guard unsafe pthread_sigmask(SIG_BLOCK, &signal, &mask) == 0 else { return }
        write()
        if !isPending {
            var time = timespec()
            while unsafe sigtimedwait(&signal, nil, &time) < 0, errno == EINTR {}
        }
        unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
    }
    #endif
}
