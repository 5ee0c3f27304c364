import Foundation
import HTTPTypes

extension TransportError: DescribableError {
    /// One or two sentences: the failure with the server and the time, and how to avoid it where that is known.
    ///
    /// They hold the host and the port of the request, or the address of the proxy that was not reached; its method, its URL
    /// without the query, and its route name; and the URL that redirected it, without the query. Further sentences say
    /// how often the request was tried, and why there was no further retry.
    public var description: String {
        let redirection = redirectedFrom.map(Redaction.sentence(onRedirectionBy:))
        let notes =
            [redirection, advice, request] + Self.notes(onTries: attempts, within: totalElapsed, refusal: retryRefusal)
        return (["\(event)."] + notes.compactMap { $0 }).joined(separator: " ")
    }

    private var request: String? {
        let route = routeName.map { "route “\(Redaction.shownWords($0))”" }
        guard let method, let requestURL else { return routeName.map { "The route is “\(Redaction.shownWords($0))”." } }
        let url = Redaction.describedPath(requestURL.absoluteString)
        return "The request was \(method) \(url)\(route.map { " (\($0))" } ?? "")."
    }

    private var event: String {
        switch code {
        case .hostNotFound: "\(missingHost) was not found\(after)\(words)"
        case .connectionRefused: "The connection to \(server) was refused\(after)\(words)"
        case .unreachable: "There is no way through the network to \(server)\(after)\(words)"
        case .timedOut: timeout
        case .deadlineExceeded: "The deadline of \(deadlineOwner) to \(server) passed\(when)"
        case .connectionLost: "The connection to \(server) was lost\(when)\(words)"
        case .truncated: "The response of \(server) ended\(after), before its content was complete\(words)"
        case .malformedResponse: "The response of \(server) is not valid HTTP, \(place)\(words)"
        case .tls: tlsEvent + words
        case .undecodableContent: "The content coding of the response of \(server) cannot be undone\(words)"
        case .unreadableBody: "The content of the request to \(server) could not be read\(cause)"
        case .expectationFailed: "The request to \(server) was refused because of its field Expect\(words)"
        case .proxyRefused: "The proxy does not connect to \(server)\(words)"
        case .limitExceeded: "A limit of the client ended the exchange with \(server)\(when)\(words)"
        case .closed: "The request to \(server) was not sent, because the app has closed the transport"
        default:
            "The exchange with \(server) failed\(when): \(Redaction.shownWords(code.description))\(words)"
        }
    }

    private var deadlineOwner: String {
        switch deadlineScope {
        case .call: "the call"
        case .attempt: "one attempt of the request"
        default: "the request"
        }
    }

    private var timeout: String {
        guard stage > .connecting else { return "No connection to \(server) was made\(after)" }
        guard let idleTimeout else { return "The request to \(server) timed out\(when)" }
        let wait = "Nothing was received from \(server) for \(idleTimeout.shortText), \(moment)"
        guard stage == .body, let elapsed else { return wait }
        return "\(wait), \(elapsed.shortText) after the request"
    }

    private var tlsEvent: String {
        switch tlsProblem {
        case .untrusted: "The certificate of \(server) leads to no root that the client trusts"
        case .expired: "The certificate of \(server) has expired"
        case .notYetValid: "The certificate of \(server) is not valid yet"
        case .wrongName: "The certificate of \(server) is for other hosts"
        case .unverified: "The certificate of \(server) is not accepted"
        case .wrongKey: "The key of the certificate of \(server) is none of the pinned keys"
        case .noTLS: "There is no TLS at \(server)"
        case .required: "App Transport Security allows no connection to \(server) without TLS"
        case .refused: "The TLS handshake was refused by \(server)"
        case .unusableRoots: "The root certificates that the client trusts cannot be read"
        case .unusableIdentity: "The client's certificate or key for \(server) cannot be used"
        default: "No secure connection to \(server) could be made"
        }
    }

    private var advice: String? {
        switch code {
        case .hostNotFound: "Check the name, and whether this machine can resolve names."
        case .connectionRefused: "Check the port, and whether a server listens there."
        case .unreachable: "Check the network of this machine."
        case .timedOut where stage == .connecting:
            "Check the host and the port, and whether a firewall, a proxy or the TLS handshake keeps the connection waiting."
        case .timedOut where idleTimeout != nil:
            "Raise `idleTimeout` in the request's options, or `idle` of its `TimePolicy`, if the server needs more time."
                + uncertainty
        case .deadlineExceeded:
            "Raise it in the request's options, or in the `TimePolicy` of its layer or stack, if the server needs more time."
                + uncertainty
        case .connectionLost where isUnprocessed:
            "The server has not processed the request; it may be sent again with any method."
        // An attempt after others shows that the request may be sent again.
        case .connectionLost where stage == .head && attempts == 1: String(uncertain.dropFirst())
        case .truncated: "The server or a proxy closed the connection; \(repetition)."
        case .malformedResponse where stage != .body:
            "Check the scheme and the port, and whether a proxy has answered."
        case .tls: tlsAdvice
        case .expectationFailed: "Send it without Expect."
        case .proxyRefused: "Check the address and the credentials of the proxy, and its rules."
        case .limitExceeded: limitAdvice
        case .closed: "Send requests before `close()`, or create another transport."
        default: nil
        }
    }

    private var tlsAdvice: String? {
        switch tlsProblem {
        case .untrusted: "If the server is yours, add its root to those of the system, or to `roots` of `TLSOptions`."
        case .expired: "Renew it, or check the date of this machine."
        case .notYetValid: "Check the date of this machine."
        case .wrongName: "Use a host that the certificate names."
        case .unverified: "Check its dates, its names, and whether its root is trusted."
        case .wrongKey: "Pin the new key if the server's owner has changed it; otherwise somebody may be in between."
        case .noTLS: "Check the port; if the server has no TLS there, use http."
        case .required: "Use https, or name the host in `NSAppTransportSecurity` of the app's `Info.plist`."
        case .refused: "It may demand a certificate of the client, or another version of TLS."
        case nil: "Check that the server speaks TLS at this port, and which versions."
        case .unusableRoots: "Check its path, its format and its permissions."
        case .unusableIdentity: "Check the files, their format, and the password of the key."
        default: nil
        }
    }

    /// The warning that a request was maybe processed whose method is not idempotent.
    private var uncertainty: String {
        guard stage == .head, attempts == 1, let method, !HTTPRequest.Method.idempotent.contains(method) else {
            return ""
        }
        return uncertain
    }

    private var uncertain: String { " The server may have processed the request; \(repetition)." }

    /// Whether the request may be sent again, as far as its method tells (RFC 9110, section 9.2.2).
    private var repetition: String {
        guard let method else { return "send it again only if its method is idempotent" }
        return HTTPRequest.Method.idempotent.contains(method)
            ? "a \(method) may be sent again"
            : "find out what the server did before you send the \(method) again, or give it an `Idempotency-Key`"
    }

    private var limitAdvice: String {
        switch stage {
        case .connecting: "Raise the number of files that the process may open, or send fewer requests at once."
        case .head: "No server needs a head of this size."
        case .body: "Read the content faster, or raise the `backlog` of the transport."
        }
    }

    private var missingHost: String {
        proxy.map { "The proxy \($0)" } ?? "The host \(origin?.host ?? "of the request")"
    }

    private var server: String {
        proxy.map { "the proxy \($0)" } ?? origin?.hostAndPort ?? "the server"
    }

    private var after: String { elapsed.map { " after \($0.shortText)" } ?? "" }

    private var when: String { elapsed == nil ? " \(moment)" : "\(after), \(moment)" }

    private var moment: String {
        switch stage {
        case .connecting: "before the request was sent"
        case .head: "before the head of the response"
        case .body: "within the content of the response"
        }
    }

    private var place: String { stage == .body ? "in its content" : "in its head" }

    private var words: String { detail.map { " (“\(Redaction.shownWords($0))”)" } ?? "" }

    private var cause: String {
        guard let underlying else { return "" }
        return ": " + Redaction.standard.description(of: underlying).trimmingSuffix(".")
    }
}

extension TransportError: CustomDebugStringConvertible, CustomReflectable {
    /// The description, and the name of the underlying error.
    public var debugDescription: String { Redaction.standard.description(of: self) }

    /// A mirror that names the underlying error, whose own description may quote a URL.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "description": description, "code": code.description, "stage": "\(stage)",
                "underlying": underlying.map(Redaction.name(of:)) as Any,
            ],
            displayStyle: .struct)
    }
}
