import Foundation
import HTTPTypes
import Synchronization

/// The task that reads a shared body for its readers.
extension SharedBody {
    /// Reads a chunk whenever a reader waits for one, until the end or until no reader is left.
    func transfer(_ source: Body) async {
        do {
            var reader = try await source.open()
            while await waitForDemand() {
                guard let chunk = try await reader.next() else {
                    finish(.success(reader.trailers))
                    return
                }
                await makeRoom(for: chunk.count)
                let waiters = state.withLock { $0.deliver(chunk) }
                for waiter in waiters { waiter.resume(returning: chunk) }
            }
        } catch {
            finish(.failure(error))
        }
    }

    private func finish(_ end: Result<HTTPFields?, any Error>) {
        let waiters = state.withLock { $0.finish(end) }
        for waiter in waiters { waiter.resume(with: end.map { _ in nil }) }
    }

    /// Waits until a reader wants a chunk; returns whether a reader is left.
    private func waitForDemand() async -> Bool {
        while true {
            let (isWanted, isAbandoned) = state.withLock { ($0.isWanted, $0.readers.isEmpty) }
            guard !isWanted, !isAbandoned else { return !isAbandoned }
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    guard !state.isWanted, !state.readers.isEmpty else { return true }
                    state.demand = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }

    /// Waits for slow readers, within the time that their patience allows.
    private func makeRoom(for count: Int) async {
        while case .taken = state.withLock({ $0.room(for: count, limit: settings.backlogLimit) }) {
            let start = settings.clock.now
            guard case .taken(let slow, _?) = await waitForChange(of: count) else { continue }
            let duration = start.duration(to: settings.clock.now)
            state.withLock { $0.charge(duration, to: slow) }
        }
    }

    /// Waits until a reader has read, waits, or has dropped the body, or until the time is over; returns the room that
    /// was found before the wait.
    private func waitForChange(of count: Int) async -> SharedBodyState.Room {
        var room = SharedBodyState.Room.free
        var alarm: Task<Void, Never>?
        await withCheckedContinuation { continuation in
            room = state.withLock { state in
                let room = state.room(for: count, limit: settings.backlogLimit)
                if case .taken = room { state.room = continuation }
                return room
            }
            switch room {
            case .free: continuation.resume()
            case .taken(_, let patience?): alarm = settings.spawner.spawn { [self] in await wakePump(after: patience) }
            case .taken(_, nil): break
            }
        }
        alarm?.cancel()
        return room
    }

    private func wakePump(after patience: Duration) async {
        do {
            try await settings.clock.sleep(for: patience)
        } catch {
            return
        }
        state.withLock { $0.room.take() }?.resume()
    }
}
