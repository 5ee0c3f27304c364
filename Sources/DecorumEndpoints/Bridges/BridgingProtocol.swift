import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

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
