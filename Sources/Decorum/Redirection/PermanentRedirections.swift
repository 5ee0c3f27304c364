import Foundation
import HTTPTypes
import Synchronization

/// The permanent redirections that a client remembers, so that it need not ask for them again.
///
/// A 301 and a 308 say that a resource has a new permanent URI, and may be kept without explicit freshness (RFC 9110,
/// sections 15.4.2 and 15.4.9; RFC 9111, section 4.2.2). The memory belongs to one or more stacks:
///
/// ```swift
/// let moved = PermanentRedirections()
/// let connection = SystemConnection()
///     .followingRedirects(remembering: moved)
/// moved.removeAll()  // when the user signs out
/// ```
///
/// A redirection is remembered for ``lifetime``, or for the freshness that the response states if that is shorter:
/// - if it answered a `GET` or `HEAD`, and was followed; a chain that starts with another method asks each time;
/// - if it came over TLS, or leads to the same host over TLS: others could be forged, and would stay;
/// - if it has no `Set-Cookie`, no `no-store` and no `no-cache`, and the request has no `no-store`;
/// - if the request has no secret field, such as `Authorization` or `Cookie`, so that no credential is kept here;
/// - if the request names a principal, or no layer further in added anything that may identify a user: see
///   ``SentRequests``;
/// - if its URL, its target and the fields that select it take no more than 8 KiB.
///
/// It is used for requests with the same URL, principal, fields that name a user or a tenant, and fields in `Vary`, unless
/// the request has a secret field, or `no-cache`, `no-store` or `max-age=0` in `Cache-Control`. The policy decides about it
/// each time; if it refuses, the server is asked. A redirection that is followed counts in ``ResponseMetadata/redirects``,
/// but not as an attempt.
///
/// A redirection is forgotten when its lifetime ends, after an unsafe request to its URL, and when the chain that it
/// leads to ends with a status of 4xx or 5xx, with an error or in a circle; the server is then asked again. If there are
/// more than ``limit`` redirections, the one that expires first is forgotten. The memory is not written to a disk.
public final class PermanentRedirections: Sendable {
    /// The largest number of redirections.
    public let limit: Int
    /// The longest time for which a redirection is remembered.
    public let lifetime: Duration

    private struct Entry {
        let response: HTTPResponse
        let selecting: [HTTPField.Name: [String]]
        let end: ContinuousClock.Instant

        /// The bytes of the texts that the entry holds.
        var byteCount: Int {
            let target = response.headerFields[.location]?.utf8.count ?? 0
            return selecting.reduce(target) { sum, field in
                field.value.reduce(sum + field.key.rawName.utf8.count) { $0 + $1.utf8.count }
            }
        }
    }

    /// The largest number of bytes of one redirection, with its key.
    private static let entryLimit = 8192

    private let entries = Mutex<[ResponseKey: Entry]>([:])

    /// Creates an empty memory; a negative limit counts as 0.
    public init(limit: Int = 100, lifetime: Duration = .seconds(24 * 60 * 60)) {
        self.limit = max(0, limit)
        self.lifetime = lifetime.bounded
    }

    /// The number of redirections, with those whose lifetime has ended since.
    public var count: Int { entries.withLock { $0.count } }

    /// Forgets all redirections.
    public func removeAll() {
        entries.withLock { $0 = [:] }
    }

    /// Forgets the redirections of a user, as when the user signs out.
    ///
    /// - Parameter principal: The user; nil for the redirections of requests without a principal.
    public func removeRedirections(of principal: Principal?) {
        entries.withLock { entries in entries = entries.filter { $0.key.principal != principal } }
    }

    func forget(_ keys: [ResponseKey]) {
        entries.withLock { entries in for key in keys { entries[key] = nil } }
    }

    /// Forgets the redirections from the URL of a request, whoever asked for them.
    func forget(_ request: Request) {
        guard let uri = ResponseKey.URI(request.head) else { return }
        entries.withLock { entries in entries = entries.filter { $0.key.uri != uri } }
    }

    /// The response that redirected an equal request, and the key under which it is remembered.
    func recall(
        _ request: borrowing Request, at now: ContinuousClock.Instant
    ) -> (key: ResponseKey, response: Response)? {
        guard request.isRecallable, let key = ResponseKey(request) else { return nil }
        let fields = request.head.headerFields
        let head = entries.withLock { entries -> HTTPResponse? in
            guard let entry = entries[key] else { return nil }
            guard entry.end > now else {
                entries[key] = nil
                return nil
            }
            return entry.selecting.allSatisfy { fields[values: $0.key] == $0.value } ? entry.response : nil
        }
        guard let head else { return nil }
        var response = Response(head: head)
        response.metadata.source = .cache
        response.metadata.attempts = 0
        return (key, response)
    }

    func learn(_ response: HTTPResponse, answering request: Request, at clock: any DatedClock) {
        guard limit > 0, let key = ResponseKey(request), !key.holdsSecret,
            let location = response.headerFields[.location],
            let lifetime = Self.lifetime(of: response, answering: request, at: clock.date, upTo: lifetime)
        else { return }
        let selecting = Vary(response.headerFields).names.map { ($0, request.head.headerFields[values: $0]) }
        let entry = Entry(
            response: HTTPResponse(status: response.status, headerFields: [.location: location]),
            selecting: Dictionary(uniqueKeysWithValues: selecting), end: clock.now + lifetime)
        guard key.byteCount + entry.byteCount <= Self.entryLimit else { return }
        entries.withLock { entries in
            if entries[key] == nil, entries.count >= limit, let first = entries.min(by: { $0.value.end < $1.value.end })
            {
                entries[first.key] = nil
            }
            entries[key] = entry
        }
    }

    /// The time for which a redirection is remembered; nil if it is not remembered.
    static func lifetime(
        of response: HTTPResponse, answering request: Request, at date: Date, upTo limit: Duration
    ) -> Duration? {
        let fields = response.headerFields
        let control = CacheControl(fields)
        guard response.status.code == 301 || response.status.code == 308, request.isRecallable,
            !control.contains("no-store"), !control.contains("no-cache"), !fields.contains(.setCookie),
            !Vary(fields).isAny, request.isSecurelyMoved(by: response)
        else { return nil }
        let freshness = Freshness(response, requestDate: date, date: date)
        let rest = freshness.explicitLifetime.map { Duration.seconds($0 - freshness.initialAge) }
        let lifetime = min(limit, rest ?? limit)
        return lifetime > .zero ? lifetime : nil
    }
}

extension PermanentRedirections: CustomStringConvertible {
    /// The number of redirections and their limit; never a URL.
    public var description: String { "\(count) of \(limit)" }
}

extension Request {
    /// Whether a remembered redirection may stand in for the answer of a server.
    var isRecallable: Bool {
        guard head.method == .get || head.method == .head, body.isEmpty else { return false }
        let control = CacheControl(head.headerFields)
        return !control.contains("no-cache") && !control.contains("no-store") && control.seconds(of: "max-age") != 0
    }

    /// Whether an attacker on the network cannot have made up where a response leads: it came over TLS, or leads to TLS
    /// on the same host.
    fileprivate func isSecurelyMoved(by response: HTTPResponse) -> Bool {
        guard let source = try? Origin(head) else { return false }
        guard source.scheme == "http" else { return true }
        guard let url, let proposal = RedirectionDecision.proposal(of: response, to: self, at: url) else {
            return false
        }
        return proposal.to.scheme == "https" && (try? Origin(proposal.to))?.host == source.host
    }
}

extension FollowingRedirectsConnection {
    /// Sends a request, and follows the remembered redirections in place of asking for them.
    func send(_ request: consuming Request, recallingFrom memory: PermanentRedirections) async throws -> Response {
        // An unsafe request may have changed the resource (RFC 9111, section 4.4), and a reload asks anew. A request that must
        // not be sent twice could not recover from a redirection that is wrong by now.
        guard request.isRecallable else {
            let request = request
            let response = try await follow(request)
            if !request.head.method.isSafe || request.head.method == .get { memory.forget(request) }
            return response
        }
        let original = copy request
        var recalled: [ResponseKey] = []
        do {
            let response = try await send(request, recallingFrom: memory, &recalled)
            if response.status.code >= 400 { memory.forget(recalled) }
            return response
        } catch {
            guard !recalled.isEmpty, !(error is CancellationError) else { throw error }
            memory.forget(recalled)
            // A server that has turned its redirections round would seem to lead in a circle.
            guard error is RedirectionLoopError || error is RedirectionLimitError else { throw error }
            return try await follow(original)
        }
    }

    /// Sends a request, and adds the keys of the remembered redirections that it follows.
    private func send(
        _ request: consuming Request, recallingFrom memory: PermanentRedirections, _ recalled: inout [ResponseKey]
    ) async throws -> Response {
        let outer = request.options.sentRequests
        var trail = RedirectionTrail()
        while true {
            // A remembered redirection that is refused, so that the server's own response is the answer.
            var refused: (head: HTTPResponse, refusal: RedirectionRefusal?, key: ResponseKey)?
            // A field that a layer further in declares secret has no place in the key.
            let holdsSecret = secretFields.contains(where: request.head.headerFields.contains)
            if !holdsSecret, let (key, response) = memory.recall(request, at: clock.now) {
                // The redirection that closes a circle throws here, and must be forgotten too.
                recalled.append(key)
                let head = response.head
                guard let answer = try await answer(from: response, to: &request, trail: &trail) else { continue }
                refused = (head, answer.metadata.redirectionRefusal, recalled.removeLast())
            }
            request.options.sentRequests = outer
            let sent = request.collectSent()
            let asked = copy request
            var response = try await send(copy request, after: trail)
            if let refused {
                // The policy has decided about this redirection already.
                guard !refused.head.isRepeated(by: response.head) else {
                    response.metadata.redirectionRefusal = refused.refusal
                    return trail.end(with: response, to: request)
                }
                memory.forget([refused.key])
            }
            guard RedirectionDecision.isRedirection(response.code) else {
                return trail.end(with: response, to: request)
            }
            let head = response.head
            if let answer = try await answer(from: consume response, to: &request, trail: &trail) { return answer }
            if sent.allowsSharing, !holdsSecret { memory.learn(head, answering: asked, at: clock) }
            try Task.checkCancellation()
        }
    }
}

extension HTTPResponse {
    fileprivate func isRepeated(by other: HTTPResponse) -> Bool {
        status == other.status && headerFields[values: .location] == other.headerFields[values: .location]
    }
}
