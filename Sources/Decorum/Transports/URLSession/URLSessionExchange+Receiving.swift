import Foundation
import HTTPTypes
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The events of the exchange's task.
extension URLSessionExchange {
    /// Receives the certificates of the server to whom the task has opened a connection.
    func receive(certificates: [Data]) {
        state.withLock { $0.certificates = certificates }
    }

    /// Receives the head of an informational or a final response.
    ///
    /// Where it is invalid, its connection is distrusted before the caller hears of it and may send another request.
    func receive(_ response: HTTPURLResponse, orDistrust distrust: () -> Void) {
        guard let head = HTTPResponse(response) else {
            distrust()
            abort(with: TransportError(.malformedResponse, at: .head))
            return
        }
        guard !URLSessionPlatform.isRefusal(head, byProxyOf: origin) else {
            abort(with: TransportError(.proxyRefused, at: .connecting))
            return
        }
        guard head.status.kind != .informational else {
            progress()
            state.withLock { $0.informational.append(head) }
            return
        }
        let (waiter, informational) = state.withLock { state in
            defer { state.head = nil }
            state.hasHead = true
            return (state.head, state.informational)
        }
        progress()
        let response = answer(head, informational: informational)
        let expected = response.body.length
        state.withLock { $0.expected = expected }
        waiter?.resume(returning: response)
        endIfAnswered()
    }

    /// Ends the exchange where the whole response has arrived before all of the content was sent.
    ///
    /// On Linux, the platform would wait for a server that does not read on.
    private func endIfAnswered() {
        let task = state.withLock { state in
            guard state.isWhole, let length = state.upload.length, state.sent < length else {
                return nil as URLSessionTask?
            }
            return state.task
        }
        guard let task, finish(.success(())) else { return }
        control.async { task.cancel() }
    }

    /// Records the number of bytes of the content that were sent.
    func sent(_ count: Int64) {
        progress()
        state.withLock { $0.sent = count }
    }

    private func answer(_ head: consuming HTTPResponse, informational: [HTTPResponse]) -> Response {
        var metadata = metadata
        if !informational.isEmpty { metadata.informational = informational }
        let certificates = state.withLock { $0.certificates }
        if !certificates.isEmpty { metadata.serverCertificates = certificates }
        guard method != .head, head.status != .noContent, head.status != .notModified else {
            return Response(head: head, metadata: metadata)
        }
        let codings = head.removeDecodedCodings()
        if !codings.isEmpty { metadata.decodedContentCodings = codings }
        let lease = TransferLease(self)
        let body = Body(trustedLength: head.contentLength, replay: .once) { _ in URLSessionBodyReader(lease) }
        return Response(head: head, body: body, metadata: metadata)
    }

    /// Receives a part of the body.
    func receive(_ data: Data) {
        progress()
        state.withLock { $0.received += Int64(data.count) }
        do {
            try buffer.append(data)
            flow.received(by: buffer, state.withLock { $0.task }, on: control)
            endIfAnswered()
        } catch {
            abort(with: error)
            buffer.discard(error)
        }
    }

    /// Records that the reader has read, after which the server may go on.
    func readerHasRead() {
        if flow.read(from: buffer) { progress() }
    }

    /// Restarts the idle time, since bytes were sent or received.
    func progress() {
        let now = watch.clock.now
        state.withLock { $0.lastProgress = now }
    }

    /// Receives the end of the task; its connection is distrusted where the head and the platform disagree on the length.
    func complete(with error: (any Error)?, _ response: URLResponse?, orDistrust distrust: () -> Void) {
        // On Linux, a redirection without a usable Location ends without a head, and its body is lost.
        if error == nil, stage == .head, let response = response as? HTTPURLResponse {
            receive(response, orDistrust: distrust)
            let hasLostBody = HTTPResponse(response)?.contentLength != 0
            finish(hasLostBody ? .failure(TransportError(.truncated, at: .body)) : .success(()))
            return
        }
        let missing = state.withLock { state in state.expected.map { $0 - state.received } }
        let isCut = (missing ?? 0) > 0
        switch error {
        // The response is whole although the server broke the connection after it.
        case let error? where missing != 0:
            finish(.failure(URLSessionFailure.error(for: error, at: stage, isCut: isCut)))
        case nil where (missing ?? 0) != 0:
            distrust()
            // libcurl itself fails a body that is cut, so that the lengths of the head are at fault.
            let isTruncated = isCut && !URLSessionPlatform.isBuiltOnLibcurl
            finish(.failure(TransportError(isTruncated ? .truncated : .malformedResponse, at: .body)))
        default: finish(.success(()))
        }
    }
}
