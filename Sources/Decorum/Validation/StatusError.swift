public import Foundation
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
    /// The parts of the request that the server finds wrong, at most 20, as of a 422; empty where it names none.
    ///
    /// They come from the members `errors` (RFC 9457, JSON:API, GitHub and many others), `invalid-params` and `detail` of
    /// JSON. The description shows their names and codes, and never their words.
    public let fieldProblems: [FieldProblem]
    /// The time for which the server asks to wait before the next request, counted from the arrival of the response; nil
    /// where it does not ask.
    ///
    /// It comes from `Retry-After` (RFC 9110, section 10.2.3). Without that field, it is the time until a used rate limit is
    /// renewed, as of `X-RateLimit-Remaining: 0` with `X-RateLimit-Reset`, or of the field `RateLimit`, if the status is
    /// 403, 429 or 503. So a 403 that has a `retryAfter` is a limit, and no missing permission.
    public let retryAfter: Duration?
    /// The date at which that time ends.
    ///
    /// If `pacing` sends again at a later date, it is that date. It is nil where the
    /// server does not ask, and where the arrival of the response is not known.
    public let retryDate: Date?
    private let usedLimit: RateLimitFields.UsedLimit?
    private let place: String?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - origin: The origin that answered.
    ///   - routeName: The route name of the request.
    ///   - response: The response; the problem is taken from its body where that is in memory.
    ///   - arrival: The date at which the response arrived; nil for its `Date`. A date in `Retry-After`, or of a rate limit,
    ///     counts from `Date`, and without that field from the arrival; without both, it is left out.
    public init(
        method: HTTPRequest.Method, origin: Origin?, routeName: String? = nil, response: Response, arrival: Date? = nil
    ) {
        let date = response.head.headerFields[.date].flatMap { HTTPDate($0, at: Date(timeIntervalSince1970: 0)) }?.date
        self.init(
            method: method, origin: origin, routeName: routeName, response: response, path: nil, at: arrival ?? date)
    }

    /// Creates the error for a response that was received at a date.
    init(
        method: HTTPRequest.Method, origin: Origin?, routeName: String?, response: Response, path: String?,
        problem: ProblemText? = nil, at date: Date?
    ) {
        let kind = ContentKind(mediaType: response.head.headerFields[.contentType])
        // Without a media type, content that is JSON is recognised (RFC 9110, section 8.3).
        let mayBeJSON = kind == .json || kind == .unknown
        let problem = problem ?? (mayBeJSON ? response.body.bytes.map(ProblemText.find) : nil) ?? .absent
        self.method = method
        self.origin = origin
        self.routeName = routeName
        self.response = response
        self.problem = problem.words
        problemCode = problem.code
        fieldProblems = problem.fields
        // Without a known date, a time that is given as a date is past.
        let arrival = date ?? .distantFuture
        let asked = RetryAfter.longestDelay(in: response.head.headerFields, at: arrival)
        let refusesByLimit = [.forbidden, .tooManyRequests, .serviceUnavailable].contains(response.status)
        usedLimit =
            asked == nil && refusesByLimit
            ? RateLimitFields.usedLimit(in: response.head.headerFields, at: arrival) : nil
        let wait = asked ?? usedLimit?.renewal
        retryAfter = wait
        let askedEnd = wait.flatMap { wait in date?.addingTimeInterval(wait / .seconds(1)) }
        retryDate = [askedEnd, wait == nil ? nil : response.metadata.pauseEnd].compactMap(\.self).max()
        place =
            response.metadata.url.map { Redaction.describedPath($0.absoluteString) }
            ?? origin.map { Redaction.describedPath("\($0)\(path ?? "")") }
    }

    /// The status that was not accepted.
    public var status: HTTPResponse.Status { response.status }
}

extension StatusError: SecretHolder {
    /// The code of the status.
    public var shortDescription: String { "\(status.code)" }

    /// The request, the codes of the status and of the problem, and what to do next.
    ///
    /// The request has its method, its URL without the query, and its route name. Further sentences say why a redirection
    /// was not followed, how long to wait, and how often the request was sent. The words of the server are left out.
    public var description: String { ([event] + notes).joined(separator: " ") }

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
        let sent = response.metadata.redirects.last?.method ?? method
        let asked = place.map { "\(sent) \($0)" } ?? "\(sent)"
        let route = routeName.map { " (route “\(Redaction.shownWords($0))”)" } ?? ""
        let code = problemCode.map { " and the code “\($0)”" } ?? ""
        return "\(asked)\(route) was answered with the status \(status.code)\(code)."
    }

    private var notes: [String] {
        var notes: [String] = []
        if let refusal = response.metadata.redirectionRefusal {
            let location = response.head.headerFields[.location].flatMap { try? Origin(Target($0)) }
            notes.append("The redirection was not followed, because \(refusal.reason(to: location)).")
        }
        if response.isRefusalOfCache {
            notes.append("Nothing was sent: the request asks the cache alone, which has no response to use.")
        }
        if let wait { notes.append(wait) }
        if let redirection = response.metadata.redirects.last {
            notes.append(Redaction.sentence(onRedirectionBy: redirection.from))
            if redirection.method != method { notes.append("That made a \(redirection.method) of the \(method).") }
        }
        if let credentials { notes.append(credentials) }
        let metadata = response.metadata
        notes += TransportError.notes(
            onTries: metadata.tries, within: metadata.retryHistory?.elapsed, refusal: metadata.retryRefusal)
        let fields = fieldProblems.compactMap(\.shown)
        if !fields.isEmpty {
            let names = fields.joined(separator: ", ")
            notes.append("The server names the \(fields.count == 1 ? "field" : "fields") \(names).")
        }
        if let place = placeOfWords { notes.append(place) }
        if let note = metadata.recordedNote { notes.append(note) }
        return notes
    }
}

extension StatusError {
    /// The credentials with which the request was sent, as far as a layer tells.
    private var credentials: String? {
        let metadata = response.metadata
        if metadata.lacksCredentials {
            return metadata.redirects.isEmpty
                ? "It was sent without credentials: `authenticating(with:for:)` has none for this origin."
                : "It was sent without credentials, which follow no redirection by another origin or to one."
        }
        guard status == .unauthorized else { return nil }
        return metadata.refusesCredentials
            ? "It was sent with credentials, which the server does not accept."
            : "No layer of the stack has noted that it added credentials."
    }

    private var wait: String? {
        switch (usedLimit, retryAfter) {
        case (_?, let renewal?):
            "The rate limit is used up; it is renewed in \(renewal.shortText), which is in `retryAfter`."
        case (_?, nil): "The rate limit is used up, and no field says when it is renewed."
        case (nil, let asked?) where asked <= .zero: nil
        case (nil, let asked?): "The server asks to wait for \(asked.shortText), which is in `retryAfter`."
        case (nil, nil): nil
        }
    }

    /// The properties that say more than a description may, since a server can quote any part of the request.
    private var placeOfWords: String? {
        var places: [String] = []
        if problem != nil, problem != problemCode { places.append("`problem`") }
        if fieldProblems.contains(where: { $0.words != nil }) { places.append("`fieldProblems`") }
        // Hardly any API answers with a page, which a gateway or a page for signing in does.
        let mediaType = response.head.headerFields[.contentType]?.lowercased() ?? ""
        if mediaType.hasPrefix("text/html") || mediaType.hasPrefix("application/xhtml"), !response.body.isEmpty {
            return "The content is HTML, maybe of a proxy or a gateway, and is in `response.body`."
        }
        // With these, an API lists what is wrong with each part of the request.
        let hasContent = [400, 409, 422].contains(status.code) && !response.body.isEmpty
        guard !places.isEmpty else { return hasContent ? "The content of the response is in `response.body`." : nil }
        let words = "The words of the server are in \(places.joined(separator: " and "))"
        return words + (hasContent ? ", and all of its content in `response.body`." : ".")
    }
}

extension RedirectionRefusal {
    fileprivate func reason(to origin: Origin?) -> String {
        switch self {
        case .missingLocation: "the response has no Location"
        case .invalidLocation: "its Location is not one URL that can be requested"
        case .unsupportedScheme: "its Location is neither http nor https"
        case .userinfo: "its Location holds a user name or password"
        case .downgrade: "it leads from https to http"
        case .bodyReadOnce: "the body of the request can be read only once; collect it, or make it from bytes or a file"
        case .bodyAcrossOrigins:
            "the body of the request would be sent to another origin\(origin.map { ", \($0)" } ?? ""); "
                + "a policy with `allowingBodiesAcrossOrigins()` permits it"
        case .limit: "the limit of redirections is 0"
        case .policy: "the policy does not allow it"
        case .deadline: "the deadline of the request has passed"
        default: "a layer has refused it (\(Redaction.shownWords(description)))"
        }
    }
}
