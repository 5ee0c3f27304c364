public import Decorum
import HTTPTypes
import Synchronization

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Sends the requests of a `URLSession` through a connection, for an SDK that takes a `URLSessionConfiguration`.
///
/// ```swift
/// let bridge = URLSessionBridge(to: connection)
/// let client = MapClient(configuration: bridge.configuration())
/// ```
///
/// Keep the bridge as long as its sessions: without it, their new requests fail. All that a session does by itself is
/// turned off, since the layers of the connection do it: cookies, the cache, credentials and redirections. Timeouts of the
/// session may still end a request. Statuses are given to the SDK, which judges them itself. Errors are `URLError`s, whose
/// `NSUnderlyingErrorKey` is the error of the layer. Cancelling a task of the session cancels the exchange.
///
/// A session holds no server back: its chunks wait in its memory until they are read. Progress of uploads, metrics and
/// redirections are not reported to the delegate, and a session in the background cannot be bridged.
///
/// Each configuration has a `URLProtocol` of its own, which takes all its requests. An SDK that replaces `protocolClasses`
/// cannot be bridged. The few bytes of that class stay in memory, so make one configuration for each SDK, and not for each
/// request.
///
/// ## On Linux
///
/// FoundationNetworking of Swift 6.3 gives protocols less than Apple's systems do:
///
/// - A task with a completion handler, and `data(for:)`, keep only the last chunk. So ``Delivery/whole(upTo:)`` is the
///   default there and everywhere; choose ``Delivery/chunks`` for a session with a delegate.
/// - The content of an upload task and the file of a download task cannot be reached, so both fail with `.unsupportedURL`.
///   Use data tasks with `httpBody` or `httpBodyStream`.
/// - A 401 has no `WWW-Authenticate`, with which the task would never end.
/// - Additional fields are sent only where they are in the configuration that ``configuration(basedOn:)`` gets, and not
///   if an SDK adds them to its result.
public final class URLSessionBridge: Sendable {
    /// The manner in which a task receives the content of a response.
    public enum Delivery: Sendable, Hashable {
        /// The content comes in one piece, once all of it has arrived, and a longer one is an error.
        case whole(upTo: Int)
        /// The content comes in chunks while it arrives.
        case chunks
    }

    private let connection: any Connection
    private let delivery: Delivery
    private let protocols = Mutex<[BridgingProtocol.Type]>([])

    /// Creates a bridge.
    ///
    /// - Parameters:
    ///   - connection: The connection that sends the requests.
    ///   - delivery: The manner in which a task receives content: in one piece of up to 16 MiB, unless you choose another.
    public init(to connection: some Connection, delivery: Delivery = .whole(upTo: 16 << 20)) {
        self.connection = connection
        self.delivery = delivery
    }

    deinit {
        for type in protocols.withLock({ $0 }) { BridgeRoute.end(at: type) }
    }

    /// Makes a configuration whose sessions send through the connection.
    ///
    /// - Parameter base: A configuration to copy, for settings of the SDK's such as additional fields.
    /// - Returns: A new configuration.
    public func configuration(basedOn base: URLSessionConfiguration = .ephemeral) -> URLSessionConfiguration {
        let configuration = base.copy() as? URLSessionConfiguration ?? .ephemeral
        var fields: [String: String] = [:]
        for (name, value) in configuration.httpAdditionalHeaders ?? [:] { fields["\(name)"] = "\(value)" }
        let type = BridgeRoute.begin(BridgeRoute(connection: connection, delivery: delivery, fields: fields))
        protocols.withLock { $0.append(type) }
        configuration.protocolClasses = [type]
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        return configuration
    }
}

/// The way that the requests of one configuration take.
///
/// A session makes the instances of a protocol from its class alone, so each way has a class of its own, and a table leads
/// from there to the connection. A class is never used a second time, since an old session may still have it.
struct BridgeRoute: Sendable {
    let connection: any Connection
    let delivery: URLSessionBridge.Delivery
    let fields: [String: String]

    private static let table = Mutex<(count: Int, routes: [ObjectIdentifier: BridgeRoute])>((0, [:]))

    static func begin(_ route: BridgeRoute) -> BridgingProtocol.Type {
        table.withLock { table in
            table.count += 1
            let type = BridgingProtocol.numbered(table.count)
            table.routes[ObjectIdentifier(type)] = route
            return type
        }
    }

    static func end(at type: BridgingProtocol.Type) {
        _ = table.withLock { $0.routes.removeValue(forKey: ObjectIdentifier(type)) }
    }

    /// Returns the way that belongs to a class; nil once its bridge is gone.
    static func route(of type: BridgingProtocol.Type) -> BridgeRoute? {
        table.withLock { $0.routes[ObjectIdentifier(type)] }
    }

    /// Adds the fields of the configuration that a request lacks.
    func completed(_ request: URLRequest) -> URLRequest {
        var request = request
        for (name, value) in fields where request.value(forHTTPHeaderField: name) == nil {
            request.setValue(value, forHTTPHeaderField: name)
        }
        return request
    }
}

extension BridgingProtocol {
    /// Returns a subclass for a number, which differs from the subclasses of all other numbers: its parameter is the number in
    /// binary digits.
    fileprivate static func numbered(_ number: Int) -> BridgingProtocol.Type {
        subclass(after: End.self, number)
    }

    private static func subclass<Digits>(after digits: Digits.Type, _ rest: Int) -> BridgingProtocol.Type {
        guard rest > 0 else { return NumberedProtocol<Digits>.self }
        return rest.isMultiple(of: 2)
            ? subclass(after: Zero<Digits>.self, rest / 2) : subclass(after: One<Digits>.self, rest / 2)
    }
}

private final class NumberedProtocol<Digits>: BridgingProtocol {}

private enum End {}

private enum Zero<Digits> {}

private enum One<Digits> {}

/// A request of a session on its way through a connection, whose events wait for the next turn of the session.
final class BridgedExchange: Sendable {
    enum Event: Sendable {
        case head(HTTPURLResponse)
        case chunk(Data)
        case end
        case failure(URLError)
    }

    private struct State {
        var work: Task<Void, Never>?
        var events: ArraySlice<Event> = []
        var hasTurn = false
        var isStopped = false
    }

    private let state = Mutex(State())
    private let turns: SessionTurns

    /// Starts to send a request.
    init(_ request: URLRequest, over route: BridgeRoute, turns: SessionTurns) {
        self.turns = turns
        // The session belongs to no task, and ends the work by `stop()`.
        let work = SystemSpawner().spawn { await self.perform(request, over: route) }
        state.withLock { $0.work = work }
    }

    /// Cancels the work, and forgets the events.
    func stop() {
        let work = state.withLock { state in
            state.isStopped = true
            state.events = []
            return state.work
        }
        work?.cancel()
    }

    /// Returns the oldest event; nil ends the turn, and the next event asks for another one.
    func nextEvent() -> Event? {
        state.withLock { state in
            if state.events.isEmpty { state.hasTurn = false }
            return state.events.popFirst()
        }
    }

    private func perform(_ original: URLRequest, over route: BridgeRoute) async {
        do {
            let request = route.completed(original)
            let response = try await route.connection.send(Request(bridging: request))
            guard let url = request.url, let head = HTTPURLResponse(SessionTurns.acceptable(response), url: url) else {
                throw URLError(.badServerResponse)
            }
            add(.head(head))
            switch route.delivery {
            case .whole(let limit):
                let content = try await response.data(upTo: limit)
                if !content.isEmpty { add(.chunk(content)) }
            case .chunks: for try await chunk in response.body { add(.chunk(chunk)) }
            }
            add(.end)
        } catch {
            add(.failure(URLError(error, url: original.url)))
        }
    }

    private func add(_ event: Event) {
        let needsTurn = state.withLock { state in
            guard !state.isStopped else { return false }
            state.events.append(event)
            defer { state.hasTurn = true }
            return !state.hasTurn
        }
        if needsTurn { turns.request() }
    }
}

/// The protocol that a session of a ``URLSessionBridge`` gives its requests to, in a subclass for each configuration.
///
/// The session calls it on its own queue or thread, and the client is called there too, in turns.
class BridgingProtocol: URLProtocol {
    private var exchange: BridgedExchange?

    override class func canInit(with request: URLRequest) -> Bool {
        ["http", "https"].contains(request.url?.scheme?.lowercased())
    }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        guard exchange == nil else { return takeTurn() }
        do throws(URLError) {
            try SessionTurns.refuseUnsupported(task, request)
            guard let route = BridgeRoute.route(of: Self.self) else {
                throw URLError(.resourceUnavailable, userInfo: [NSLocalizedDescriptionKey: Self.advice])
            }
            exchange = BridgedExchange(request, over: route, turns: SessionTurns(for: self))
        } catch {
            client?.urlProtocol(self, didFailWithError: error)
        }
    }

    private static let advice = "The URLSessionBridge of this session is gone; keep it as long as its sessions."

    override func stopLoading() {
        if !SessionTurns.isPaused(task) { exchange?.stop() }
    }

    /// Gives the client the events that wait.
    func takeTurn() {
        while let event = exchange?.nextEvent() {
            switch event {
            case .head(let head): client?.urlProtocol(self, didReceive: head, cacheStoragePolicy: .notAllowed)
            case .chunk(let chunk): client?.urlProtocol(self, didLoad: chunk)
            case .end: client?.urlProtocolDidFinishLoading(self)
            case .failure(let error): client?.urlProtocol(self, didFailWithError: error)
            }
        }
    }
}

#if !canImport(FoundationNetworking)
/// The turns in which a protocol calls its client: on the thread that has started it.
///
/// `@unchecked Sendable`, since the protocol is touched on its thread alone.
final class SessionTurns: NSObject, @unchecked Sendable {
    private weak var bridging: BridgingProtocol?
    private let thread = Thread.current

    init(for bridging: BridgingProtocol) {
        self.bridging = bridging
    }

    /// Asks for a turn.
    func request() {
        perform(
            #selector(take), on: thread, with: nil, waitUntilDone: false, modes: [RunLoop.Mode.common.rawValue])
    }

    @objc private func take() { bridging?.takeTurn() }

    /// Refuses nothing, since a session gives the content of uploads as a stream, and writes the files of downloads itself.
    static func refuseUnsupported(_ task: URLSessionTask?, _ request: URLRequest) throws(URLError) {}

    /// Always false: loading stops for good.
    static func isPaused(_ task: URLSessionTask?) -> Bool { false }

    /// Returns the response as it is.
    static func acceptable(_ response: Response) -> Response { response }
}
#endif

#if canImport(FoundationNetworking)
/// The turns in which a protocol calls its client: on the work queue of the session, which only the session can reach.
///
/// The client reads tables of the session without a lock. To resume a task that runs makes the session call
/// `startLoading()` once more, on that queue, and a task that has been cancelled is not resumed.
struct SessionTurns: Sendable {
    private let task: URLSessionTask?

    init(for bridging: BridgingProtocol) {
        task = bridging.task
    }

    /// Asks for a turn; a suspended task takes it when the app resumes it.
    func request() {
        if let task, task.state == .running { task.resume() }
    }

    /// Throws for tasks whose content or file FoundationNetworking keeps to itself, and for which it would trap.
    static func refuseUnsupported(_ task: URLSessionTask?, _ request: URLRequest) throws(URLError) {
        let hasContent = request.httpBody != nil || request.httpBodyStream != nil
        guard task is URLSessionDownloadTask || (task is URLSessionUploadTask && !hasContent) else { return }
        throw URLError(.unsupportedURL, userInfo: [NSLocalizedDescriptionKey: "Use a data task for a bridged session."])
    }

    /// Whether loading stops only until the task is resumed, as for a suspended one.
    static func isPaused(_ task: URLSessionTask?) -> Bool { task?.state == .suspended }

    /// Removes the challenge of a 401, after which FoundationNetworking would wait for a credential without end.
    static func acceptable(_ response: Response) -> Response {
        guard response.status == .unauthorized else { return response }
        var response = response
        response.head.headerFields[.wwwAuthenticate] = nil
        return response
    }
}
#endif
