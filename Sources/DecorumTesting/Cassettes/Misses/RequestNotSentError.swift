public import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// A cassette has not sent a request to the server.
public struct RequestNotSentError: Error, Hashable, Sendable {
    /// The reason why a request is not sent.
    public enum Reason: Hashable, Sendable {
        /// The method may change the server, and the rules refuse that; see ``CassetteRules/refusesUnsafeMethods``.
        case unsafeMethod
        /// The request holds the placeholder of a secret that the cassette has played, which is no secret itself.
        ///
        /// In ``CassetteMode/append``, a login that is recorded is played, and its token is a placeholder. A server would
        /// refuse it, and its refusal would be recorded.
        case placeholder(String)
    }

    /// The method and the URL of the request, redacted.
    public let request: String
    /// The reason.
    public let reason: Reason
    /// The path of the cassette.
    public let file: String
    let advice: String
    /// The head of a request with a placeholder, redacted, for the report of a test; else empty.
    package let report: String
}

extension RequestNotSentError: DescribableError {
    /// The request, the cause, and how to record it.
    public var description: String {
        let cause =
            switch reason {
            case .unsafeMethod: "its method may change the server, and the rules refuse that"
            case .placeholder(let text): "it holds \(text), which the cassette has in place of a secret"
            }
        return """
            The request was not sent, because \(cause).
              \(request)
            fix: \(advice)
            file: \(file)
            """
    }
}

extension Cassette {
    /// Whether a request may have to be sent, so that a connection is needed.
    var needsConnection: Bool { mode != .replay || !rules.passedHosts.isEmpty || !rules.liveHosts.isEmpty }

    /// Throws if a request that is about to be sent has a method that is not safe, and the rules refuse it.
    func checkSafety(of request: borrowing Request) throws(RequestNotSentError) {
        let safe: [HTTPRequest.Method] = [.get, .head, .options, .trace]
        guard rules.refusesUnsafeMethods, !safe.contains(request.head.method) else { return }
        throw notSent(
            RecordedRequest(request.head, declaredBy: request.options), .unsafeMethod,
            advice: "record with `rules.refusesUnsafeMethods = false`, against a server that may be changed")
    }

    /// Throws if a request that is about to be sent holds a placeholder of the file.
    func checkPlaceholders(in request: RecordedRequest) throws(RequestNotSentError) {
        let placeholders = request.placeholders(named: false)
        guard content.count > 0, let placeholder = opened.first(of: placeholders) else { return }
        throw notSent(
            request, .placeholder(String(decoding: placeholder, as: UTF8.self)),
            advice: adviceToRecord(or: "send and record all requests of the test anew with `\(rewriteCommand)`"))
    }

    private func notSent(
        _ request: RecordedRequest, _ reason: RequestNotSentError.Reason, advice: String
    ) -> RequestNotSentError {
        let matchable = redactor.matchable(request)
        let scanner = SecretScanner(rules)
        // No recorded request tells where a secret without a name stands in the content.
        let head = MissReport(scanner: scanner).head("\(matchable.method) \(matchable.url)", matchable.fields)
        let count = matchable.body.bytes.count
        let error = RequestNotSentError(
            request: scanner.masked("\(matchable.method) \(matchable.url)"), reason: reason, file: file.relativePath,
            advice: advice,
            report: reason == .unsafeMethod ? "" : head + (count == 0 ? "" : "\n(\(count) bytes)\n"))
        keep(error)
        return error
    }
}

extension CassetteContent {
    /// The first of some placeholders that a file holds; in a format without a text, any may come from it.
    fileprivate func first(of placeholders: Set<[UInt8]>) -> [UInt8]? {
        guard !placeholders.isEmpty, let reader else { return placeholders.first }
        let held = PseudonymPlaces.all(in: reader.bytes).lazy
            .map { PercentCoding.decode(reader.bytes[$0], plusIsBlank: false) }
        return held.first(where: placeholders.contains)
    }
}
