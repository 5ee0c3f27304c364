#if !canImport(Darwin)
import Foundation

/// The signal by which a system ends a process that writes to a pipe whose reader is gone.
enum PipeSignal {
    /// Keeps the signal from the process while something is written, without a change to how the process handles it.
    ///
    /// The system raises it in the thread that writes. There it is blocked meanwhile, and then taken away.
    ///
    /// - Parameters:
    ///   - descriptor: What is written to.
    ///   - write: Writes, and raises no other signal of this kind.
    static func withhold(writingTo descriptor: Int32, _ write: () -> Void) {
        var signal = sigset_t()
        var pending = sigset_t()
        var mask = sigset_t()
        // Each call reads or writes one of these sets, and keeps no pointer to it.
        unsafe sigemptyset(&signal)
        unsafe sigaddset(&signal, SIGPIPE)
        unsafe sigpending(&pending)
        // A signal that waits already is for somebody else, who has blocked it.
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
