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

    func enqueue(_ entries: [Entry]) {
        state.withLock { $0.queue += entries }
    }

    func add(_ route: Route) {
        state.withLock { $0.routes.append(route) }
    }

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
