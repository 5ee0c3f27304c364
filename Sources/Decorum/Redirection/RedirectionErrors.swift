import Foundation
public import HTTPTypes

/// A request was redirected more often than is acceptable.
public struct RedirectionLimitError: DescribableError, Hashable {
    private let start: RedirectionStart
    /// The largest number of redirections that was accepted.
    public let limit: Int
    /// The redirections; the last one was not followed.
    public let redirections: [Redirection]

    init(start: RedirectionStart, limit: Int, redirections: [Redirection]) {
        self.start = start
        self.limit = limit
        self.redirections = redirections
    }

    /// The method of the request, before any redirection.
    public var method: HTTPRequest.Method { start.method }
    /// The route name of the request; nil where it has none.
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
    private let start: RedirectionStart
    /// The redirections; the last one was not followed.
    public let redirections: [Redirection]

    init(start: RedirectionStart, redirections: [Redirection]) {
        self.start = start
        self.redirections = redirections
    }

    /// The method of the request, before any redirection.
    public var method: HTTPRequest.Method { start.method }
    /// The route name of the request; nil where it has none.
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
