import Foundation
public import HTTPTypes

extension Connection {
    /// Follows redirections to the response that they lead to.
    ///
    /// After a `301`, `302`, `303`, `307` or `308`, its `Location` is requested. A `POST` becomes a `GET` after a `301`
    /// or `302`; every method but `HEAD` becomes a `GET` after a `303`, and loses its body with the fields that describe it.
    /// In all other cases the method stays, also `QUERY`, and the body is sent again.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .followingRedirects(upTo: 5, policy: .httpsOnly)
    /// let response = try await connection.send(.get("https://example.com/"))
    /// print(response.metadata.redirects)  // [301 https://example.com → https://www.example.com]
    /// ```
    ///
    /// A request to another origin loses `Host`, `Origin` and all secret fields. A field is secret if
    /// ``Redaction/standard`` recognizes it by its name, such as `Authorization`, `Cookie`, `Proxy-Authorization` and
    /// `X-API-Key`, or by its value, which is a token or JSON with a secret; if a layer further in declares it secret;
    /// or if it is in ``RequestOptions/secretFields``. Removed fields do not come back when a later redirection leads
    /// back. `Referer` is cut to its origin, and removed on a redirection from `https` to `http`. The principal and the
    /// other options are kept; they are never sent.
    ///
    /// The redirection itself is returned, with its body untouched and the reason in
    /// ``ResponseMetadata/redirectionRefusal``, when `policy` or ``RequestOptions/redirectionPolicy`` refuses it, when
    /// ``RequestOptions/deadline`` has passed, and in the other cases of ``RedirectionRefusal``. The body of a redirection
    /// that is followed is read, so that its connection can be used again, or dropped if it has more than 16 KiB or takes
    /// more than a second.
    ///
    /// A permanent redirection is asked for each time, unless a cache further in keeps it or `memory` is given: see
    /// ``PermanentRedirections``.
    ///
    /// Place it outside of cookies, caching, retries and authentication, which then get every request of a chain, and
    /// inside of ``resolving(against:)``. See RFC 9110, sections 10.2.2 and 15.4, and the Fetch standard.
    ///
    /// - Parameters:
    ///   - limit: The largest number of redirections to follow for one request; 0 or less for none, so that a redirection
    ///     is returned.
    ///   - policy: Which redirections to follow.
    ///   - memory: The permanent redirections that are followed without asking again; nil to ask each time.
    ///   - clock: The clock that limits the time for reading the body of a followed redirection, and that ages
    ///     remembered ones.
    /// - Returns: A connection that throws ``RedirectionLimitError`` at the first redirection beyond `limit`, and
    ///   ``RedirectionLoopError`` at a redirection to a URL that was requested with the same method before. A
    ///   redirection that sets a cookie may lead back, since the next answer may differ.
    public func followingRedirects(
        upTo limit: Int = 20, policy: RedirectionPolicy = .standard,
        remembering memory: PermanentRedirections? = nil, clock: any DatedClock = SystemClock()
    ) -> some Connection {
        FollowingRedirectsConnection(base: self, limit: max(0, limit), policy: policy, memory: memory, clock: clock)
    }
}

struct FollowingRedirectsConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let limit: Int
    let policy: RedirectionPolicy
    let memory: PermanentRedirections?
    let clock: any DatedClock
    let secretFields: Set<HTTPField.Name>
    private let baseMayChangeUser: Bool
    private let prepare: (@Sendable (inout Request) -> Void)?

    init(
        base: Base, limit: Int, policy: RedirectionPolicy, memory: PermanentRedirections?, clock: any DatedClock
    ) {
        (self.base, self.limit, self.policy, self.memory, self.clock) = (base, limit, policy, memory, clock)
        (secretFields, baseMayChangeUser) = (base.secretFields, base.mayChangeUser)
        prepare = (base as? any RequestPreparing)?.prepare
    }

    var layer: Layer {
        var settings: [Layer.Setting] = [.init("upTo", limit), .init("policy", policy)]
        if let memory { settings.append(.init("remembering", memory)) }
        return Layer(
            name: "followingRedirects", role: .redirection, settings: settings, facts: facts,
            sending: .init(1...longestChain),
            time: .init(reading: longestChain < 1 << 30 ? .atMost(Body.discardTime * (longestChain - 1)) : .unbounded),
            memory: .init(state: memory.map { [Layer.StateIdentity($0)] } ?? []))
    }

    private var facts: Set<Layer.Fact> {
        guard limit > 0 else { return [] }
        let facts: Set<Layer.Fact> = [.changesSignedParts, .readsStatus]
        return memory == nil ? facts : facts.union(Layer.facts(of: clock))
    }

    /// The number of requests of one call; a chain that began with remembered redirections may start anew.
    private var longestChain: Int {
        guard limit > 0 else { return 1 }
        let (doubled, overflows) = limit.multipliedReportingOverflow(by: memory == nil ? 1 : 2)
        return overflows || doubled > .max - 2 ? .max : doubled + (memory == nil ? 1 : 2)
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        request.options.beginCall(ifNeeded: baseMayChangeUser)
        prepare?(&request)
        if let memory, limit > 0 { return try await send(request, recallingFrom: memory) }
        return try await follow(request)
    }

    /// Sends a request, and follows the redirections that the server answers with.
    @inline(__always) func follow(_ request: consuming Request) async throws -> Response {
        var trail = RedirectionTrail()
        while true {
            let response = try await send(copy request, after: trail)
            guard RedirectionDecision.isRedirection(response.code) else {
                return trail.isEmpty ? response : trail.end(with: response, to: request)
            }
            if let answer = try await answer(from: consume response, to: &request, trail: &trail) {
                return answer
            }
            try Task.checkCancellation()
        }
    }

    /// Sends a request of a chain, and names the redirection that led to it in the error of a transport.
    @inline(__always) func send(_ request: consuming Request, after trail: RedirectionTrail) async throws -> Response {
        do {
            return try await base.send(request)
        } catch {
            throw trail.naming(error)
        }
    }

    /// Returns the answer, or nil if `request` has become the next one to send.
    ///
    /// The response is consumed here: its transfer must end before the next request.
    func answer(
        from response: consuming Response, to request: inout Request, trail: inout RedirectionTrail
    ) async throws -> Response? {
        guard let url = request.url ?? response.metadata.url else {
            return trail.end(with: response, to: request)
        }
        let policy = request.options.redirectionPolicy ?? policy
        let asked = response.metadata.url.flatMap { try? Origin($0) }
        switch try await decision(about: response.head, to: request, at: url, asked: asked, policy: policy) {
        case .answer:
            break
        case .refuse(let refusal):
            refuse(&response, because: refusal, to: request)
        case .follow where request.options.timeLeft(at: clock.now) == .zero:
            refuse(&response, because: .deadline, to: request)
        case .follow(let next, let redirection):
            guard try await policy.rule(redirection) else {
                refuse(&response, because: .policy, to: request)
                break
            }
            let isRemembered = response.metadata.source == .cache
            request.options.callContext?.note(
                CallDecision(
                    .redirects, by: "followingRedirects", "\(isRemembered ? "remembered " : "")\(redirection)",
                    after: isRemembered ? nil : "\(response.status.code)"))
            try trail.add(redirection, after: response, to: request, limit: limit)
            // The connection can be used again where the body is short.
            try await response.body.discard(until: request.options.lastDeadline, on: clock)
            request.reportRedirection(to: next.head)
            request = next
            return nil
        }
        return trail.end(with: response, to: request)
    }

    private func refuse(_ response: inout Response, because refusal: RedirectionRefusal, to request: Request) {
        response.metadata.redirectionRefusal = refusal
        request.options.callContext?.note(
            CallDecision(.givesUp, by: "followingRedirects", "returns the \(response.status.code): \(refusal)"))
    }

    private func decision(
        about response: HTTPResponse, to request: Request, at url: URL, asked: Origin?, policy: RedirectionPolicy
    ) async throws -> RedirectionDecision {
        guard limit > 0 else { return .refuse(.limit) }
        var target: URL?
        if policy.isRewriting, let proposal = RedirectionDecision.proposal(of: response, to: request, at: url) {
            target = try await policy.target(of: proposal)
        }
        return .after(
            response, to: request, at: url, asked: asked, rewrittenTo: target, policy: policy,
            secretFields: secretFields)
    }
}

/// A layer whose change of a request this layer makes before it keeps the request: a later change would copy all fields.
protocol RequestPreparing {
    /// Makes the change, unless it is made already.
    var prepare: @Sendable (_ request: inout Request) -> Void { get }
}

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
    // Most calls are not redirected, and a response that is passed to a function is copied.
    var isEmpty: Bool { redirections.isEmpty }
    private var start: (method: HTTPRequest.Method, routeName: String?)?
    private var attempts = 0
    private var recalled = 0
    private var visits: Set<Visit> = []

    mutating func add(
        _ redirection: Redirection, after response: Response, to request: borrowing Request, limit: Int
    ) throws {
        let method = request.head.method
        let start = start ?? (method, request.options.routeName)
        self.start = start
        redirections.append(redirection)
        attempts += response.metadata.attempts
        if response.metadata.attempts == 0 { recalled += 1 }
        guard redirections.count <= limit else {
            throw RedirectionLimitError(
                method: start.method, routeName: start.routeName, limit: limit, redirections: redirections)
        }
        // With another cookie, the same request may get another answer.
        if response.head.headerFields.contains(.setCookie) {
            visits = []
        } else {
            visits.insert(Visit(method, redirection.from))
        }
        guard visits.insert(Visit(redirection.method, redirection.to)).inserted else {
            throw RedirectionLoopError(method: start.method, routeName: start.routeName, redirections: redirections)
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
        guard let start else { return response }
        response.metadata.methodName = start.method.rawValue
        response.metadata.redirects = redirections + response.metadata.redirects
        response.metadata.attempts += attempts
        if recalled > 0 { response.metadata.recalledRedirects += recalled }
        response.metadata.url = request.url
        return response
    }
}

/// An error that ends a chain of redirections, for reports.
protocol RedirectionError: Error {
    var method: HTTPRequest.Method { get }
    var routeName: String? { get }
    var redirections: [Redirection] { get }
}

/// A request was redirected more often than is acceptable.
public struct RedirectionLimitError: DescribableError, RedirectionError, Hashable {
    /// The method of the request, before any redirection.
    public let method: HTTPRequest.Method
    /// The route name of the request; nil if it has none.
    public let routeName: String?
    /// The largest number of redirections that was accepted.
    public let limit: Int
    /// The redirections; the last one was not followed.
    public let redirections: [Redirection]

    /// The request, the limit, the URL that redirected last, without its query, and the parameter to raise.
    public var description: String {
        let times = limit == 1 ? "once" : "\(limit) times"
        return
            "\(redirections.start(method, routeName)) was redirected more than \(times), lastly by \(redirections.lastPlace). "
            + "Raise `followingRedirects(upTo:)` if so many are intended."
    }
}

/// A request was redirected to a URL that it was sent to before.
public struct RedirectionLoopError: DescribableError, RedirectionError, Hashable {
    /// The method of the request, before any redirection.
    public let method: HTTPRequest.Method
    /// The route name of the request; nil if it has none.
    public let routeName: String?
    /// The redirections; the last one was not followed.
    public let redirections: [Redirection]

    /// The request, the redirection that closes the circle, its URLs without their queries, and a common reason.
    public var description: String {
        let target = redirections.last.map { Redaction.describedPath($0.to.absoluteString) } ?? "an unknown URL"
        let start = redirections.start(method, routeName)
        return "\(start) was redirected in a circle: redirection \(redirections.count), by \(redirections.lastPlace), "
            + "leads to \(target), which was requested before. Some servers redirect until they get their cookie or a credential."
    }
}

extension [Redirection] {
    /// The method, the first URL without its query and secrets, and the route name.
    fileprivate func start(_ method: HTTPRequest.Method, _ routeName: String?) -> String {
        let place = first.map { " " + Redaction.describedPath($0.from.absoluteString) } ?? ""
        let route = routeName.map { " (route “\(Redaction.shownWords($0))”)" } ?? ""
        return "\(method)\(place)\(route)"
    }

    /// The URL that redirected last, without its query and secrets.
    fileprivate var lastPlace: String {
        last.map { Redaction.describedPath($0.from.absoluteString) } ?? "an unknown URL"
    }
}
