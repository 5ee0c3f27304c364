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
    /// The random number of the file that a store has read the response from, by which its body is known.
    var fileNonce: UInt64?
    /// When the ticket was given with which a store of files keeps the response in memory.
    var ticketTime: TicketTime?

    /// Creates a stored response.
    ///
    /// - Parameters:
    ///   - head: The status and the header fields.
    ///   - body: The whole content.
    ///   - request: The head of the request that it answers.
    ///   - requestDate: When that request was sent; nil stands for `date`.
    ///   - date: When the response was received.
    ///   - decodedContentCodings: The content codings that the transport decoded.
    public init(
        head: HTTPResponse, body: Body, request: HTTPRequest, requestDate: Date? = nil, date: Date,
        decodedContentCodings: [String] = []
    ) {
        self.init(
            head: head, body: body, selectingFields: SelectingFields.of(request, for: head),
            requestDate: requestDate ?? date, date: date, decodedContentCodings: decodedContentCodings)
    }

    /// Creates a stored response from the parts that a store has kept.
    ///
    /// - Parameters:
    ///   - head: The status and the header fields.
    ///   - body: The whole content.
    ///   - selectingFields: The fields of the request that were kept: see ``selectingFields``.
    ///   - requestDate: When the request was sent.
    ///   - date: When the response was received.
    ///   - decodedContentCodings: The content codings that the transport decoded.
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
        self.head = head
        self.selectingFields = selectingFields
        self.requestDate = requestDate
        self.date = date
        freshness = Freshness(head, requestDate: requestDate, date: date)
        vary = Vary(head.headerFields)
        isPart = head.status == .partialContent
        hasAge = head.headerFields.has(.age)
        isForAnyCookie = freshness.isPublic || vary.names.contains(.cookie)
        cookie = selectingFields.isEmpty ? nil : selectingFields[.cookie]
    }
}

extension StoredResponse: SecretHolder {
    /// The code of the status; never fields or content.
    public var description: String { "stored \(head.status.code)" }
}
