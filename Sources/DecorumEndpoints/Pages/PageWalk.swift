import Decorum
import Foundation
import HTTPTypes

/// The pages that were read, which decides whether and where there is a next one.
struct PageWalk: Sendable {
    private let limit: Int
    private let allowed: Set<Origin>
    private(set) var count = 0
    /// The origin that was asked for the first page, whatever a redirection has led to.
    private var home: Origin?
    /// The URLs of all requests so far.
    private var visited: Set<String> = []

    init(limit: Int, allowed: Set<Origin>) {
        self.limit = max(1, limit)
        self.allowed = allowed
    }

    /// Remembers a page.
    ///
    /// - Parameters:
    ///   - request: The request for the page.
    ///   - asked: The URL that the first request for it was sent to.
    ///   - url: The URL that answered it.
    mutating func note(_ request: Request, sentTo asked: URL?, answeredBy url: URL?) {
        if count == 0 { home = asked.flatMap { try? Origin($0) } }
        count += 1
        visited.insert(Self.key(request, relativeTo: url))
    }

    /// The request for the next page.
    ///
    /// - Parameters:
    ///   - next: The place of the next page.
    ///   - request: The request for the last page.
    ///   - url: The URL that answered it; nil where that is not known.
    /// - Returns: The request.
    /// - Throws: ``PageError`` where it must not be sent.
    func request(for next: NextPage, after request: Request, answeredBy url: URL?) throws(PageError) -> Request {
        var following = request
        switch next {
        case .query(let name, let value):
            following.head.path = QueryText.setting(name, to: value, in: request.head.path ?? "/")
        case .url(let reference):
            following.head = try head(for: reference, after: request.head, answeredBy: url)
            // The fragment of a URL is never sent.
            following.options.fragment = nil
        }
        guard !visited.contains(Self.key(following, relativeTo: url)) else { throw .loop(after: count) }
        guard count < limit else { throw .limit(limit) }
        return following
    }

    private func head(
        for reference: String, after head: HTTPRequest, answeredBy url: URL?
    ) throws(PageError) -> HTTPRequest {
        guard reference.utf8.count <= Target.longestReference,
            let target = URL(string: reference, relativeTo: url)?.absoluteURL,
            let request = try? Request(head.method, url: target)
        else { throw .url(after: count) }
        var following = head
        following.path = request.head.path
        // Without a URL of the page, a relative reference is resolved as the request before was.
        guard request.head.authority != nil else { return following }
        guard let origin = try? Origin(request.head) else { throw .url(after: count) }
        guard origin == home || allowed.contains(origin) || home.map(origin.isSecureForm) == true else {
            throw .origin(origin, of: home, after: count)
        }
        following.scheme = request.head.scheme
        following.authority = request.head.authority
        return following
    }

    /// The URL as text; a relative path counts as one of the origin that has answered.
    private static func key(_ request: Request, relativeTo url: URL?) -> String {
        let path = request.head.path ?? "/"
        guard request.head.authority == nil, let url else { return request.url?.absoluteString ?? path }
        return URL(string: path, relativeTo: url)?.absoluteString ?? path
    }
}

extension Origin {
    /// Whether this origin is the same host over TLS, as after a redirection from `http` to `https`.
    fileprivate func isSecureForm(of other: Origin) -> Bool {
        other.scheme == "http" && other.port == 80 && scheme == "https" && port == 443 && host == other.host
    }
}
