#if os(Linux)
import DecorumCurl

/// The sockets of an engine's connections, by the ports of their ends; one thread uses them.
///
/// libcurl gives the ports of the connection that it is about to send on, but not its socket.
final class CurlSockets {
    struct Ends: Hashable {
        let local: Int32
        let remote: Int32
    }

    // Connections to different addresses may have the same ports.
    private var sockets: [Ends: Set<Int32>] = [:]
    private var ends: [Int32: Ends] = [:]
    /// The sockets on which an HTTP/1 response has arrived; over HTTP/2, a server may send at any time.
    private var answered: Set<Int32> = []

    /// Adds a connection; returns false where none of the sockets belongs to it, so that it is a reused one.
    func add(_ opened: [Int32], between ends: Ends) -> Bool {
        let own = opened.filter { decorum_curl_local_port($0) == ends.local }
        for socket in own {
            sockets[ends, default: []].insert(socket)
            self.ends[socket] = ends
        }
        return !own.isEmpty
    }

    func noteAnswer(between ends: Ends) {
        answered.formUnion(sockets[ends] ?? [])
    }

    /// Whether a connection that is about to be reused has unread bytes, or has ended.
    func hasInput(between ends: Ends) -> Bool {
        sockets[ends]?.contains { answered.contains($0) && decorum_curl_has_input($0) != 0 } ?? false
    }

    /// Whether the server has ended a connection of which all bytes were read.
    func hasEnded(between ends: Ends) -> Bool {
        guard let sockets = sockets[ends], !sockets.isEmpty else { return false }
        return sockets.allSatisfy { decorum_curl_has_ended($0) != 0 }
    }

    func close(_ socket: Int32) -> Int32 {
        answered.remove(socket)
        if let ends = ends.removeValue(forKey: socket) {
            sockets[ends]?.remove(socket)
            if sockets[ends]?.isEmpty == true { sockets[ends] = nil }
        }
        return decorum_curl_close_socket(socket)
    }
}

@available(*, unavailable)
extension CurlSockets: Sendable {}

/// A handle of libcurl that runs many transfers and owns their connections.
///
/// `@unchecked Sendable`, since one thread uses it, except for ``wakeUp()``, which any thread may call until ``close()``.
@safe final class CurlMulti: @unchecked Sendable {
    let library: CurlLibrary
    private let pointer: UnsafeMutableRawPointer

    init?(_ library: CurlLibrary) {
        guard let pointer = unsafe decorum_curl_multi_init(library.functions) else { return nil }
        self.library = library
        unsafe self.pointer = pointer
        unsafe decorum_curl_multi_close_on_exec(library.functions, pointer)
    }

    func set(_ option: decorum_curl_multi_option, _ value: Int) {
        _ = unsafe decorum_curl_multi_set_number(library.functions, pointer, option, value)
    }

    /// Adds a transfer; returns whether libcurl has accepted it.
    func add(_ easy: CurlEasy) -> Bool {
        unsafe decorum_curl_multi_add(library.functions, pointer, easy.pointer) == DECORUM_CURL_MULTI_OK
    }

    func remove(_ easy: CurlEasy) {
        _ = unsafe decorum_curl_multi_remove(library.functions, pointer, easy.pointer)
    }

    /// Sends and receives as much as is possible without waiting.
    func perform() {
        _ = unsafe decorum_curl_multi_perform(library.functions, pointer)
    }

    /// Takes a transfer that has ended, by the identifier of its handle; nil if none is left.
    func nextEnded() -> (identifier: Int, code: Int32)? {
        var code: Int32 = 0
        guard let easy = unsafe decorum_curl_multi_next_ended(library.functions, pointer, &code) else { return nil }
        return (Int(bitPattern: easy), code)
    }

    /// Waits until the network needs the thread, another thread wakes it, or the time is over.
    func poll(forMilliseconds milliseconds: Int32) {
        _ = unsafe decorum_curl_multi_poll(library.functions, pointer, milliseconds)
    }

    func wakeUp() {
        _ = unsafe decorum_curl_multi_wakeup(library.functions, pointer)
    }

    /// Closes all connections and frees the handle, which must not be used afterwards.
    func close() {
        unsafe decorum_curl_multi_cleanup(library.functions, pointer)
    }
}
#endif
