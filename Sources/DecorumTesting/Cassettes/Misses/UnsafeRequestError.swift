public import Decorum
import Foundation
import HTTPTypes

/// A request was not sent, because its method is not safe and the rules of the cassette refuse such methods.
///
/// See ``CassetteRules/refusesUnsafeMethods``.
public struct UnsafeRequestError: Error, Hashable, Sendable {
    /// The method and the URL of the request, redacted.
    public let request: String
    /// The path of the cassette.
    public let file: String
}

extension UnsafeRequestError: DescribableError {
    /// The request, the cause, and how to allow it.
    public var description: String {
        """
        The request was not sent, because its method may change the server, and the rules refuse that.
          \(request)
        fix: record with `rules.refusesUnsafeMethods = false`, against a server that may be changed
        file: \(file)
        """
    }
}

extension Cassette {
    /// Whether a request may have to be sent, so that a connection is needed.
    var needsConnection: Bool { mode != .replay || !rules.passedHosts.isEmpty || !rules.liveHosts.isEmpty }

    /// Throws if a request that is about to be sent has a method that is not safe, and the rules refuse it.
    func checkSafety(of request: borrowing Request) throws(UnsafeRequestError) {
        let safe: [HTTPRequest.Method] = [.get, .head, .options, .trace]
        guard rules.refusesUnsafeMethods, !safe.contains(request.head.method) else { return }
        let recorded = redactor.matchable(RecordedRequest(request.head, declaredBy: request.options))
        let error = UnsafeRequestError(
            request: SecretScanner(rules).masked("\(recorded.method) \(recorded.url)"), file: file.relativePath)
        keep(error)
        throw error
    }
}
