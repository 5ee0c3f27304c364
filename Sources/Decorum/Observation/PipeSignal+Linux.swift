#if !canImport(Darwin)
import Foundation

/// The signal (`SIGPIPE`) that ends a process that writes to a pipe without a reader.
enum PipeSignal {
    /// Prevents the signal during a write, without changing how the process handles the signal.
    ///
    /// The system sends the signal to the writing thread. It is blocked there during the write, and then consumed.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor that `write` writes to.
    ///   - write: Writes the entry, and causes no other signal of this kind.
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
}
#endif
