#if os(Linux)
import DecorumCurl

/// What the engine's thread is asked to do, and the handle that it can be woken by.
///
/// `@unchecked Sendable`, since the handle is used by the engine's thread alone, but for waking, which any thread may
/// do and which happens under the lock, so never after the handle was freed.
@safe final class CurlInbox: @unchecked Sendable {
    enum Command {
        case start(CurlExchange)
        case receive(CurlExchange)
        case send(CurlExchange)
        case remove(CurlExchange)
        case stop
    }

    private struct State {
        var commands: [Command] = []
        var isSleeping = false
        var isClosed = false
    }

    let library: CurlLibrary
    let multi: UnsafeMutableRawPointer
    private let state = Locked(State())

    init?(_ library: CurlLibrary) {
        guard let multi = unsafe decorum_curl_multi_init(library.functions) else { return nil }
        self.library = library
        unsafe self.multi = multi
        unsafe decorum_curl_multi_close_on_exec(library.functions, multi)
    }

    func post(_ command: Command) {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.commands.append(command)
            guard state.isSleeping else { return }
            state.isSleeping = false
            _ = unsafe decorum_curl_multi_wakeup(library.functions, multi)
        }
    }

    /// Takes all commands into an empty array, and leaves its storage for those to come.
    func take(into commands: inout [Command]) {
        state.withLock { swap(&$0.commands, &commands) }
    }

    /// Waits until the network or a command needs the thread, or for some time.
    func sleep(forMilliseconds milliseconds: Int32) {
        let isIdle = state.withLock { state in
            state.isSleeping = state.commands.isEmpty
            return state.isSleeping
        }
        guard isIdle else { return }
        _ = unsafe decorum_curl_multi_poll(library.functions, multi, milliseconds)
        state.withLock { $0.isSleeping = false }
    }

    /// Frees the handle and ignores whatever comes later.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.commands = []
        }
        unsafe decorum_curl_multi_cleanup(library.functions, multi)
    }
}
#endif
