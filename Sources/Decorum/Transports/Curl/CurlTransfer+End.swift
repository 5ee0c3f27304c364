#if os(Linux)
import DecorumCurl

/// The end of a response before the end of its request, where libcurl 7.88 does not report it.
extension CurlTransfer {
    /// Ends the exchange if its response has ended, or makes libcurl look whether it has.
    func lookForEnd() {
        guard let exchange, let easy else { return }
        let (receiving, sending) = exchange.state.withLock { ($0.receiving, $0.sending) }
        // Otherwise libcurl has content that its reader has not taken.
        guard receiving == .going else { return }
        if response.endsWithConnection {
            guard hasConnectionEnded, isUploading(exchange.uploadLength) else { return }
            easy.closeConnection()
            complete(Int32(DECORUM_CURL_OK))
            exchange.engine.post(.remove(exchange))
        } else if sending == .going {
            // When the last of the content has closed an HTTP/2 stream, libcurl waits for a further frame of it, but none
            // comes. It looks at the stream again only where a pause ends.
            easy.pause(receiving: false, sending: true)
            easy.pause(receiving: false, sending: false)
        }
    }

    private var hasConnectionEnded: Bool {
        // A server may wait for the client's close_notify before it ends the connection below TLS.
        if readsAlerts, !awaitsCloseNotify { return true }
        guard let ends, let context else { return false }
        // All connections of a Unix socket have the same ports, so a reused one cannot be found.
        if context.usesUnixSocket { return opened.last.map { decorum_curl_has_ended($0) != 0 } ?? false }
        return context.sockets.hasEnded(between: ends)
    }
}
#endif
