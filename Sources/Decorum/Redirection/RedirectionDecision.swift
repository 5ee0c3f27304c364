import Foundation
import HTTPTypes

/// The decision about a response that may be a redirection.
enum RedirectionDecision: Equatable, Sendable {
    /// The response is the answer.
    case answer
    /// The response is a redirection that is not followed, so it is the answer.
    case refuse(RedirectionRefusal)
    /// The next request has to be sent, if the policy's rule allows the redirection.
    case follow(Request, Redirection)

    static func isRedirection(_ code: Int) -> Bool {
        switch code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// Decides about the response to a request for `url`, which a layer further in may have sent to another origin, `asked`.
    ///
    /// The rule of the policy is not called here. A target that the policy has rewritten replaces the `Location`.
    static func after(
        _ response: HTTPResponse, to request: Request, at url: URL, asked: Origin? = nil,
        rewrittenTo rewritten: URL? = nil, policy: RedirectionPolicy, secretFields: Set<HTTPField.Name>
    ) -> RedirectionDecision {
        guard isRedirection(response.code) else { return .answer }

        let locations = rewritten.map { [$0.absoluteString] } ?? response.headerFields[values: .location]
        guard let location = locations.first, !location.isEmpty else { return .refuse(.missingLocation) }
        guard locations.count == 1 else { return .refuse(.invalidLocation) }

        var next = request
        next.options = request.options.travelling(.redirections)
        let source = try? Origin(url)
        let target: Origin
        do throws(InvalidRequestError) {
            target = try next.point(to: location, from: Target(url))
        } catch {
            return .refuse(RedirectionRefusal(error.reason))
        }
        let isDowngrade = source?.scheme != "http" && target.scheme == "http"
        guard !isDowngrade || policy.allowsDowngrades else { return .refuse(.downgrade) }

        next.head.method = method(after: response.status, to: request.head.method)
        if next.head.method != request.head.method || response.status == .seeOther {
            next.dropContent()
        }
        if !next.body.isEmpty {
            guard next.body.replay > .once else { return .refuse(.bodyReadOnce) }
            let staysOnHost = source == target || source?.isUpgraded(by: target) == true
            guard staysOnHost || policy.allowsBodiesAcrossOrigins else { return .refuse(.bodyAcrossOrigins) }
        }
        if let redirecting = asked ?? source { next.options.redirectingOrigins.insert(redirecting) }
        if source != target {
            next.head.headerFields.drop(secretFields.union(next.options.secretFields))
        }
        next.head.headerFields.restrictReferer(from: source, to: target)

        guard let to = next.url else { return .refuse(.invalidLocation) }
        return .follow(next, Redirection(status: response.status, method: next.head.method, from: url, to: to))
    }

    /// The redirection that a response asks for, before any rule is applied; nil if no target can be requested.
    static func proposal(of response: HTTPResponse, to request: Request, at url: URL) -> Redirection? {
        let locations = response.headerFields[values: .location]
        var next = request
        guard locations.count == 1, let location = locations.first, !location.isEmpty,
            (try? next.point(to: location, from: Target(url))) != nil, let to = next.url
        else { return nil }
        let method = method(after: response.status, to: request.head.method)
        return Redirection(status: response.status, method: method, from: url, to: to)
    }

    /// The method of the next request (Fetch, section 4.4, HTTP-redirect fetch).
    private static func method(
        after status: HTTPResponse.Status, to method: HTTPRequest.Method
    ) -> HTTPRequest.Method {
        switch (status.code, method) {
        case (301, .post), (302, .post): .get
        case (303, .head): .head
        case (303, _): .get
        default: method
        }
    }
}

extension RedirectionRefusal {
    fileprivate init(_ reason: InvalidRequestError.Reason) {
        switch reason {
        case .unsupportedScheme: self = .unsupportedScheme
        case .userinfo: self = .userinfo
        default: self = .invalidLocation
        }
    }
}

extension Request {
    /// Sets the target of a redirection; without a fragment, it inherits the fragment of the old target (RFC 9110,
    /// 10.2.2).
    fileprivate mutating func point(to location: String, from base: Target) throws(InvalidRequestError) -> Origin {
        // Many servers forget to encode a blank, and the meaning is clear.
        let target = try Target.resolve(given: location.replacing(" ", with: "%20"), against: base)
        guard let scheme = target.scheme, ["http", "https"].contains(scheme) else {
            throw .unsupportedScheme(target.scheme ?? "")
        }
        head.scheme = scheme
        head.authority = target.authority
        head.path = target.path
        options.fragment = target.fragment ?? base.fragment
        try validate()

        let origin = try Origin(head)
        head.authority = origin.authority
        return origin
    }

    /// Removes the body and the fields that describe it (RFC 9110, section 15.4).
    fileprivate mutating func dropContent() {
        body = .empty
        let names = ["digest", "expect", "last-modified", "repr-digest", "trailer", "transfer-encoding"]
        head.headerFields.removeAll { field in
            let name = field.name.canonicalName
            return name.hasPrefix("content-") || names.contains(name)
        }
    }
}

extension Origin {
    /// Whether another origin is the same host over TLS, both on their default ports.
    fileprivate func isUpgraded(by other: Origin) -> Bool {
        (scheme, port) == ("http", 80) && (other.scheme, other.port) == ("https", 443) && host == other.host
    }
}

extension HTTPFields {
    /// Removes the fields that are meant for one origin only.
    package mutating func drop(_ secretFields: Set<HTTPField.Name>) {
        removeAll { field in
            ["host", "origin"].contains(field.name.canonicalName)
                || Redaction.standard.isSecret(field, secretFields: secretFields)
        }
    }

    /// Limits `Referer` like browsers: it is removed from `https` to `http`, and cut to its origin for other origins.
    package mutating func restrictReferer(from source: Origin?, to target: Origin) {
        guard let value = self[.referer] else { return }
        let referer = try? Origin(Target(value))
        if target.scheme == "http", referer?.scheme != "http" || source?.scheme != "http" {
            self[.referer] = nil
        } else if source != target {
            self[.referer] = referer.map { "\($0)/" }
        }
    }
}
