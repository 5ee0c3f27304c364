import Foundation
public import HTTPTypes

/// A response has a status that was not accepted.
///
/// It owns the response and so the transfer of its body, which ends when the last copy of the error is dropped.
public struct StatusError: DescribableError {
    /// The method of the request.
    public let method: HTTPRequest.Method
    /// The origin that answered, or else the origin of the request; nil when both are unknown.
    public let origin: Origin?
    /// The route name of the request; nil where it has none.
    public let routeName: String?
    /// The response, whose body can be read.
    public let response: Response
    /// The words in which the server says what is wrong; nil where it does not, or where that is not known.
    ///
    /// They come from the members `title`, `detail` (RFC 9457), `message`, `error` and `error_description` of JSON, and
    /// are cut to 200 characters. The secrets that ``Redaction/standard`` knows are replaced; but a server may quote any
    /// part of the request, so no description and no log has these words.
    public let problem: String?
    /// The server's name for the kind of problem, such as `invalid_grant`; nil where there is none.
    ///
    /// It comes from the members `code` and `error` of JSON, and is a name of at most 40 letters, digits, hyphens, dots and
    /// underscores.
    public let problemCode: String?
    /// The time for which the server asks to wait before the next request, counted from the arrival of the response; nil
    /// where it does not ask (RFC 9110, section 10.2.3).
    public let retryAfter: Duration?
    private let place: String?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - origin: The origin that answered.
    ///   - routeName: The route name of the request.
    ///   - response: The response; the problem is taken from its body where that is in memory. A date in `Retry-After`
    ///     counts from its `Date`.
    public init(method: HTTPRequest.Method, origin: Origin?, routeName: String? = nil, response: Response) {
        let date = response.head.headerFields[.date].flatMap { HTTPDate($0, at: Date(timeIntervalSince1970: 0)) }?.date
        self.init(method: method, origin: origin, routeName: routeName, response: response, path: nil, at: date)
    }

    /// Creates the error for a response that was received at a date.
    init(
        method: HTTPRequest.Method, origin: Origin?, routeName: String?, response: Response, path: String?,
        problem: ProblemText? = nil, at date: Date?
    ) {
        let kind = ContentKind(mediaType: response.head.headerFields[.contentType])
        let problem = problem ?? (kind == .json ? response.body.bytes.map(ProblemText.find) : nil) ?? .absent
        self.method = method
        self.origin = origin
        self.routeName = routeName
        self.response = response
        self.problem = problem.words
        problemCode = problem.code
        retryAfter = RetryAfter.longestDelay(
            in: response.head.headerFields, at: date ?? Date(timeIntervalSince1970: 0))
        place =
            response.metadata.url.map { Redaction.describedPath($0.absoluteString) }
            ?? origin.map { Redaction.describedPath("\($0)\(path ?? "")") }
    }

    /// The status that was not accepted.
    public var status: HTTPResponse.Status { response.status }
}

extension StatusError: CustomDebugStringConvertible, CustomReflectable {
    /// The code of the status.
    public var shortDescription: String { "\(status.code)" }

    /// The request, the codes of the status and of the problem, and what to do next.
    ///
    /// The request has its method, its URL without the query, and its route name. Further sentences say why a redirection
    /// was not followed, how long to wait, and how often the request was sent. The words of the server are left out.
    public var description: String { ([event] + notes).joined(separator: " ") }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror that leaves out the response and the words of the server, which may hold secrets.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "method": method.rawValue, "origin": origin?.description as Any, "code": status.code,
                "route": routeName as Any, "problemCode": problemCode as Any,
            ])
    }

    private var event: String {
        let asked = place.map { "\(method) \($0)" } ?? "\(method)"
        let route = routeName.map { " (route “\(Redaction.shownWords($0))”)" } ?? ""
        let code = problemCode.map { " and the code “\($0)”" } ?? ""
        return "\(asked)\(route) was answered with the status \(status.code)\(code)."
    }

    private var notes: [String] {
        var notes: [String] = []
        if let refusal = response.metadata.redirectionRefusal {
            notes.append("The redirection was not followed, because \(refusal.reason).")
        }
        if let retryAfter {
            notes.append("The server asks to wait for \(retryAfter.shortText), which is in `retryAfter`.")
        }
        if let redirection = response.metadata.redirects.last {
            notes.append(Redaction.sentence(onRedirectionBy: redirection.from))
        }
        if status == .unauthorized, response.metadata.lacksCredentials {
            notes.append(
                response.metadata.redirects.isEmpty
                    ? "It was sent without credentials: `authenticating(with:for:)` has none for this origin."
                    : "It was sent without credentials, which follow no redirection by another origin or to one.")
        }
        let hops = response.metadata.redirects.count - response.metadata.recalledRedirects
        let tries = response.metadata.attempts - hops
        if tries > 1 { notes.append("The request was tried \(tries) times.") }
        if let refusal = response.metadata.retryRefusal { notes.append("There was no retry: \(refusal).") }
        if let place = placeOfWords { notes.append(place) }
        return notes
    }
}

extension StatusError {
    /// The properties that say more than a description may, since a server can quote any part of the request.
    private var placeOfWords: String? {
        let hasWords = problem != nil && problem != problemCode
        // With these, an API lists what is wrong with each part of the request.
        let hasContent = [400, 409, 422].contains(status.code) && !response.body.isEmpty
        return switch (hasWords, hasContent) {
        case (true, true): "The words of the server are in `problem`, and all of its content in `response.body`."
        case (true, false): "The words of the server are in `problem`."
        case (false, true): "The content of the response is in `response.body`."
        case (false, false): nil
        }
    }
}

extension RedirectionRefusal {
    fileprivate var reason: String {
        switch self {
        case .missingLocation: "the response has no Location"
        case .invalidLocation: "its Location is not one URL that can be requested"
        case .unsupportedScheme: "its Location is neither http nor https"
        case .userinfo: "its Location holds a user name or password"
        case .downgrade: "it leads from https to http"
        case .bodyReadOnce: "the body of the request can be read only once; collect it, or make it from bytes or a file"
        case .bodyAcrossOrigins: "the body of the request would be sent to another origin"
        case .limit: "the limit of redirections is 0"
        case .policy: "the policy does not allow it"
        default: "a layer has refused it (\(Redaction.shownWords(description)))"
        }
    }
}
