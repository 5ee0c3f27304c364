#if canImport(Darwin)
import Darwin

/// The signal by which a system ends a process that writes to a pipe whose reader is gone.
enum PipeSignal {
    /// Keeps the signal from the process while something is written, without a change to how the process handles it.
    ///
    /// The system raises it in the process, where another thread would get it, so it is switched off for the file that is
    /// written to. A file that belongs to others too is as it was before as soon as the entry is written.
    ///
    /// - Parameters:
    ///   - descriptor: What is written to.
    ///   - write: Writes.
    static func withhold(writingTo descriptor: Int32, _ write: () -> Void) {
        let isOff = fcntl(descriptor, F_GETNOSIGPIPE) == 1
        guard isOff || fcntl(descriptor, F_SETNOSIGPIPE, 1) == 0 else { return }
        write()
        if !isOff { _ = fcntl(descriptor, F_SETNOSIGPIPE, 0) }
    }
}
#endif
