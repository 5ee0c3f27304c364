import HTTPTypes
import Synchronization

/// The answers that a test has prepared for an origin: a queue, and routes.
final class AnswerBook: Sendable {
    struct Entry: Sendable {
        let moment: LoopbackOrigin.AnswerMoment
        let answer: @Sendable (ReceivedRequest) async throws -> LoopbackOrigin.Answer
    }

    struct Route: Sendable {
        let method: HTTPRequest.Method?
        let path: String
        let entry: Entry
    }

    private struct State {
        var queue: ArraySlice<Entry> = []
        var routes: [Route] = []
    }

    private let state = Mutex(State())

    var queuedCount: Int { state.withLock { $0.queue.count } }

    func enqueue(_ entries: [Entry]) { state.withLock { $0.queue += entries } }

    func add(_ route: Route) { state.withLock { $0.routes.append(route) } }

    /// Takes the next queued answer, or finds the route of the request.
    func takeEntry(for request: ReceivedRequest) -> Entry {
        let (queued, routes) = state.withLock { ($0.queue.popFirst(), $0.routes) }
        return queued ?? routes.match(request)?.entry ?? .notFound
    }

    /// Forgets all answers, and so releases what their closures hold, which may be the origin.
    func clear() {
        let state = state.withLock { state in
            defer { state = State() }
            return state
        }
        // Outside of the lock, since releasing a closure may run other code.
        _ = consume state
    }
}

extension [AnswerBook.Route] {
    /// Finds the route that was added last; for `HEAD`, a route for `GET` if no route for `HEAD` matches.
    func match(_ request: ReceivedRequest) -> AnswerBook.Route? {
        let candidates = reversed().lazy.filter { $0.matches(path: request.path, query: request.query) }
        let exact = candidates.first { $0.method == nil || $0.method == request.method }
        guard exact == nil, request.method == .head else { return exact }
        return candidates.first { $0.method == .get }
    }
}

extension AnswerBook.Route {
    fileprivate func matches(path requestPath: String, query: String?) -> Bool {
        if path.hasSuffix("*") { return requestPath.hasPrefix(path.dropLast()) }
        guard path.contains("?") else { return path == requestPath }
        return path == "\(requestPath)?\(query ?? "")"
    }
}

extension AnswerBook.Entry {
    fileprivate static let notFound = AnswerBook.Entry(moment: .afterBody) { request in
        LoopbackOrigin.Answer(.notFound, body: "The origin has no answer for \(request.method) \(request.path).\n")
    }
}

/// The requests and connections that an origin has seen, and the tasks that wait for more.
final class OriginLedger: Sendable {
    struct State: Sendable {
        var requests: [ReceivedRequest] = []
        /// The number of forgotten requests; the number of a request minus this is its index.
        var forgottenCount = 0
        /// The numbers of the requests that are still to be answered.
        var unanswered: Set<Int> = []
        /// The unanswered requests that were forgotten; their answers still need them.
        var forgotten: [Int: ReceivedRequest] = [:]
        var completeCount = 0
        var rejections: [RequestSyntaxError] = []
        var connectionCount = 0
        var openConnectionCount = 0
        var isStopped = false
    }

    let monitor = Monitor(State())
    private let keptBodyBytes: Int

    init(keptBodyBytes: Int) { self.keptBodyBytes = max(0, keptBodyBytes) }

    func connectionOpened() {
        monitor.update { state in
            state.connectionCount += 1
            state.openConnectionCount += 1
        }
    }

    func connectionClosed() { monitor.update { $0.openConnectionCount -= 1 } }

    func stop() { monitor.update { $0.isStopped = true } }

    func forgetRequests() {
        monitor.update { state in
            for number in state.unanswered where state.forgotten[number] == nil {
                state.forgotten[number] = state.index(of: number).map { state.requests[$0] }
            }
            state.forgottenCount += state.requests.count
            state.completeCount = 0
            state.requests = []
            state.rejections = []
        }
    }

    func reject(_ error: RequestSyntaxError) { monitor.update { $0.rejections.append(error) } }

    /// Records a request and returns its number.
    func begin(_ request: ReceivedRequest) -> Int {
        monitor.update { state in
            state.requests.append(request)
            let number = state.forgottenCount + state.requests.count - 1
            state.unanswered.insert(number)
            return number
        }
    }

    /// Releases a request that was answered, or never will be.
    func release(_ number: Int) {
        monitor.update { state in
            state.unanswered.remove(number)
            state.forgotten[number] = nil
        }
    }

    func append(_ bytes: [UInt8], raw: [UInt8], to number: Int) {
        monitor.update { state in
            state.change(number) { $0.append(bytes, raw: raw, keeping: keptBodyBytes) }
        }
    }

    func end(_ number: Int, raw: [UInt8], trailers: RawFields) {
        monitor.update { state in
            state.change(number) { request in
                request.appendRaw(raw, keeping: keptBodyBytes)
                request.trailers = trailers
                request.isComplete = true
            }
            if state.index(of: number) != nil { state.completeCount += 1 }
        }
    }

    func request(_ number: Int) -> ReceivedRequest? {
        monitor.read { state in state.index(of: number).map { state.requests[$0] } ?? state.forgotten[number] }
    }

    func wait(until condition: @escaping @Sendable (State) -> Bool) async throws {
        try await monitor.wait { state in
            if condition(state) { return true }
            guard !state.isStopped else { throw OriginStoppedError() }
            return false
        }
    }
}

extension OriginLedger.State {
    fileprivate func index(of number: Int) -> Int? {
        number < forgottenCount ? nil : number - forgottenCount
    }

    fileprivate mutating func change(_ number: Int, _ body: (inout ReceivedRequest) -> Void) {
        if let index = index(of: number) {
            body(&requests[index])
        } else if var request = forgotten.removeValue(forKey: number) {
            body(&request)
            forgotten[number] = request
        }
    }
}

/// A test waits for an event that a stopped origin can no longer see.
public struct OriginStoppedError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence that says so.
    public var description: String { "The loopback origin has been stopped, so the awaited event cannot come." }
}
