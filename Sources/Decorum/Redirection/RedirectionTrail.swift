import Foundation
import HTTPTypes

/// The way that one call has taken so far.
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
    private var attempts = 0
    private var visits: Set<Visit> = []

    mutating func add(
        _ redirection: Redirection, after response: Response, to method: HTTPRequest.Method, limit: Int
    ) throws {
        redirections.append(redirection)
        attempts += response.metadata.attempts
        guard redirections.count <= limit else {
            throw RedirectionLimitError(limit: limit, redirections: redirections)
        }
        // With another cookie, the same request may be answered in another way.
        if response.head.headerFields.contains(.setCookie) {
            visits = []
        } else {
            visits.insert(Visit(method, redirection.from))
        }
        guard visits.insert(Visit(redirection.method, redirection.to)).inserted else {
            throw RedirectionLoopError(redirections: redirections)
        }
    }

    /// Tells the answer how it came about.
    func end(with response: consuming Response, to request: Request) -> Response {
        guard !redirections.isEmpty else { return response }
        response.metadata.redirects = redirections + response.metadata.redirects
        response.metadata.attempts += attempts
        response.metadata.url = request.url
        return response
    }
}

/// A request was redirected more often than is acceptable.
public struct RedirectionLimitError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The largest number of redirections that was acceptable.
    public let limit: Int
    /// The redirections, of which the last was not followed.
    public let redirections: [Redirection]

    /// What happened.
    public var description: String {
        "The request was redirected more than \(limit) times, lastly by \(redirections.lastOrigin)."
    }
}

/// A request was redirected to where it had been before.
public struct RedirectionLoopError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The redirections, of which the last was not followed.
    public let redirections: [Redirection]

    /// What happened.
    public var description: String {
        "Redirection \(redirections.count), by \(redirections.lastOrigin), leads to a URL that was requested before."
    }
}

extension [Redirection] {
    /// The origin that redirected last; a whole URL may hold secrets.
    fileprivate var lastOrigin: String {
        last.flatMap { try? Origin($0.from.absoluteString) }?.description ?? "an unknown origin"
    }
}
