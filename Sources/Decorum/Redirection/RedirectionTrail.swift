import Foundation
import HTTPTypes

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
