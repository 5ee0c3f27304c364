import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The protocol that a session of a ``URLSessionBridge`` gives its requests to.
///
/// The session calls it on its own queue or thread, and the client is called there too, in turns.
final class BridgingProtocol: URLProtocol {
    private var exchange: BridgedExchange?

    override static func canInit(with request: URLRequest) -> Bool {
        ["http", "https"].contains(request.url?.scheme?.lowercased())
    }

    override static func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        guard exchange == nil else { return takeTurn() }
        do throws(URLError) {
            try SessionTurns.refuseUnsupported(task, request)
            guard let route = URLSessionBridge.route(of: request) else {
                throw URLError(.resourceUnavailable, userInfo: [NSLocalizedDescriptionKey: Self.advice])
            }
            exchange = BridgedExchange(request, over: route, turns: SessionTurns(for: self))
        } catch {
            client?.urlProtocol(self, didFailWithError: error)
        }
    }

    private static let advice =
        "The URLSessionBridge of this session is gone, or its field was removed; keep the bridge as long as its sessions."

    override func stopLoading() {
        // A task that is suspended on Linux is stopped, and started again when it is resumed.
        guard task?.state != .suspended else { return }
        exchange?.stop()
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
