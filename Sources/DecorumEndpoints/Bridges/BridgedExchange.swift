import Decorum
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

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
