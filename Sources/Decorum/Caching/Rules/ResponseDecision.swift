import Foundation
import HTTPTypes

/// A request that a cache forwards to the server, and its purpose.
///
/// It is a class, since copies of two requests would cost more than all decisions about them.
final class ForwardedRequest: Sendable {
    /// The response that the request asks for.
    enum Purpose: Sendable {
        /// A whole response, or the confirmation of one of these stored responses; the request selects the first one.
        case ask([StoredResponse])
        /// The rest of a content whose start is stored (RFC 9111, section 3.3).
        case complete(StoredResponse, missing: ByteRange)
    }

    /// The request without the fields that the cache adds.
    let plain: Request
    /// The request with the fields that the cache adds; nil if it adds no field.
    private let changed: Request?
    let key: ResponseKey
    let purpose: Purpose
    let cause: ForwardCause
    /// The stored response that is used instead of the server's response; the replaced response is not stored.
    let fallback: StaleFallback?
    /// Whether a response that cannot be stored invalidates stored responses.
    let isReplacing: Bool
    /// Whether the response may come from a request that another caller has sent.
    let mayBeShared: Bool
    /// Collects the requests that are sent.
    let sent: SentRequests

    convenience init(
        _ plain: consuming Request, key: ResponseKey, for purpose: Purpose = .ask([]), because cause: ForwardCause,
        fallback: StaleFallback? = nil, replacing: Bool = true, mayBeShared: Bool, datedBy clock: any DatedClock
    ) {
        let sent = plain.collectSent(datedBy: clock)
        var changed: Request?
        switch purpose {
        case .ask(let stored) where stored.isEmpty: break
        case .ask(let stored):
            var request = copy plain
            Validation.ask(about: stored, in: &request.head.headerFields, byDate: cause == .validating)
            changed = request
        case .complete(let stored, let missing):
            var request = copy plain
            request.head.headerFields[.range] = missing.value
            if let tag = PartialContent.strongTag(of: stored.head) { request.head.headerFields[.ifRange] = tag }
            changed = request
        }
        self.init(plain, changed, key, purpose, cause, fallback, replacing, sent, mayBeShared)
    }

    private init(
        _ plain: consuming Request, _ changed: consuming Request?, _ key: ResponseKey, _ purpose: Purpose,
        _ cause: ForwardCause, _ fallback: StaleFallback?, _ isReplacing: Bool, _ sent: SentRequests,
        _ mayBeShared: Bool
    ) {
        (self.plain, self.changed, self.key, self.purpose) = (plain, changed, key, purpose)
        (self.cause, self.fallback, self.isReplacing) = (cause, fallback, isReplacing)
        (self.sent, self.mayBeShared) = (sent, mayBeShared)
    }

    /// The request as it is sent for several callers, or with nil for one alone.
    func request(for callers: (any WaitingCallers)?) -> Request { (changed ?? plain).sent(for: callers) }

    /// The same request without the fields that the cache adds.
    var withoutConditions: ForwardedRequest {
        var plain = plain
        plain.options = plain.options.travelling(.attempts)
        return ForwardedRequest(plain, nil, key, .ask([]), cause, fallback, true, sent, mayBeShared)
    }

    /// The request as it may go on after its caller was answered.
    var withoutDeadline: ForwardedRequest {
        ForwardedRequest(
            plain.withoutDeadline, changed?.withoutDeadline, key, purpose, cause, fallback, isReplacing, sent,
            mayBeShared)
    }
}

extension Request {
    /// The request that validates a stale response in the background, without the conditions of the caller, which do not
    /// concern it.
    consuming func validating(_ stored: StoredResponse) -> Request {
        options = options.travelling(.backgroundRequests)
        head.headerFields[.ifNoneMatch] = nil
        head.headerFields[.ifModifiedSince] = nil
        // For a stored part, the rest may not be worth a transfer; for a whole response it is.
        if !stored.isPart {
            head.headerFields[.range] = nil
            head.headerFields[.ifRange] = nil
        }
        return self
    }

    fileprivate var withoutDeadline: Request {
        var request = self
        (request.options.deadline, request.options.bodyDeadline) = (nil, nil)
        request.options.waitingCallers = nil
        return request
    }
}

/// The decision of a cache about a response that came from the server (RFC 9111, sections 3, 4.3.3 and 4.3.4).
enum ResponseDecision: Sendable {
    /// Answer with a stored response, which a `304` has confirmed.
    case confirm(Confirmation)
    /// Answer with the whole of a stored start and the rest that has come, and store it unless there is a reason not
    /// to.
    case combine(head: HTTPResponse, body: Body, NotStored?)
    /// Send the request of the caller as it is: the answer to the cache's own question is of no use.
    case askPlainly
    /// Answer with the response to a `HEAD`, and update what is stored by it.
    case update
    /// Answer with the response, and store it while its body is read.
    ///
    /// With `isReplacing`, stored responses are outdated even if the store does not take this one.
    case store(isReplacing: Bool)
    /// Answer with the response, which is not stored, and remove what is stored: it is outdated.
    case forget(because: NotStored)
    /// Answer with the response, which is not stored; what is stored stays.
    case pass(because: NotStored)

    /// A stored response that a `304` has confirmed.
    struct Confirmation: Sendable {
        let stored: StoredResponse
        /// The head with updated fields.
        let head: HTTPResponse
        /// Whether the `304` updates the stored response; with a weak tag it confirms without an update.
        let isRefreshed: Bool
        /// The reason why the response must not stay stored with its updated fields; nil when it may stay.
        let obstacle: NotStored?

        fileprivate init(
            _ stored: StoredResponse, by validation: HTTPResponse, to request: HTTPRequest, _ policy: CachingPolicy
        ) {
            self.stored = stored
            isRefreshed = Validation.mayRefresh(stored.head, by: validation)
            head = Validation.freshened(stored.head, by: validation)
            obstacle = StoringRules.obstacle(toUpdating: head, request, policy)
        }
    }

    static func decide(
        about response: HTTPResponse, _ body: Body, to forwarded: ForwardedRequest, by policy: CachingPolicy
    ) -> ResponseDecision {
        let request = forwarded.plain.head
        switch forwarded.purpose {
        case .ask(let stored) where !stored.isEmpty && response.code == 304:
            if let confirmed = Validation.confirmed(by: response, among: stored, for: request) {
                return .confirm(Confirmation(confirmed, by: response, to: request, policy))
            }
            // It may concern the condition of the caller, which the cache has also sent.
            if !request.isConditional { return .askPlainly }
        case .complete(let stored, _) where response.code == 206:
            guard let whole = PartialContent.combined(stored, with: response, body) else { return .askPlainly }
            return .combine(
                head: whole.head, body: whole.body,
                forwarded.sent.difference.map { .noPrincipal($0) } ?? obstacle(to: whole.head, request, policy))
        case .complete where response.code == 416:
            return .askPlainly
        case .ask, .complete:
            break
        }
        // A response that is only for one caller says nothing about the responses for others.
        if let difference = forwarded.sent.difference { return .pass(because: .noPrincipal(difference)) }
        if request.method == .head, policy.mode == .answering { return .update }
        if forwarded.fallback?.replaces(response) == true { return .pass(because: .replacedByStale) }
        let isOutdating = forwarded.isReplacing && policy.mode.outdates(response.status)
        guard let obstacle = obstacle(to: response, request, policy) else { return .store(isReplacing: isOutdating) }
        return isOutdating ? .forget(because: obstacle) : .pass(because: obstacle)
    }

    /// The reason why the response to a `POST` is not stored; nil when it may answer a `GET` (RFC 9110, section 9.3.3).
    static func obstacle(
        toPOST response: HTTPResponse, _ request: HTTPRequest, isWanted: Bool, _ difference: SentRequests.Difference?,
        _ policy: CachingPolicy
    ) -> NotStored? {
        if let refusal = StoringRules.refusal(of: response, toPost: request) { return .refused(refusal) }
        if let difference { return .noPrincipal(difference) }
        guard isWanted else { return .removedSince }
        return policy.mayStore(request, response) ? nil : .policy
    }

    /// The reason why the rules or the policy do not allow a response to be stored.
    private static func obstacle(
        to response: HTTPResponse, _ request: HTTPRequest, _ policy: CachingPolicy
    ) -> NotStored? {
        if let refusal = StoringRules.refusal(of: response, to: request, in: policy.mode) { return .refused(refusal) }
        return policy.mayStore(request, response) ? nil : .policy
    }
}

extension StoringRules {
    /// The reason why a stored response must not stay stored with its updated fields; nil when it may stay.
    static func obstacle(
        toUpdating head: HTTPResponse, _ request: HTTPRequest, _ policy: CachingPolicy
    ) -> NotStored? {
        if let refusal = refusal(of: head, CacheControl(head.headerFields), in: policy.mode) {
            return .refused(refusal)
        }
        return policy.mayStore(request, head) ? nil : .policy
    }
}

extension HTTPRequest {
    fileprivate var isConditional: Bool {
        headerFields.contains(.ifNoneMatch) || headerFields.contains(.ifModifiedSince)
    }
}

/// The reason why a response is not stored, or why a stored one does not stay.
enum NotStored: Sendable, Equatable {
    /// The rules forbid it.
    case refused(StoringRules.Refusal)
    /// ``CachingPolicy/mayStore`` forbids it.
    case policy
    /// Another request was sent than the one that was asked for, and no principal separates the users.
    case noPrincipal(SentRequests.Difference)
    /// It is a response to `HEAD`.
    case head
    /// A stale response is used in its place.
    case replacedByStale
    /// A `304` has confirmed the stored response, but does not show that it may be changed.
    case weaklyConfirmed
    /// The store does not take bodies of this length, or does not take the response.
    case store
    /// The stored responses of the URI or of the principal were removed since the request was sent.
    case removedSince

    /// Whether the detail is the same for all requests.
    var isFixed: Bool {
        if case .noPrincipal = self { false } else { true }
    }

    /// The reason in words, with the section of the RFC.
    var detail: String {
        switch self {
        case .refused(let refusal): refusal.detail
        case .policy: "not stored: the policy of the cache forbids it"
        case .noPrincipal(let difference): "not stored: the request names no principal, and \(difference)"
        case .head: "not stored: a response to HEAD has no content (RFC 9111, 4.3.5)"
        case .replacedByStale: "not stored: a stale response is used in its place (RFC 5861, 4)"
        case .weaklyConfirmed: "not updated: only a weak entity tag is equal (RFC 9111, 4.3.4)"
        case .store: "not stored: the store does not take it"
        case .removedSince: "not stored: it was removed while it was requested (RFC 9111, 4.4)"
        }
    }
}

/// Whether a response may be stored, and which of its fields (RFC 9111, section 3).
enum StoringRules {
    /// The reason why the rules do not allow a response to be stored.
    enum Refusal: Int, CaseIterable {
        case request
        case response
        case understanding
        case vary
        case status
        case condition
        case useless
        case method
        case part

        /// The reason in words, with the section of the RFC, as a whole text: a log has it for each response that is not
        /// stored.
        var detail: String {
            switch self {
            case .request: "not stored: the request has no-store (RFC 9111, 5.2.1.5)"
            case .response: "not stored: the response has no-store (RFC 9111, 5.2.2.5)"
            case .understanding:
                "not stored: the response has must-understand, and its status is not understood (RFC 9111, 5.2.2.3)"
            case .vary: "not stored: the response varies by more than the fields of the request (RFC 9111, 4.1)"
            case .status: "not stored: the status is not cacheable without an explicit lifetime (RFC 9111, 3)"
            case .condition: "not stored: the status answers a condition or a range, or is informational (RFC 9111, 3)"
            case .useless: "not stored: the response has neither a lifetime nor a validator (RFC 9111, 3)"
            case .method: "not stored: the response to a POST answers no later GET (RFC 9110, 9.3.3)"
            case .part: "not stored: the place of the part in the content is not known (RFC 9111, 3.3)"
            }
        }
    }

    /// The reason why a response to a `GET` may not be stored; nil if it may.
    static func refusal(
        of response: HTTPResponse, to request: HTTPRequest, in mode: CacheMode = .answering
    ) -> Refusal? {
        guard !CacheControl(request.headerFields).contains("no-store") else { return .request }
        let fields = response.headerFields
        let control = CacheControl(fields)
        if let refusal = refusal(of: response, control, in: mode) { return refusal }
        let code = response.code
        guard mode == .answering else {
            guard code == 200 else { return .status }
            return fields.hasValidator || fields.has(.date) ? nil : .useless
        }
        guard code >= 200, !refusedStatuses.contains(code) else { return .condition }
        if code == 206 {
            guard ContentRange(fields) != nil else { return .part }
        } else if request.headerFields.has(.range), code != 200 {
            return .part
        }
        let isExplicit =
            control.contains("max-age") || fields.has(.expires) || control.contains("stale-while-revalidate")
            || control.contains("stale-if-error")
        let isCacheable =
            isExplicit || control.contains("public") || Freshness.heuristicStatuses.contains(code)
        guard isCacheable else { return .status }
        return isExplicit || fields.hasValidator ? nil : .useless
    }

    /// The reason why the directives or `Vary` of a response forbid that it is stored, or that it stays stored (RFC 9111,
    /// sections 4.1 and 5.2.2).
    static func refusal(of response: HTTPResponse, _ control: CacheControl, in mode: CacheMode) -> Refusal? {
        if mode == .answering, control.contains("must-understand") {
            // A cache that understands the status may ignore the no-store, which is for caches that do not understand
            // it.
            guard understoodStatuses.contains(response.code) else { return .understanding }
        } else if control.contains("no-store") {
            return .response
        }
        return Vary(response.headerFields).isAny ? .vary : nil
    }

    /// Whether callers who ask at the same time may share a response: only if a cache may use it again without asking the
    /// server (RFC 9111, section 4).
    ///
    /// A response that sets a cookie, or that is stale on arrival, is for the caller who asked.
    static func mayReuse(_ stored: StoredResponse, by policy: CachingPolicy) -> Bool {
        !stored.head.headerFields.has(.setCookie) && !stored.freshness.needsValidation
            && stored.freshness.lifetime(guessing: policy) > stored.freshness.initialAge
    }

    /// Whether a request that differs only in some fields may get another response (RFC 9111, section 4.1).
    static func varies(_ response: HTTPResponse, by names: FieldNames) -> Bool {
        let vary = Vary(response.headerFields)
        return vary.isAny || vary.names.contains { names.contains($0) }
    }

    /// The reason why the response to a `POST` may not be stored as the response to a `GET`; nil if it may (RFC 9110,
    /// section 9.3.3).
    static func refusal(of response: HTTPResponse, toPost request: HTTPRequest) -> Refusal? {
        let fields = response.headerFields
        let control = CacheControl(fields)
        guard response.code == 200, control.contains("max-age") || fields.has(.expires),
            let location = fields.firstValue(of: .contentLocation),
            let uri = ResponseKey.URI(request), uri == ResponseKey.URI(location, relativeTo: request)
        else { return .method }
        return refusal(of: response, to: request)
    }

    /// A response as it is stored, with the date at which it was received if it has no `Date` (RFC 9110, section
    /// 6.6.1).
    static func storable(_ head: HTTPResponse, receivedAt date: Date) -> HTTPResponse {
        var head = storable(head)
        if !head.headerFields.has(.date) {
            head.headerFields.append(HTTPField(name: .date, value: HTTPDate(date).description))
        }
        return head
    }

    /// A response without the fields that belong to its connection or need validation (RFC 9111,
    /// sections 3.1 and 5.2.2.4).
    static func storable(_ head: HTTPResponse) -> HTTPResponse {
        let fields = head.headerFields
        let named = fields.connectionFields.union(CacheControl(fields).fields(of: "no-cache"))
            .subtracting(indispensableFields)
        guard !named.isEmpty || fields.contains(where: { unstoredFields.contains($0.name) }) else { return head }
        var head = head
        head.headerFields = HTTPFields(
            fields.filter { !unstoredFields.contains($0.name) && !named.contains($0.name) })
        return head
    }

    /// Without these fields, a stored response would be used for the wrong user or read in the wrong way.
    private static let indispensableFields: Set<HTTPField.Name> = [
        .cacheControl, .contentEncoding, .contentRange, .vary,
    ]

    static let unstoredFields = FieldNames(
        Set(
            [
                "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
                "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
            ].compactMap { HTTPField.Name($0) }))

    /// Statuses that answer a condition or a range, not the URI.
    private static let refusedStatuses = [304, 412, 416]
    private static let understoodStatuses = Freshness.heuristicStatuses + [302, 303, 307]
}

extension HTTPFields {
    /// Whether a response with the fields has an entity tag or the date of its last modification.
    var hasValidator: Bool { has(.eTag) || has(.lastModified) }

    /// The fields that the `Connection` field of a message names (RFC 9110, section 7.6.1).
    var connectionFields: Set<HTTPField.Name> {
        guard contains(.connection) else { return [] }
        var names: Set<HTTPField.Name> = []
        for field in self where field.name == .connection {
            names.formUnion(ListMembers(field.value).compactMap { HTTPField.Name(String($0)) })
        }
        return names
    }
}
