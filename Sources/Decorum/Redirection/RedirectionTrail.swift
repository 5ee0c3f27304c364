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
