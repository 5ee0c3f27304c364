#if AsyncHTTPClient
import Decorum
import Synchronization

/// The ways in which the exchange ends.
extension AsyncHTTPClientExchange {
    var timeLimit: TimeLimit? {
        state.withLock { state in
            guard state.end == nil else { return nil }
            // A slow reader, and slow content of the request before the head, do not count as the server's time.
            let awaitsClient = state.waiters.producer != nil || (state.waiters.reading != nil && !state.hasHead)
            return limits.next(
                after: awaitsClient ? watch.clock.now : state.lastProgress, at: state.hasHead ? .body : .head)
        }
    }

    func timeOut(at limit: TimeLimit) {
        guard isStill(at: limit) else { return }
        let end = { @Sendable [self] in finish(.failure(limits.error(at: limit, stage))) }
        guard let connections = owner.connections else {
            end()
            return
        }
        // Before the caller hears of it, whose next request would otherwise be sent on the dead connection.
        connections.retire(servingAuthority: authority, silentFor: limits.idleTimeout, then: end)
    }

    func cancel() {
        finish(.failure(CancellationError()), isUnwanted: true)
    }

    func finish(_ end: Result<Void, any Error>, isUnwanted: Bool = false) {
        let end = end.mapError {
            TransportError.locate(
                $0, at: metadata.url.flatMap { try? Origin($0) }, after: beginning.duration(to: watch.clock.now),
                method: method, url: metadata.url, routeName: metadata.routeName)
        }
        let waiters = state.withLock { state in
            let waiters = state.end(with: end)
            if isUnwanted {
                state.chunks = []
                state.end = end
            }
            return waiters
        }
        guard let waiters else { return }
        watch.remove(self)
        owner.transfers.end()
        if case .failure(let error) = end {
            waiters.transfer?.cancel()
            waiters.head?.resume(throwing: error)
        }
        waiters.reading?.cancel()
        waiters.reader?.resume()
        waiters.producer?.resume()
    }
}
#endif
