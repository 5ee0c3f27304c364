import Foundation
import HTTPTypes

/// The response that an error is about, as its description names it.
struct ResponseSubject: Sendable {
    let status: HTTPResponse.Status
    let contentType: String?
    let url: URL?
    let routeName: String?
    let redirections: [Redirection]

    init(_ response: Response) {
        status = response.status
        contentType = response.head.headerFields[.contentType]
        url = response.metadata.url
        routeName = response.metadata.routeName
        redirections = response.metadata.redirects
    }

    /// The status, the URL without its query, the route name, the media type, the length where it is given, and the
    /// redirections with the method that they have led to.
    func text(length: Int? = nil) -> String {
        let place = url.map { " of " + Redaction.describedPath($0.absoluteString) } ?? ""
        let facts = [
            routeName.map { "route “\(Redaction.shownWords($0))”" }, contentType.map(Redaction.shownWords),
            length.map { "\($0) bytes" }, redirection,
        ].compactMap { $0 }
        let list = facts.isEmpty ? "" : " (\(facts.joined(separator: ", ")))"
        return "response \(status.code)\(place)\(list)"
    }

    private var redirection: String? {
        guard let first = redirections.first, let last = redirections.last else { return nil }
        let place = Redaction.describedPath(first.from.absoluteString)
        return "after a \(first.status.code) of \(place), by \(last.method)"
    }

    /// Names the response in an error that reading its body has thrown.
    static func complete(_ error: any Error, _ response: Response) -> any Error {
        switch error {
        case var error as BodyLimitError:
            error.response = ResponseSubject(response).text()
            return error
        case var error as ContentCodingError:
            error.response = ResponseSubject(response).text()
            return error
        default: return error
        }
    }
}
