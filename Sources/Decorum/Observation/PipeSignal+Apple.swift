#if canImport(Darwin)
import Darwin

/// The signal (`SIGPIPE`) that ends a process that writes to a pipe without a reader.
enum PipeSignal {
    /// Prevents the signal during a write, without changing how the process handles the signal.
    ///
    /// The system sends the signal to the process, where another thread would get it, so it is switched off for the
    /// file. After the entry is written, the setting of the file is restored, since the file may be shared with other
    /// code.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor that `write` writes to.
    ///   - write: Writes the entry.
    static func withhold(writingTo descriptor: Int32, _ write: () -> Void) {
        let isOff = fcntl(descriptor, F_GETNOSIGPIPE) == 1
        guard isOff || fcntl(descriptor, F_SETNOSIGPIPE, 1) == 0 else { return }
        write()
        if !isOff { _ = fcntl(descriptor, F_SETNOSIGPIPE, 0) }
    }
}
#endif
