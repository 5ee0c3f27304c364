public import Decorum
import Foundation
public import HTTPTypes

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
/// A request gets **the first queued answer; without one, the answer of the route added last that matches; otherwise 404.**
/// An answer is taken when the head of the request has arrived, and given when its body has, unless the test asks for another
/// ``AnswerMoment``. A closure that throws makes a 500.
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
        try self.init(
            at: SocketPlatform.loopback, port: 0, clock: clock, keepingBodiesUpTo: keptBodyBytes, headLimit: headLimit)
    }

    /// Starts an origin at a port of an address, which need not be a loopback address.
    package convenience init(
        at address: String, port: Int, clock: any DatedClock, keepingBodiesUpTo keptBodyBytes: Int,
        headLimit: Int = 64 << 10
    ) throws {
        let ledger = OriginLedger(keptBodyBytes: keptBodyBytes)
        try self.init(ledger: ledger, at: address, port: port) { channel, book in
            Task {
                var server = ConnectionServer(
                    channel: channel, book: book, ledger: ledger, clock: clock,
                    parser: RequestParser(headLimit: max(0, headLimit)))
                await server.serve()
            }
        }
    }

    private init(
        ledger: OriginLedger, at address: String, port: Int,
        serve: (@Sendable (Channel, AnswerBook) -> Task<Void, Never>)?
    ) throws {
        let (socket, port) = try Socket.bound(to: address, port: port)
        origin = try Origin(scheme: "http", host: address, port: port)
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

    deinit { stop() }

    /// Creates an origin that refuses every connection until it is released: its port is bound, but nothing listens.
    ///
    /// - Throws: ``SocketError`` when the system has no descriptor or port left.
    public static func refusing() throws -> LoopbackOrigin {
        try LoopbackOrigin(ledger: OriginLedger(keptBodyBytes: 0), at: SocketPlatform.loopback, port: 0, serve: nil)
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

/// Answers that a test prepares.
extension LoopbackOrigin {
    /// Answers every request to a path in the same way; the parameters are the same as for a computed answer.
    public func route(
        _ method: HTTPRequest.Method?, _ path: String, answering moment: AnswerMoment = .afterBody, _ answer: Answer
    ) {
        route(method, path, answering: moment) { _ in answer }
    }

    /// Computes the answers to requests to a path; the route that was added last wins.
    ///
    /// A `HEAD` request that has no route is answered by the route for `GET`, without the content.
    ///
    /// ```swift
    /// origin.route(.post, "/items") { request in
    ///     .init(.created, body: "You sent \(request.bodyLength) bytes.")
    /// }
    /// ```
    ///
    /// A closure that captures the origin keeps it alive until ``stop()``.
    ///
    /// - Parameters:
    ///   - method: The method; nil for every method.
    ///   - path: The path. With a query it matches that query alone; with `*` at its end, every path that starts with it.
    ///   - moment: The moment of the call: with the whole request, or with its head alone.
    ///   - answer: Computes the answer; an error that it throws makes a 500.
    public func route(
        _ method: HTTPRequest.Method?, _ path: String, answering moment: AnswerMoment = .afterBody,
        _ answer: @escaping @Sendable (_ request: ReceivedRequest) async throws -> Answer
    ) {
        let entry = AnswerBook.Entry(moment: moment, answer: answer)
        book.add(AnswerBook.Route(method: method, path: path, entry: entry))
    }

    /// Adds answers at the end of the queue; each answers one request, whatever its method and path.
    public func enqueue(_ answers: Answer..., answering moment: AnswerMoment = .afterBody) {
        book.enqueue(answers.map { answer in AnswerBook.Entry(moment: moment) { _ in answer } })
    }

    /// Adds a computed answer to one request at the end of the queue; an error that it throws makes a 500.
    public func enqueue(
        answering moment: AnswerMoment = .afterBody,
        _ answer: @escaping @Sendable (_ request: ReceivedRequest) async throws -> Answer
    ) {
        book.enqueue([AnswerBook.Entry(moment: moment, answer: answer)])
    }

    /// The number of queued answers that no request has taken.
    public var queuedAnswerCount: Int { book.queuedCount }

    /// Closes all open connections, idle or not, as a server that restarts does; one that is accepted later stays open.
    public func closeConnections() {
        if let listener { listener.reactor.submit(.closeAll(listener, upTo: connectionCount)) }
    }
}

/// The requests and connections that the origin has seen.
extension LoopbackOrigin {
    /// The requests whose heads have arrived, in that order.
    public var requests: [ReceivedRequest] { ledger.monitor.read(\.requests) }

    /// The requests that were refused because they broke the rules of HTTP, in order.
    public var rejections: [RequestSyntaxError] { ledger.monitor.read(\.rejections) }

    /// The number of connections accepted so far.
    public var connectionCount: Int { ledger.monitor.read(\.connectionCount) }

    /// The number of connections that are open.
    public var openConnectionCount: Int { ledger.monitor.read(\.openConnectionCount) }

    /// Forgets the rejections and all requests so far, including those in progress.
    ///
    /// A closure that answers a forgotten request still gets the whole request.
    public func forgetRequests() { ledger.forgetRequests() }

    /// Waits until a number of requests, since the last ``forgetRequests()``, have arrived to their ends.
    ///
    /// - Returns: The requests, some of which may still be in progress.
    /// - Throws: `CancellationError` when the task is cancelled, ``OriginStoppedError`` when the origin stops first.
    @discardableResult public func waitForRequests(_ count: Int) async throws -> [ReceivedRequest] {
        try await ledger.wait { $0.completeCount >= count }
        return requests
    }

    /// Waits until the heads of a number of requests, since the last ``forgetRequests()``, have arrived.
    ///
    /// - Returns: The requests, some of which may still be in progress.
    /// - Throws: `CancellationError` when the task is cancelled, ``OriginStoppedError`` when the origin stops first.
    @discardableResult public func waitForHeads(_ count: Int) async throws -> [ReceivedRequest] {
        try await ledger.wait { $0.requests.count >= count }
        return requests
    }

    /// Waits until a number of connections have been accepted, of which some may be closed.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, ``OriginStoppedError`` when the origin stops first.
    public func waitForConnections(_ count: Int) async throws {
        try await ledger.wait { $0.connectionCount >= count }
    }

    /// Waits until exactly a number of connections are open; with 0, until the client has closed all.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, ``OriginStoppedError`` when the origin stops first.
    public func waitForOpenConnections(_ count: Int) async throws {
        try await ledger.wait { $0.openConnectionCount == count }
    }
}
