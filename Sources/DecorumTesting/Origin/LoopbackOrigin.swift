public import Decorum
import Foundation

/// A real HTTP/1.1 server on 127.0.0.1 that a test scripts and then questions.
///
/// ```swift
/// let origin = try LoopbackOrigin()
/// origin.route(.get, "/feed", .init(fields: ["ETag": #""1""#], body: "news"))
/// origin.enqueue(.closing)
///
/// let connection = SystemConnection().retrying()
/// let response = try await connection.send(.get(origin.url + "/feed"))
///
/// #expect(try await response.body.text(upTo: 1 << 10) == "news")
/// #expect(origin.requests.map(\.target) == ["/feed", "/feed"])
/// #expect(origin.connectionCount == 2)
/// origin.stop()
/// ```
///
/// It listens on a free port as soon as it exists, and stops at ``stop()`` or when it is released. The origins of a process
/// share one thread, and have a task for each connection; a thousand exchanges at the same time are no load. It speaks
/// HTTP as a strict server does: it keeps connections alive, takes pipelined requests, reads chunked bodies with trailers,
/// sends `100 Continue` to a client that waits for it, answers bytes that are not HTTP with 400, and closes the connection.
///
/// ## Answers
///
/// A request gets **the first queued answer; where none is left, that of the route added last that matches; otherwise
/// 404.** An answer is taken when the head of the request has arrived, and given when its body has, unless the test
/// asks for another ``AnswerMoment``. A closure that throws makes a 500.
///
/// A script can make every mistake that a server can make: see ``Answer`` and ``Step``.
///
/// ## When the client goes away
///
/// A client that closes its side of the connection cancels the pauses and closures of the answer, so that
/// ``openConnectionCount`` falls even while a script hangs. Bytes that need no wait are still sent to it.
///
/// The end of a connection arrives behind its bytes (RFC 9293, section 3.6). While a script leaves more content unread than the
/// buffers of the sockets hold, the origin cannot see that the client has gone: write `.script(.receiveBody, .hang)` in the place of
/// ``Answer/hanging`` where a test then waits for ``waitForOpenConnections(_:)``.
///
/// ## On Apple's systems
///
/// A test that runs in an app needs `NSAllowsLocalNetworking` under `NSAppTransportSecurity` in the app's Info.plist, and in
/// a sandboxed app of macOS the entitlements for network clients and servers. URLSession delivers the head and the first 512
/// bytes of many responses together: a script that waits within its content sends `Content-Type: application/json`.
public final class LoopbackOrigin: Sendable {
    /// When a request is answered.
    public enum AnswerMoment: Sendable {
        /// When the whole request has arrived.
        case afterBody
        /// When the head has arrived; the rest of the body that the steps have not read is read and recorded after the answer.
        case afterHead
    }

    /// The scheme, the address and the port.
    public let origin: Origin

    let book = AnswerBook()
    let ledger: OriginLedger
    let listener: Listener?
    private let socket: Socket

    /// Starts an origin.
    ///
    /// - Parameters:
    ///   - clock: The clock for the pauses of scripts.
    ///   - keptBodyBytes: The number of bytes of each request's body that are kept, so that large bodies need little memory;
    ///     all bytes are counted.
    ///   - headLimit: The largest head of a request; a larger one is answered with 431.
    /// - Throws: ``SocketError`` when the system has no descriptor or port left.
    public convenience init(
        clock: any DatedClock = SystemClock(), keepingBodiesUpTo keptBodyBytes: Int = 1 << 20,
        headLimit: Int = 64 << 10
    ) throws {
        let ledger = OriginLedger(keptBodyBytes: keptBodyBytes)
        try self.init(ledger: ledger) { channel, book in
            Task {
                var server = ConnectionServer(
                    channel: channel, book: book, ledger: ledger, clock: clock, headLimit: max(0, headLimit))
                await server.serve()
            }
        }
    }

    private init(ledger: OriginLedger, serve: (@Sendable (Channel, AnswerBook) -> Task<Void, Never>)?) throws {
        let (socket, port) = try Socket.bound()
        origin = try Origin(scheme: "http", host: "127.0.0.1", port: port)
        self.socket = socket
        self.ledger = ledger
        listener = try serve.map { [book] serve in
            try Listener(socket) { channel in
                ledger.connectionOpened()
                channel.attach(serve(channel, book))
            } closed: {
                ledger.connectionClosed()
            }
        }
    }

    deinit {
        stop()
    }

    /// Creates an origin that refuses every connection.
    ///
    /// Its port is bound, so that no other program gets it, but nothing listens.
    ///
    /// - Returns: An origin that refuses connections until it is released.
    /// - Throws: ``SocketError`` when the system has no descriptor or port left.
    public static func refusing() throws -> LoopbackOrigin {
        try LoopbackOrigin(ledger: OriginLedger(keptBodyBytes: 0), serve: nil)
    }

    /// The start of every URL, as in `http://127.0.0.1:49152`, without a slash at the end.
    public var url: String { origin.description }

    /// The port.
    public var port: Int { origin.port }

    /// Closes all sockets, and cancels the answers under way; stopping again does nothing.
    ///
    /// All descriptors are closed when this returns. Tasks that wait for requests or connections get an
    /// ``OriginStoppedError``.
    public func stop() {
        listener?.stop()
        socket.release()
        ledger.stop()
        book.clear()
    }
}
