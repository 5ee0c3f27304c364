import Foundation
public import HTTPTypes

/// The redirections of one call so far.
struct RedirectionTrail {
    private struct Visit: Hashable {
        let method: HTTPRequest.Method
        let url: String

        init(_ method: HTTPRequest.Method, _ url: URL) {
            self.method = method
            self.url = String(url.absoluteString.prefix { $0 != "#" })
        }
    }

    private var redirections: [Redirection] = []
    private var start: RedirectionStart?
    private var attempts = 0
    private var recalled = 0
    private var visits: Set<Visit> = []

    mutating func add(
        _ redirection: Redirection, after response: Response, to request: borrowing Request, limit: Int
    ) throws {
        let method = request.head.method
        let start = start ?? RedirectionStart(method: method, routeName: request.options.routeName)
        self.start = start
        redirections.append(redirection)
        attempts += response.metadata.attempts
        if response.metadata.attempts == 0 { recalled += 1 }
        guard redirections.count <= limit else {
            throw RedirectionLimitError(start: start, limit: limit, redirections: redirections)
        }
        // With another cookie, the same request may get another answer.
        if response.head.headerFields.contains(.setCookie) {
            visits = []
        } else {
            visits.insert(Visit(method, redirection.from))
        }
        guard visits.insert(Visit(redirection.method, redirection.to)).inserted else {
            throw RedirectionLoopError(start: start, redirections: redirections)
        }
    }

    /// Adds the URL that redirected last to the error of a transport.
    func naming(_ error: any Error) -> any Error {
        guard let last = redirections.last, var error = error as? TransportError else { return error }
        error.redirectedFrom = error.redirectedFrom ?? last.from
        return error
    }

    /// Adds the redirections, the attempts and the URL to the metadata of the answer.
    func end(with response: consuming Response, to request: Request) -> Response {
        guard !redirections.isEmpty else { return response }
        response.metadata.redirects = redirections + response.metadata.redirects
        response.metadata.attempts += attempts
        if recalled > 0 { response.metadata.recalledRedirects += recalled }
        response.metadata.url = request.url
        return response
    }
}

/// A request was redirected more often than is acceptable.
public struct RedirectionLimitError: DescribableError, Hashable {
    let start: RedirectionStart
    /// The largest number of redirections that was accepted.
    public let limit: Int
    /// The redirections; the last one was not followed.
    public let redirections: [Redirection]

    /// The method of the request, before any redirection.
    public var method: HTTPRequest.Method { start.method }
    /// The route name of the request; nil if it has none.
    public var routeName: String? { start.routeName }

    /// The request, the limit, the URL that redirected last, without its query, and the parameter to raise.
    public var description: String {
        let times = limit == 1 ? "once" : "\(limit) times"
        return
            "\(start.text(of: redirections)) was redirected more than \(times), lastly by \(redirections.lastPlace). "
            + "Raise `followingRedirects(upTo:)` if so many are intended."
    }
}

/// A request was redirected to a URL that it was sent to before.
public struct RedirectionLoopError: DescribableError, Hashable {
    let start: RedirectionStart
    /// The redirections; the last one was not followed.
    public let redirections: [Redirection]

    /// The method of the request, before any redirection.
    public var method: HTTPRequest.Method { start.method }
    /// The route name of the request; nil if it has none.
    public var routeName: String? { start.routeName }

    /// The request, the redirection that closes the circle, its URLs without their queries, and a common reason.
    public var description: String {
        let target = redirections.last.map { Redaction.describedPath($0.to.absoluteString) } ?? "an unknown URL"
        return "\(start.text(of: redirections)) was redirected in a circle: redirection \(redirections.count), by "
            + "\(redirections.lastPlace), leads to \(target), which was requested before. "
            + "Some servers redirect until they get their cookie or a credential."
    }
}

/// The request that was redirected.
struct RedirectionStart: Sendable, Hashable {
    let method: HTTPRequest.Method
    let routeName: String?

    /// The method, the first URL without its query and secrets, and the route name.
    fileprivate func text(of redirections: [Redirection]) -> String {
        let place = redirections.first.map { " " + Redaction.describedPath($0.from.absoluteString) } ?? ""
        let route = routeName.map { " (route “\(Redaction.shownWords($0))”)" } ?? ""
        return "\(method)\(place)\(route)"
    }
}

extension [Redirection] {
    /// The URL that redirected last, without its query and secrets.
    fileprivate var lastPlace: String {
        last.map { Redaction.describedPath($0.from.absoluteString) } ?? "an unknown URL"
    }
}
