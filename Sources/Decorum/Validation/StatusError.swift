import DecorumSecrets
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
    /// The route name of the request; nil without one.
    public let routeName: String?
    /// The response, whose body can be read.
    public let response: Response
    /// The words in which the server says what is wrong; nil if it does not say so, or if that is not known.
    ///
    /// They come from the members `title`, `detail` (RFC 9457), `message`, `error` and `error_description` of JSON, and
    /// are cut to 200 characters. The secrets that ``Redaction/standard`` knows are replaced; but a server may quote any
    /// part of the request, so no description and no log has these words.
    public let problem: String?
    /// The server's name for the kind of problem, such as `invalid_grant`; nil without one.
    ///
    /// It comes from the members `code` and `error` of JSON, and is a name of at most 40 letters, digits, hyphens, dots and
    /// underscores.
    public let problemCode: String?
    /// The parts of the request that the server finds wrong, at most 20, as of a 422.
    ///
    /// They come from the members `errors` (RFC 9457, JSON:API, GitHub and many others), `invalid-params` and `detail` of
    /// JSON. The description shows their names and codes, and never their words.
    public let fieldProblems: [FieldProblem]
    /// The time for which the server asks to wait before the next request, counted from the arrival of the response; nil if
    /// it does not ask.
    ///
    /// It comes from `Retry-After` (RFC 9110, section 10.2.3). Without that field, it is the time until a used rate limit is
    /// renewed, as of `X-RateLimit-Remaining: 0` with `X-RateLimit-Reset`, or of the field `RateLimit`, if the status is
    /// 403, 429 or 503. So a 403 that has a `retryAfter` is a limit, and no missing permission.
    public let retryAfter: Duration?
    /// The date at which that time ends, or the later one at which `pacing` sends again; nil if the server does not ask, or
    /// if the arrival of the response is not known.
    public let retryDate: Date?
    private let usedLimit: RateLimitFields.UsedLimit?
    private let place: String?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - origin: The origin that answered.
    ///   - routeName: The route name of the request.
    ///   - response: The response; the problem is taken from its body if that is in memory.
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
        (self.method, self.origin, self.routeName, self.response) = (method, origin, routeName, response)
        (self.problem, problemCode, fieldProblems) = (problem.words, problem.code, problem.fields)
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

    /// The request with its method, its URL without the query and its route name, the codes of the status and of the problem,
    /// and what is known about the waits, redirections, credentials and retries; never the words of the server.
    public var description: String { ([event] + notes).joined(separator: " ") }

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
            notes.append("The redirection was not followed: \(Redaction.shownWords(refusal.description)).")
        }
        if response.isRefusalOfCache {
            notes.append("Nothing was sent: the request asks the cache alone, which has no response to use.")
        }
        if let wait { notes.append(wait) }
        if let redirection = response.metadata.redirects.last {
            notes.append(Redaction.sentence(onRedirectionBy: redirection.from))
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
        return metadata.refusesCredentials ? "It was sent with credentials, which the server does not accept." : nil
    }

    private var wait: String? {
        switch (usedLimit, retryAfter) {
        case (_?, let renewal?):
            "The rate limit is used up; it is renewed in \(renewal.shortText), which is in `retryAfter`."
        case (_?, nil): "The rate limit is used up, and no field says when it is renewed."
        case (nil, let asked?) where asked > .zero:
            "The server asks to wait for \(asked.shortText), which is in `retryAfter`."
        case (nil, _): nil
        }
    }

    /// The properties that say more than a description may, since a server can quote any part of the request.
    private var placeOfWords: String? {
        var places = problem != nil && problem != problemCode ? ["`problem`"] : []
        if fieldProblems.contains(where: { $0.words != nil }) { places.append("`fieldProblems`") }
        return places.isEmpty ? nil : "The words of the server are in \(places.joined(separator: " and "))."
    }
}

extension StatusError {
    /// One part of a request that a server finds wrong, such as a field of a form.
    public struct FieldProblem: Sendable, Hashable {
        /// The name or the path of the part, such as `title`, `Issue.title` or `#/items/0/price`; nil if the server
        /// names none, or a text that is no name.
        public let name: String?
        /// The server's name for the problem, such as `missing_field`; nil without one.
        public let code: String?
        /// The words of the server about the part, cut to 200 characters; nil without words.
        ///
        /// The secrets that ``Redaction/standard`` knows are replaced. A server may quote a part of the request, so no
        /// description has them.
        public let words: String?
    }
}

extension StatusError.FieldProblem: CustomStringConvertible {
    /// The name and the code of the problem, without the words of the server.
    public var description: String { shown ?? code ?? "a part without a name" }
}

extension StatusError.FieldProblem {
    /// The name and the code, as a description may show them; nil without a name.
    var shown: String? { name.map { name in code.map { "\(name) (\($0))" } ?? name } }
}

/// The problem with a request, as a server describes it.
struct ProblemText: Equatable {
    /// The words of the server, for a person; nil without words.
    let words: String?
    /// The server's name for the kind of problem, such as `invalid_grant`; nil without one.
    let code: String?
    /// The parts of the request that the server finds wrong.
    var fields: [StatusError.FieldProblem] = []

    static let absent = ProblemText(words: nil, code: nil)

    // A problem is short; more content is not searched.
    static let limit = 64 << 10

    /// Finds the problem in JSON, which is absent too if the JSON is not complete.
    ///
    /// It has the form of RFC 9457, of OAuth (RFC 6749, section 5.2), or of the many servers with a `message`.
    static func find(in content: Data) -> ProblemText {
        guard content.count <= limit, let problem = try? JSONValue(parsing: Array(content)) else { return .absent }
        let parts = [
            problem.words("title") ?? problem.words("error"),
            problem.words("detail") ?? problem.words("message") ?? problem.words("error_description"),
        ].compactMap { $0 }
        let name = problem.words("code") ?? problem["error"]?["code"]?.string ?? problem.words("error")
        let fields = ["errors", "invalid-params", "detail"].lazy.map { fieldProblems(in: problem[$0]) }
        return ProblemText(
            words: parts.isEmpty ? nil : shown(parts.joined(separator: ": ")), code: name.flatMap(code),
            fields: fields.first { !$0.isEmpty } ?? [])
    }

    /// The parts of the request that are wrong, in the forms that are in use, at most 20.
    ///
    /// They are a list of objects in `errors`, as RFC 9457 (`pointer`, `detail`), JSON:API (`source`) and GitHub (`resource`,
    /// `field`, `code`) have it; an object in `errors` with the texts of each field; `invalid-params` with `name` and
    /// `reason` (RFC 7807); and a list in `detail` with `loc`, `msg` and `type`.
    private static func fieldProblems(in list: JSONValue?) -> [StatusError.FieldProblem] {
        let found =
            list?.array?.prefix(20).map(fieldProblem)
            ?? (list?.members ?? []).sorted { $0.name < $1.name }.prefix(20).map { member in
                let words = member.value.string ?? member.value.array?.compactMap(\.string).joined(separator: " ")
                return .init(name: path(member.name), code: nil, words: shown(words))
            }
        return found.filter { $0.name != nil || $0.words != nil }
    }

    /// A problem in a list: an object, or only its words.
    private static func fieldProblem(in entry: JSONValue) -> StatusError.FieldProblem {
        let text = { (names: [String]) in names.lazy.compactMap { entry[$0]?.string }.first }
        let source = entry["source"]
        let steps = entry["loc"]?.array?.compactMap { $0.string ?? $0.integer.map(String.init) }
        let field =
            text(["field", "pointer", "name", "path", "param"]) ?? source?["pointer"]?.string
            ?? source?["parameter"]?.string ?? steps?.joined(separator: ".")
        let name = [text(["resource"]), field].compactMap { $0 }.joined(separator: ".")
        let words = entry.string ?? text(["message", "detail", "reason", "msg", "description", "title"])
        return .init(name: path(name), code: text(["code", "type"]).flatMap(code), words: shown(words))
    }

    /// Words of a server without secrets; nil if none are left.
    static func shown(_ words: String?) -> String? {
        words.map(Redaction.shownLine).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A code is shown in descriptions, so it has only the characters of a name.
    static func code(_ text: String) -> String? {
        guard text.utf8.count <= 40, text.first?.isLetter == true, isHarmless(text, marks: "_-.") else { return nil }
        return text
    }

    /// The path of a part of the request, which is shown too: a name, `items[0].name`, or a JSON pointer.
    static func path(_ text: String) -> String? {
        let isPath = (1...80).contains(text.utf8.count) && isHarmless(text, marks: "_-.[]/#$:")
        return isPath && text.contains(where: \.isLetter) ? text : nil
    }

    private static func isHarmless(_ text: String, marks: String) -> Bool {
        let hasOnlyNameCharacters = text.allUTF8 { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: marks.utf8.contains(byte)
            }
        }
        // An authorization code has the same name as that of a problem.
        return hasOnlyNameCharacters && Redaction.standard.applied(toText: text) == text
            && !OpaqueText.isOpaque(Array(text.utf8)[...])
    }
}

extension JSONValue {
    /// The text of a member: a string, or the `message` of an object.
    fileprivate func words(_ name: String) -> String? { self[name]?.string ?? self[name]?["message"]?.string }
}
