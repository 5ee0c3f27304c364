public import Foundation
public import HTTPTypes

/// A response that is kept, with what is needed to select and to validate it.
public struct StoredResponse: Sendable {
    /// The parts that never change, which copies share: a response is copied several times on its way to a caller.
    private let fixed: FixedParts
    /// The whole content, which can be read any number of times; of a `206`, the part that its `Content-Range` names.
    public var body: Body
    /// The content codings that the transport decoded before the body was stored, outermost first, as in `["gzip"]`.
    public var decodedContentCodings: [String]
    /// The random number of the file or value that a store has read the response from, by which its body is known.
    package var fileNonce: UInt64?
    /// When the ticket was given with which a store of files keeps the response in memory.
    var ticketTime: TicketTime?

    /// Creates the response to a request, of which ``selectingFields`` are kept; without `requestDate`, `date` counts.
    public init(
        head: HTTPResponse, body: Body, request: HTTPRequest, requestDate: Date? = nil, date: Date,
        decodedContentCodings: [String] = []
    ) {
        self.init(
            head: head, body: body, selectingFields: SelectingFields.of(request, for: head),
            requestDate: requestDate ?? date, date: date, decodedContentCodings: decodedContentCodings)
    }

    /// Creates a stored response from the parts that a store has kept.
    public init(
        head: HTTPResponse, body: Body, selectingFields: HTTPFields, requestDate: Date, date: Date,
        decodedContentCodings: [String] = []
    ) {
        fixed = FixedParts(head, selectingFields: selectingFields, requestDate: requestDate, date: date)
        self.body = body
        self.decodedContentCodings = decodedContentCodings
    }

    /// The status and the header fields.
    public var head: HTTPResponse { fixed.head }
    /// The fields of the request that `Vary` names, as they were; also its `Cookie`, unless the response is `public`.
    public var selectingFields: HTTPFields { fixed.selectingFields }
    /// The time at which the answered request, or the last validating request, was sent.
    public var requestDate: Date { fixed.requestDate }
    /// When the response was received, or last validated.
    public var date: Date { fixed.date }

    /// The code of the status.
    var code: Int { fixed.code }
    var freshness: Freshness { fixed.freshness }
    var vary: Vary { fixed.vary }
    /// Whether the body is the part of the content that `Content-Range` names.
    var isPart: Bool { fixed.isPart }
    /// Whether the head has the age at which the response was received.
    var hasAge: Bool { fixed.hasAge }

    /// Whether the response may answer a request, going by `Vary` (RFC 9111, section 4.1).
    ///
    /// Fields on one line and on several lines count as the same, and so do values that differ only in white space
    /// around commas and at the ends (RFC 9110, section 5.6.3). In `Accept-Language`, the order and the letter case are
    /// ignored if the weights are the same. A response in the one language that a request prefers to all others is
    /// selected, with any other languages in the request.
    ///
    /// - Parameter request: The head of a request with the same key.
    /// - Returns: Whether each field that `Vary` names is the same in both requests.
    public func isSelected(by request: HTTPRequest) -> Bool {
        guard !vary.isAny else { return false }
        return vary.names.isEmpty || SelectingFields.match(self, request.headerFields)
    }

    /// Whether the response was requested with another cookie than a request has, and may depend on it.
    ///
    /// Many servers omit `Cookie` from `Vary`. Such a response is not used for another cookie until the server has
    /// confirmed it by its strong entity tag. A `Vary: Cookie` decides (``isSelected(by:)``), and a
    /// `public` response is the same for all cookies.
    ///
    /// - Parameter request: The head of a request with the same key.
    /// - Returns: Whether the cookies differ; one that is present differs from one that is absent.
    public func cookieDiffers(from request: HTTPRequest) -> Bool {
        cookieDiffers(from: request.headerFields)
    }

    func cookieDiffers(from fields: HTTPFields) -> Bool {
        !fixed.isForAnyCookie && (fields.has(.cookie) ? fields[.cookie] : nil) != fixed.cookie
    }

    /// Whether the request that the response answers had no cookie.
    var wasRequestedWithoutCookie: Bool { fixed.cookie == nil }

    /// Whether another response takes this one's place in a store: both answer the same requests.
    ///
    /// - Parameter other: A response with the same key.
    /// - Returns: Whether both have the same `Vary` and were selected by the same fields.
    public func isOfSameVariant(as other: StoredResponse) -> Bool {
        vary == other.vary && (vary.names.isEmpty || SelectingFields.areSame(self, other))
    }
}

/// The parts of a stored response that never change, and what follows from them.
private final class FixedParts: Sendable {
    let head: HTTPResponse
    let code: Int
    let selectingFields: HTTPFields
    let requestDate: Date
    let date: Date
    let freshness: Freshness
    let vary: Vary
    let isPart: Bool
    let hasAge: Bool
    /// Whether the cookie of a request does not matter, or only as `Vary` says.
    let isForAnyCookie: Bool
    /// The cookie of the request that the response answers; nil when it had none.
    let cookie: String?

    init(_ head: HTTPResponse, selectingFields: HTTPFields, requestDate: Date, date: Date) {
        (self.head, self.selectingFields, self.requestDate, self.date) = (head, selectingFields, requestDate, date)
        code = head.code
        freshness = Freshness(head, requestDate: requestDate, date: date)
        vary = Vary(head.headerFields)
        isPart = code == 206
        hasAge = head.headerFields.has(.age)
        isForAnyCookie = freshness.isPublic || vary.names.contains(.cookie)
        cookie = selectingFields.isEmpty ? nil : selectingFields[.cookie]
    }
}

extension StoredResponse: SecretHolder {
    /// The code of the status; never fields or content.
    public var description: String { "stored \(head.status.code)" }
}

/// The age of a stored response, and the time for which it may be used (RFC 9111, section 4.2).
///
/// It is computed once, when the response is stored or read, since a hit should not parse fields.
struct Freshness: Sendable {
    /// The explicit lifetime in seconds; nil when the server gave none.
    let explicitLifetime: Double?
    /// The seconds by which the content was older than the response, if a heuristic lifetime may be computed from them.
    let modifiedBefore: Double?
    /// The age, in seconds, when the response was received.
    let initialAge: Double
    /// Whether the response must not be used once it is stale, with any other setting.
    let forbidsStale: Bool
    /// Whether the response must be validated even while it is fresh.
    let needsValidation: Bool
    /// Whether the response does not change while it is fresh (RFC 8246).
    let isImmutable: Bool
    /// Whether the response is the same for all users (RFC 9111, section 5.2.2.9).
    let isPublic: Bool
    /// The seconds after becoming stale in which the response may be used while it is validated (RFC 5861, section 3).
    let staleWhileRevalidate: Double
    /// The seconds after becoming stale in which the response may be used instead of an error (RFC 5861, section 4).
    let staleIfError: Double

    init(_ head: HTTPResponse, requestDate: Date, date: Date) {
        let fields = head.headerFields
        let control = CacheControl(fields)
        let received = date.timeIntervalSince1970
        let sent = fields.firstValue(of: .date).flatMap { HTTPDate($0, at: date) }.map { Double($0.seconds) }

        explicitLifetime =
            control.seconds(of: "max-age")
            ?? fields.expires(at: date).map { max(0, $0 - (sent ?? received.rounded(.down))) }
        modifiedBefore =
            Self.heuristicStatuses.contains(head.code) || control.contains("public")
            ? fields.firstValue(of: .lastModified).flatMap { HTTPDate($0, at: date) }
                .map { max(0, (sent ?? received) - Double($0.seconds)) }
            : nil
        initialAge = Self.initialAge(
            of: fields, sent: sent, received: received, delay: received - requestDate.timeIntervalSince1970)
        needsValidation =
            control.isUnqualified("no-cache")
            || (!fields.has(.cacheControl) && fields.has(.pragma) && fields.asksForValidation)
        forbidsStale = control.contains("must-revalidate") || needsValidation
        isImmutable = control.contains("immutable")
        isPublic = control.contains("public")
        staleWhileRevalidate = control.seconds(of: "stale-while-revalidate") ?? 0
        staleIfError = control.seconds(of: "stale-if-error") ?? 0
    }

    /// The seconds from the response's creation in which it is fresh; heuristic without an explicit lifetime.
    func lifetime(guessing policy: CachingPolicy) -> Double {
        if let explicitLifetime { return explicitLifetime }
        guard let modifiedBefore else { return 0 }
        // In this order, a factor of NaN gives 0.
        return max(0, min(modifiedBefore * policy.heuristicFraction, policy.heuristicLimit.seconds))
    }

    /// `corrected_initial_age` of RFC 9111, section 4.2.3.
    private static func initialAge(of fields: HTTPFields, sent: Double?, received: Double, delay: Double) -> Double {
        // Dates are whole seconds: the fraction that a Date lacks must not count as age.
        let apparentAge = sent.map { max(0, received.rounded(.down) - $0) } ?? 0
        return max(apparentAge, (fields.age ?? 0) + max(0, delay))
    }

    /// The statuses that are cacheable by default (RFC 9110, section 15.1).
    static let heuristicStatuses = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]
}

extension HTTPFields {
    /// The seconds since 1970 in `Expires`; an invalid date and several values count as the past.
    fileprivate func expires(at now: Date) -> Double? {
        guard let value = firstValue(of: .expires) else { return nil }
        guard lazy.filter({ $0.name == .expires }).count == 1, let date = HTTPDate(value, at: now) else {
            return -.infinity
        }
        return Double(date.seconds)
    }

    /// Whether `Pragma` has the meaning of `Cache-Control: no-cache`, as for a cache of HTTP/1.0 (RFC 9111, section
    /// 5.4).
    var asksForValidation: Bool {
        contains { field in
            field.name == .pragma && ListMembers(field.value).contains { $0.lowercased() == "no-cache" }
        }
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double {
        let (seconds, attoseconds) = bounded.components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}

/// Whether a response that varies answers two requests (RFC 9111, section 4.1).
enum SelectingFields {
    /// The fields of a request that are kept with its response: the fields that `Vary` names, and `Cookie` unless the
    /// response is `public`.
    static func of(_ request: HTTPRequest, for response: HTTPResponse) -> HTTPFields {
        var names = Vary(response.headerFields).names
        let fields = request.headerFields
        if fields.contains(.cookie), !CacheControl(response.headerFields).contains("public") { names.insert(.cookie) }
        return names.isEmpty ? HTTPFields() : HTTPFields(fields.filter { names.contains($0.name) })
    }

    static func match(_ stored: StoredResponse, _ fields: HTTPFields) -> Bool {
        guard !stored.vary.isAny else { return false }
        return stored.vary.names.allSatisfy { name in
            areSame(name, fields, stored.selectingFields)
                || (name == .acceptLanguage && isPreferred(stored.head, by: fields))
        }
    }

    static func areSame(_ lhs: StoredResponse, _ rhs: StoredResponse) -> Bool {
        lhs.vary.names.allSatisfy { areSame($0, lhs.selectingFields, rhs.selectingFields) }
    }

    private static func areSame(_ name: HTTPField.Name, _ lhs: HTTPFields, _ rhs: HTTPFields) -> Bool {
        if lhs.hasSame(name, as: rhs) { return true }
        guard lhs.contains(name), rhs.contains(name) else { return false }
        if name == .acceptLanguage {
            guard let lhs = languages(lhs), let rhs = languages(rhs) else { return false }
            return lhs == rhs
        }
        // Empty members are ignored only in a field that is known to be a list.
        if listFields.contains(name) { return members(name, lhs) == members(name, rhs) }
        return lhs[name].map(withoutOptionalSpace) == rhs[name].map(withoutOptionalSpace)
    }

    /// The bytes of a value without white space around commas and at the ends (RFC 9110, section 5.6.3).
    ///
    /// White space within a quoted string is a part of the value. So is all that follows a quotation mark that is never
    /// closed.
    private static func withoutOptionalSpace(_ value: String) -> [UInt8] {
        var kept: [UInt8] = []
        var space: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        for byte in value.utf8 {
            let isSpace = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
            if isSpace, !isQuoted {
                space.append(byte)
                continue
            }
            let isComma = byte == UInt8(ascii: ",") && !isQuoted
            let isAfterComma = kept.isEmpty || (kept.last == UInt8(ascii: ",") && !isQuoted)
            if !isComma, !isAfterComma { kept += space }
            space = []
            kept.append(byte)
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isQuoted: isEscaped = true
            case UInt8(ascii: "\""): isQuoted.toggle()
            default: break
            }
        }
        return kept
    }

    private static let listFields: Set<HTTPField.Name> = [.accept, .acceptEncoding]

    /// The members of all lines of a field, in which blanks around commas do not count.
    private static func members(_ name: HTTPField.Name, _ fields: HTTPFields) -> [Substring] {
        fields.lazy.filter { $0.name == name }.flatMap { Array(ListMembers($0.value)) }
    }

    /// Whether a response is in the language that a request prefers to all others.
    private static func isPreferred(_ response: HTTPResponse, by fields: HTTPFields) -> Bool {
        guard let language = response.headerFields.firstValue(of: .contentLanguage) else { return false }
        guard let wanted = languages(fields), let best = wanted.values.max(), best > 0 else { return false }
        return wanted.filter { $0.value == best }.map(\.key) == [language.lowercased()]
    }

    /// The weight of each language in `Accept-Language` (RFC 9110, section 12.4.2); nil if a weight is unclear.
    private static func languages(_ fields: HTTPFields) -> [String: Double]? {
        var weights: [String: Double] = [:]
        for member in members(.acceptLanguage, fields) {
            let parts = member.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let language = parts.first, parts.count <= 2,
                let weight = parts.count == 1 ? 1 : weight(parts[1]),
                weights.updateValue(weight, forKey: language) == nil
            else { return nil }
        }
        return weights
    }

    private static func weight(_ parameter: String) -> Double? {
        let number = parameter.dropFirst(2)
        guard parameter.hasPrefix("q="), number.utf8.count <= 5,
            number.utf8.allSatisfy({ $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) })
        else { return nil }
        return Double(number).flatMap { $0 <= 1 ? $0 : nil }
    }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let contentLanguage = HTTPField.Name("Content-Language")!
}
