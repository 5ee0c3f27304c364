public import Decorum
import Foundation

/// The answers of a server, or the requests of a test, have changed since they were recorded.
public struct CassetteDriftError: Error, Hashable, Sendable {
    /// The reason of a change, which decides where it is mended.
    enum Cause: Hashable, Sendable {
        /// The server gives another answer.
        case answer
        /// The server no longer names the URL of a request that the test sent next.
        case lead
        /// The server fails: the class of the status is now 5xx, or there is no response.
        case outage
        /// The server refuses a request that it has accepted before: the class of the status is now 4xx.
        case refusal
        /// The server refuses a request otherwise than before: with another status of the class 4xx, or other content.
        case otherError
        /// The test sends another request, or sends it less often, or in another order.
        case request
        /// The test sends a request in addition to those that are recorded.
        case addition
        /// The test sends a request again whose answer is another one, which may be why.
        case repetition
        /// The server does not have a recorded failure, so the requests that followed from it are not sent.
        case recovery
        /// The server has failed, and has answered when the request was sent again.
        case transient
        /// The server has refused credentials, and has accepted others when the request was sent again.
        case renewal
        /// The server gives another answer, in a way that fails no test by itself.
        case accepted
    }

    /// The changes in one request, or in the answer to it.
    public struct Drift: Hashable, Sendable {
        /// The method and the URL, redacted.
        public let request: String
        /// The changes in the answer, with JSON paths and without values, and the beginning of the redacted content where the
        /// status is of another class; the types of events that are missing or new; the recorded `Link` or `Location` that an
        /// answer lacks, with the requests that were not sent for it, and a `Location` that leads elsewhere; for a request
        /// without a recording, the rules in which it differs from the nearest one, and the answer that led to it;
        /// the requests that were not sent, as the server did not fail; those that were sent again, as it did.
        public private(set) var changes: [String]
        /// The line of the recorded interaction in the file, counted from 1; nil if there is none, or if the format of the
        /// file has no lines.
        public let line: Int?
        let cause: Cause
        /// The changes that fail no test by themselves, where the test has failed, or where they explain other requests.
        var accepted: [String] = []
        /// Whether one of these is another life of a token, so that a client asks for the next one sooner or later.
        var hasTokenLife = false

        /// The drift with further changes.
        func adding(_ others: [String]) -> Self {
            var drift = self
            drift.changes += others
            return drift
        }

        /// The drift with changes that fail no test by themselves, except for those that are told already.
        func adding(accepted others: [String]) -> Self {
            var drift = self
            drift.accepted += others.filter { other in !changes.contains { $0.hasPrefix(other) } }
            return drift
        }

        /// The request with its changes, each on a line of its own.
        fileprivate func text(ofFailedTest: Bool) -> String {
            let place = line.map { "  (line \($0))" } ?? ""
            let words = ofFailedTest ? "may be why the test failed:" : "fails no test by itself:"
            let heading = accepted.isEmpty ? [] : [words]
            let lines = changes + heading + accepted.map { "  \($0)" }
            return "\n  \(request)\(place)" + lines.map { "\n    \($0)" }.joined()
        }

        /// Whether nothing in it fails a test by itself.
        fileprivate var isAccepted: Bool { [.recovery, .transient, .accepted].contains(cause) }
    }

    /// The path of the cassette.
    public let file: String
    /// The changes, in the order of the requests.
    public let drifts: [Drift]
    let advice: String
    /// Whether the test has failed before its requests and their answers were compared.
    let isOfFailedTest: Bool

    /// Whether no difference fails a test by itself.
    var isAccepted: Bool { drifts.allSatisfy(\.isAccepted) }
}

extension CassetteDriftError: DescribableError {
    /// Every change, by request, and how to mend it.
    public var description: String {
        let list = drifts.map { $0.text(ofFailedTest: isOfFailedTest) }.joined()
        return "\(fault):\(list)\nfix: \(advice)"
    }

    private var fault: String {
        if drifts.contains(where: { $0.cause == .outage }) {
            return "The server failed while its answers were compared with the cassette \(file)"
        }
        guard !isAccepted else { return acceptedFault }
        let others = drifts.filter { !$0.isAccepted }
        let additions = others.count { $0.cause == .addition }
        let requests = additions + others.count { [.request, .repetition].contains($0.cause) }
        if requests == 0 { return "The server no longer answers as the cassette \(file) has it" }
        if requests < others.count || drifts.contains(where: \.hasTokenLife) {
            return "Requests of the test, and answers of the server, are no longer those of the cassette \(file)"
        }
        return additions == others.count
            ? "The test sends requests that the cassette \(file) does not have"
            : "The test no longer sends the requests of the cassette \(file)"
    }

    private var acceptedFault: String {
        let causes = Set(drifts.map(\.cause))
        if causes.contains(.recovery) { return "The server has not failed where the cassette \(file) has a failure" }
        if causes.contains(.transient) {
            return
                "The server has answered a request only when it was sent again, and the cassette \(file) has no such failure"
        }
        let words = "server answers otherwise than the cassette \(file) has it"
        return isOfFailedTest
            ? "The test has failed, and the \(words)" : "The \(words), in ways that fail no test by themselves"
    }
}
