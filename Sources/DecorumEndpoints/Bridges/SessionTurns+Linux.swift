#if canImport(FoundationNetworking)
import Decorum
import Foundation
import FoundationNetworking
import HTTPTypes

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
