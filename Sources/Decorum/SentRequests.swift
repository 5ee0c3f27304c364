public import HTTPTypes
import Synchronization

/// Collects the requests that transports really send for one request, so that a layer knows who its response is for.
///
/// A layer that gives one response to several requests, as a cache does, has to know that the server was asked for
/// the same as the layer was, and by the same user. A layer further in may add credentials without saying so. Therefore the
/// sharing layer puts a collector into the request, every transport reports each request that it sends, and the
/// layer shares the response only where ``allowsSharing`` says so:
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
/// The collector adds up all that is sent for the request: each retry and each hop of a redirection. A field may be
/// added or changed without being a difference where it tells the server nothing about the user, such as `User-Agent`,
/// `Accept-Encoding`, `Date`, `traceparent` and the conditional fields, unless the request declares it secret or its value
/// holds a token. `Proxy-Authorization` is for a proxy and is no difference either. A field that was taken away is no
/// difference.
public final class SentRequests: Sendable {
    /// A way in which a request that was sent is not the one that was asked for, as an open set.
    public struct Difference: Sendable, Hashable, CustomStringConvertible {
        /// The difference in a few words, without a value of the request.
        public let description: String

        /// Creates a difference of your own.
        ///
        /// - Parameter description: The difference in a few words, without a value of the request.
        public init(_ description: String) {
            self.description = description
        }

        /// No transport reported that it sent the request, so it is not known what was sent.
        public static let unreported = Difference("no transport reported what it sent")
        /// Another URI was requested, other than by a redirection that was reported.
        public static let target = Difference("another target was requested")
        /// Another method was used.
        public static let method = Difference("another method was used")
        /// Other content was sent.
        public static let content = Difference("other content was sent")
        /// The transport shows servers a certificate of the client.
        public static let clientCertificate = Difference("the transport shows a client certificate")
        /// A layer further in set the principal.
        public static let principal = Difference("a layer further in set the principal")

        /// A field was added or changed.
        ///
        /// - Parameter name: The name of the field.
        /// - Returns: The difference.
        public static func field(_ name: HTTPField.Name) -> Difference {
            Difference("the field \(name.canonicalName) was added or changed")
        }
    }

    fileprivate struct State {
        var isReported = false
        var difference: Difference?
        var redirections: [Asked.Target] = []
    }

    /// The request that was asked for; nil where the request names a principal, so that nothing has to be compared.
    private let asked: Asked?
    private let state = Mutex(State())

    private init(_ asked: Asked?) {
        self.asked = asked
    }

    /// Creates a collector for what is sent for a request.
    ///
    /// - Parameters:
    ///   - request: The request that was asked for.
    ///   - isNeutral: Tells whether a field that was added or changed tells the server nothing about the user; it is
    ///     given the names of the fields that the request declares secret.
    init(
        for request: borrowing Request,
        isNeutral: @escaping @Sendable (_ field: HTTPField, _ secretFields: Set<HTTPField.Name>) -> Bool
    ) {
        asked = Asked(request, isNeutral: isNeutral)
    }

    /// The collector of all requests that name a principal.
    static let ofPrincipal = SentRequests(nil)

    /// The first way in which something that was sent differs from what was asked for; nil where nothing does, and where
    /// the request names a principal, for which nothing is compared.
    ///
    /// It is ``Difference/unreported`` until a transport reports. A body that is still being read may cause more to be
    /// sent, so a layer that keeps a body looks again at its end.
    public var difference: Difference? {
        guard asked != nil else { return nil }
        return state.withLock { $0.isReported ? $0.difference : .unreported }
    }

    /// Whether others who ask for the same may get the response: the request names a principal, by which responses are
    /// kept apart, or all that was sent is what was asked for.
    public var allowsSharing: Bool { difference == nil }

    fileprivate func report(_ request: borrowing Request, showingClientCertificate: Bool) {
        guard let asked else { return }
        let fixed = showingClientCertificate ? .clientCertificate : asked.fixedDifference(of: request)
        let head = request.head
        state.withLock { state in
            state.isReported = true
            guard state.difference == nil else { return }
            if fixed != nil {
                state.difference = fixed
            } else if !asked.hasTarget(of: head), !state.redirections.contains(where: { $0.hasTarget(of: head) }) {
                state.difference = .target
            } else if asked.method != head.method, !state.redirections.contains(where: { $0.method == head.method }) {
                state.difference = .method
            }
        }
        asked.outer?.report(request, showingClientCertificate: showingClientCertificate)
    }

    fileprivate func report(redirectionTo head: HTTPRequest) {
        guard let asked else { return }
        let target = Asked.Target(head)
        state.withLock { $0.redirections.append(target) }
        asked.outer?.report(redirectionTo: head)
    }

    private func report(_ difference: Difference) {
        state.withLock { state in
            state.isReported = true
            if state.difference == nil { state.difference = difference }
        }
        asked?.outer?.report(difference)
    }

    /// Reports for another request, which was asked for the same and got the response to this one.
    ///
    /// A layer further out that does not know the principal of the request hears that there is one.
    func reportSending(of other: borrowing Request) {
        if let difference {
            other.options.sentRequests?.report(difference)
        } else {
            other.reportSending()
        }
    }
}

/// The parts of the request that was asked for, without those that would have to be copied when layers further in change
/// the request.
private struct Asked: Sendable {
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
            // An authority with a user name is no origin, and is another target.
            guard let origin = try? Origin(own) else { return false }
            return origin == (try? Origin(other))
        }
    }

    private let target: Target
    private let fields: [HTTPField]
    private let content: Body
    private let isNeutral: @Sendable (HTTPField, Set<HTTPField.Name>) -> Bool
    /// The collector of a layer further out, which has to know as well.
    let outer: SentRequests?

    var method: HTTPRequest.Method { target.method }

    init(_ request: borrowing Request, isNeutral: @escaping @Sendable (HTTPField, Set<HTTPField.Name>) -> Bool) {
        self.isNeutral = isNeutral
        target = Target(request.head)
        fields = Array(request.head.headerFields)
        content = request.body
        outer = request.options.sentRequests
    }

    func hasTarget(of other: HTTPRequest) -> Bool { target.hasTarget(of: other) }

    /// Tells what differs whatever redirections were reported.
    func fixedDifference(of sent: borrowing Request) -> SentRequests.Difference? {
        if sent.options.principal != nil { return .principal }
        // Content that was dropped, as after a 303, tells the server nothing.
        if !sent.body.isEmpty, sent.body != content { return .content }
        return difference(of: sent.head.headerFields, secretFields: sent.options.secretFields)
    }

    private func difference(
        of sent: HTTPFields, secretFields: Set<HTTPField.Name>
    ) -> SentRequests.Difference? {
        var next = 0
        for index in sent.indices {
            let field = sent[index]
            // Mostly all fields are those that were asked for, in the same order.
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

extension Request {
    /// Reports that the request is sent as it is now, to the layers that collect what is sent.
    ///
    /// Every transport calls it for each request before it sends it, after the last change to the head. A transport that does
    /// not is safe to use, but no layer shares or stores its responses for a request without a principal.
    /// ``ClosureConnection`` does not call it, since its closure may change the request: the closure calls it.
    ///
    /// - Parameter showingClientCertificate: Whether the transport proves with a certificate of its own who the client is, where
    ///   a server asks for one.
    public borrowing func reportSending(showingClientCertificate: Bool = false) {
        options.sentRequests?.report(self, showingClientCertificate: showingClientCertificate)
    }

    /// Reports that a redirection has led from the request to a new target, which is then no difference.
    ///
    /// A layer that follows redirections calls it before it sends the next request.
    ///
    /// - Parameter next: The head of the next request.
    public borrowing func reportRedirection(to next: HTTPRequest) {
        options.sentRequests?.report(redirectionTo: next)
    }
}
