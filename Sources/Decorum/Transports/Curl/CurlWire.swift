#if os(Linux)
/// The side of an exchange that only the engine's thread sees.
final class CurlWire {
    var easy: CurlEasy?
    var loop: CurlLoop?
    /// How often libcurl was about to send the request.
    var attempts = 0
    /// That of the response; nil before its head is complete.
    var status: Int?
    var hasHead: Bool { status != nil }
    var head = RawHead()
    var informational: [RawHead] = []
    var trailers = RawHead()
    var lineBytes = 0
    var sentBytes: Int64 = 0
    /// Whether libcurl has all of the request's content.
    var hasSuppliedEnd = false
    /// How much of the response's content is to come; nil where its head does not tell.
    var missingBytes: Int64?
    /// The sockets that were opened for the exchange.
    var opened: [Int32] = []
    /// The ports of the connection that the request goes out on.
    var ends: CurlSockets.Ends?
    /// Whether the exchange starts again on a connection of its own, before anything was sent.
    var isRestarting = false
    /// Whether the system had no descriptor or memory for a socket.
    var lacksSockets = false
    /// Whether the handle may keep something of the exchange that its next one would suffer from.
    var marksHandle = false
    var isDiscarding = false
    /// Whether the loop knows of something that happened in this turn.
    var isEventful = false
    var hasProgress = false
    let end = TransferEnd()
}

@available(*, unavailable)
extension CurlWire: Sendable {}
#endif
