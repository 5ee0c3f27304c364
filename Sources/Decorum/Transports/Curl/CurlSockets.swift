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
#endif
