#if os(Linux)
import DecorumCurl

/// The sockets of an engine's connections, by the ports of their ends; used by one thread.
///
/// libcurl tells the ports of the connection that it is about to send on, and not its socket.
final class CurlSockets {
    struct Ends: Hashable {
        let local: Int32
        let remote: Int32
    }

    // Connections to different addresses may have the same ports.
    private var sockets: [Ends: Set<Int32>] = [:]
    private var ends: [Int32: Ends] = [:]
    /// Those on which a response of HTTP/1 came: on others, a server may send at any time.
    private var answered: Set<Int32> = []

    /// Takes note of a connection; false where none of the sockets is its own.
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

    /// Whether bytes wait on a connection that is about to be used again, or it has ended.
    func hasInput(between ends: Ends) -> Bool {
        sockets[ends]?.contains { answered.contains($0) && decorum_curl_has_input($0) != 0 } ?? false
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
#endif
