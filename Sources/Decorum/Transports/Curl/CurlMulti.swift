#if os(Linux)
import DecorumCurl

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
