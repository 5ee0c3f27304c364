public import Foundation
public import HTTPTypes
import Synchronization

/// Collects the requests that transports really send for one request, so that a layer knows whether it may share the
/// response.
///
/// A layer that gives one response to several requests, such as a cache, has to know that the server got the same
/// request as the layer, for the same user. A layer further in may add credentials without declaring it. Therefore the
/// sharing layer puts a collector into the request, every transport reports each request that it sends, and the layer
/// shares the response only if ``allowsSharing`` is true:
///
/// ```swift
/// var request = request
/// let sent = request.collectSent()
/// let response = try await base.send(request)
/// if sent.allowsSharing {
///     await memory.keep(response, for: key)
/// }
/// ```
///
/// The collector records each retry and each hop of a redirection. An added or changed field is no difference if it tells the
/// server nothing about the user, such as `User-Agent`, `Accept-Encoding`, `Date`, `traceparent` and the conditional fields,
/// unless the request declares it secret or its value holds a token. `Proxy-Authorization` and a removed field do not count.
public final class SentRequests: Sendable {
    /// A difference between a request that was sent and the request that was asked for.
    public struct Difference: Sendable, Hashable, CustomStringConvertible {
        /// The difference in a few words, without a value of the request.
        public let description: String

        package static let unreported = Difference(description: "no transport reported what it sent")
        static let target = Difference(description: "another target was requested")
        static let method = Difference(description: "another method was used")
        static let content = Difference(description: "other content was sent")
        static let clientCertificate = Difference(description: "the transport shows a client certificate")
        static let principal = Difference(description: "a layer further in set the principal")

        static func field(_ name: HTTPField.Name) -> Difference {
            Difference(description: "the field \(name.canonicalName) was added or changed")
        }
    }

    fileprivate struct State: ~Copyable {
        var isReported = false
        var date: Date?
        var difference: Difference?
        var redirections: [AskedRequest.Target] = []
    }

    /// The request that was asked for; nil if the request names a principal, because nothing is compared then.
    private let asked: AskedRequest?
    /// The collector of a layer further out, which gets each report too.
    private let outer: SentRequests?
    private let clock: (any DatedClock)?
    private let state = Mutex(State())

    /// Creates a collector for what is sent for a request; `isNeutral` returns whether an added or changed field tells the
    /// server nothing about the user.
    init(
        for request: borrowing Request, datedBy clock: (any DatedClock)?,
        isNeutral: @escaping @Sendable (_ field: HTTPField, _ secretFields: Set<HTTPField.Name>) -> Bool
    ) {
        // Responses are separated by the principal, so it does not matter what else tells the server who the user is.
        asked = request.options.principal == nil ? AskedRequest(request, isNeutral: isNeutral) : nil
        outer = request.options.sentRequests
        self.clock = clock
    }

    /// The date at which the last request was sent: with a retry or a redirection, the one that brought the response.
    ///
    /// It is nil until a transport reports, and without a clock.
    public var date: Date? { state.withLock { $0.date } }

    /// The first difference between a request that was sent and the request that was asked for; nil if they do not differ,
    /// and if the request names a principal.
    ///
    /// Until a transport reports, that is a difference too. Reading a body may cause more to be sent, so a layer that keeps
    /// a body checks this again at the end of the body.
    public var difference: Difference? {
        guard asked != nil else { return nil }
        return state.withLock { $0.isReported ? $0.difference : .unreported }
    }

    /// Whether other callers with an equal request may get the response.
    ///
    /// They may if the request names a principal, which separates responses, or if there is no ``difference``.
    public var allowsSharing: Bool { difference == nil }

    fileprivate func report(_ request: borrowing Request, showingClientCertificate: Bool) {
        let date = clock?.date
        if let asked {
            let fixed = showingClientCertificate ? .clientCertificate : asked.fixedDifference(of: request)
            let head = request.head
            state.withLock { state in
                state.isReported = true
                state.date = date
                guard state.difference == nil else { return }
                if fixed != nil {
                    state.difference = fixed
                } else if !asked.hasTarget(of: head), !state.redirections.contains(where: { $0.hasTarget(of: head) }) {
                    state.difference = .target
                } else if asked.method != head.method,
                    !state.redirections.contains(where: { $0.method == head.method })
                {
                    state.difference = .method
                }
            }
        } else if date != nil {
            state.withLock { $0.date = date }
        }
        outer?.report(request, showingClientCertificate: showingClientCertificate)
    }

    fileprivate func report(redirectionTo head: HTTPRequest) {
        if asked != nil {
            let target = AskedRequest.Target(head)
            state.withLock { $0.redirections.append(target) }
        }
        outer?.report(redirectionTo: head)
    }

    private func report(_ difference: Difference) {
        state.withLock { state in
            state.isReported = true
            if state.difference == nil { state.difference = difference }
        }
        outer?.report(difference)
    }

    /// Reports for another, equal request, which got the response to this one.
    ///
    /// If the other request has a principal, a layer further out that does not know it gets a report of it.
    func reportSending(of other: borrowing Request) {
        if let difference {
            other.options.sentRequests?.report(difference)
        } else {
            other.reportAsSent()
        }
    }
}

extension Request {
    /// Reports that the request is sent as it is now, to the layers that collect sent requests, and to the context of
    /// the call, which counts it in ``CallContext/attempts``.
    ///
    /// Every transport calls this before it sends a request, after the last change to the head. A transport that does
    /// not call it is safe to use, but no layer shares or stores its responses for a request without a principal.
    ///
    /// - Parameter showingClientCertificate: Whether the transport shows a client certificate to a server that asks for it.
    public borrowing func reportSending(showingClientCertificate: Bool = false) {
        if let call = options.callContext { call.addSending(of: head) }
        reportAsSent(showingClientCertificate: showingClientCertificate)
    }

    /// Reports the request as one that would be sent as it is now, for a layer that answers it without sending it.
    borrowing func reportAsSent(showingClientCertificate: Bool = false) {
        options.sentRequests?.report(self, showingClientCertificate: showingClientCertificate)
    }

    /// Reports that a redirection has led from the request to a new target, which then is not a difference.
    ///
    /// A layer that follows redirections calls this before it sends the next request.
    ///
    /// - Parameter next: The head of the next request.
    public borrowing func reportRedirection(to next: HTTPRequest) {
        options.sentRequests?.report(redirectionTo: next)
    }
}

/// The parts of the request that was asked for, without the parts that would be copied when layers further in change
/// the request.
struct AskedRequest: Sendable {
    struct Target: Sendable {
        let method: HTTPRequest.Method
        private let scheme: String?
        private let authority: String?
        private let path: String?

        init(_ head: HTTPRequest) {
            method = head.method
            scheme = head.scheme
            authority = head.authority
            path = head.path
        }

        func hasTarget(of other: HTTPRequest) -> Bool {
            if path == other.path, authority == other.authority, scheme == other.scheme { return true }
            guard (path ?? "/") == (other.path ?? "/") else { return false }
            let own = HTTPRequest(method: method, scheme: scheme, authority: authority, path: path)
            // An authority with a user name is not an origin, so it counts as another target.
            guard let origin = try? Origin(own) else { return false }
            return origin == (try? Origin(other))
        }
    }

    private let target: Target
    private let fields: HTTPFields
    private let content: Body
    private let isNeutral: @Sendable (HTTPField, Set<HTTPField.Name>) -> Bool

    var method: HTTPRequest.Method { target.method }

    init(_ request: borrowing Request, isNeutral: @escaping @Sendable (HTTPField, Set<HTTPField.Name>) -> Bool) {
        self.isNeutral = isNeutral
        target = Target(request.head)
        fields = request.head.headerFields
        content = request.body
    }

    func hasTarget(of other: HTTPRequest) -> Bool { target.hasTarget(of: other) }

    /// Returns a difference that no reported redirection can explain.
    func fixedDifference(of sent: borrowing Request) -> SentRequests.Difference? {
        if sent.options.principal != nil { return .principal }
        // Dropped content, as after a 303, tells the server nothing.
        if !sent.body.isEmpty, sent.body != content { return .content }
        return difference(of: sent.head.headerFields, secretFields: sent.options.secretFields)
    }

    private func difference(
        of sent: HTTPFields, secretFields: Set<HTTPField.Name>
    ) -> SentRequests.Difference? {
        var next = 0
        for index in sent.indices {
            let field = sent[index]
            // In most requests, all fields are as in the request that was asked for, in the same order.
            if next < fields.count, fields[next] == field {
                next += 1
                continue
            }
            guard isNeutral(field, secretFields) || values(of: field.name) == sent[values: field.name] else {
                return .field(field.name)
            }
        }
        return nil
    }

    private func values(of name: HTTPField.Name) -> [String] {
        fields.filter { $0.name == name }.map(\.value)
    }
}
