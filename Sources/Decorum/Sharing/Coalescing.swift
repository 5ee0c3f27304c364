public import HTTPTypes

extension Connection {
    /// Sends one request for identical requests that are under way at the same time.
    ///
    /// A `GET` or `HEAD` without a body joins a request under way if both have the same method, URI with its fragment,
    /// ``RequestOptions/principal``, fields except for ``CoalescingPolicy/ignoredFields``, and options that decide how a
    /// request is sent: see ``OptionTravel/comparedWhenShared``. So requests with different credentials, or another `Accept`
    /// or `Range`, never share. All joined callers get the response, or the error, of the one request that is sent; for all
    /// but the caller who sent it, ``ResponseMetadata/isCoalesced`` is true. Without this layer,
    /// ``caching(in:policy:clock:spawner:)`` shares only the responses that it could use again.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .retrying()
    ///     .coalescing()
    /// ```
    ///
    /// **A response** is shared if its status is 2xx, 3xx, 404 or 410 and it has no `Cache-Control: no-store`. Any other
    /// response, such as `401` or `500`, is for the caller who sent the request. The requests of the callers who waited
    /// are then sent together, and later requests with the same key do not wait until one of them gets a response that
    /// can be shared. For a resource that gives each caller a different response, such as a token for one use, set
    /// ``RequestOptions/allowsCoalescing`` to false.
    ///
    /// **Joining** is possible until the head of the response has arrived, or until a request with an unsafe method, such as
    /// a `POST`, may have changed the resource: one for its URI, or whose response names it in `Location` or
    /// `Content-Location`, unless the status is 4xx or 5xx. So a caller who reads after a change gets no response from before.
    ///
    /// **Deadlines** of a caller affect only that caller, who gets ``TransportError/Code/deadlineExceeded`` while the
    /// request goes on for the others, without the options that do not travel to shared requests. An attempt has a deadline
    /// where ``limitingTime(_:as:clock:)`` stands further in. A retry further in goes by the latest deadline of the callers.
    ///
    /// **Cancellation** of a caller affects only that caller. If the caller who sends the request is cancelled before the
    /// response has arrived, the next caller sends it again. When the last caller is cancelled or drops the response, the
    /// transfer ends and its connection is freed.
    ///
    /// **A body** is read at the speed of the fastest reader, up to 5 MiB ahead of the others. Readers who are further
    /// behind delay the others, for at most a second over the whole body; after that, their reading throws
    /// ``CoalescingBacklogError``.
    ///
    /// All other requests pass unchanged: requests with a body or another method, with `Cache-Control: no-store`, or
    /// that opt out. If a layer further in declares that it adds credentials, requests without a principal pass too. If it
    /// adds them without declaring it, or changes the request in another way, the response to a request without a principal
    /// is given only to the caller who sent it: see ``SentRequests``.
    ///
    /// Place it inside of caching and of layers that make requests the same, such as default fields, and outside of
    /// ``retrying(_:clock:generator:)``, so that all callers wait for the same attempts. See RFC 9110, section 9.2.1,
    /// and RFC 9111, section 4.
    ///
    /// - Parameters:
    ///   - policy: Which fields do not distinguish requests.
    ///   - clock: The clock that limits the wait of callers, and the wait for slow readers.
    ///   - spawner: Starts the tasks that send for callers with a deadline, and that read shared bodies.
    /// - Returns: A connection that sends no request while an identical request is under way.
    public func coalescing(
        _ policy: CoalescingPolicy = .standard,
        clock: any DatedClock = SystemClock(),
        spawner: any TaskSpawner = SystemSpawner()
    ) -> some Connection {
        CoalescingConnection(base: self, policy: policy, clock: clock, spawner: spawner)
    }
}

/// The rules of ``Connection/coalescing(_:clock:spawner:)``: which requests count as the same.
public struct CoalescingPolicy: Sendable, Hashable {
    /// The fields that do not distinguish requests; `Cookie` and fields with credentials always do.
    public var ignoredFields: Set<HTTPField.Name>

    /// Creates a policy from its value.
    public init(ignoring ignoredFields: Set<HTTPField.Name> = CoalescingPolicy.callFields) {
        self.ignoredFields = ignoredFields
    }

    /// Ignores the fields that identify a call.
    public static let standard = CoalescingPolicy()

    /// The fields that identify a call, not a resource, such as `traceparent` and `X-Request-ID`.
    public static let callFields = Set(
        [
            "traceparent", "tracestate", "baggage", "b3", "X-B3-TraceId", "X-B3-SpanId", "X-B3-ParentSpanId",
            "X-B3-Sampled", "X-Request-ID", "X-Correlation-ID", "Idempotency-Key",
        ].compactMap { HTTPField.Name($0) })
}

extension RequestOptions {
    /// Whether the request may share the response of an identical one that is under way; the default is true.
    public var allowsCoalescing: Bool {
        get { self[AllowsCoalescingKey.self] }
        set { self[AllowsCoalescingKey.self] = newValue }
    }
}

private enum AllowsCoalescingKey: RequestOptionKey {
    static let defaultValue = true
}

extension ResponseMetadata {
    /// Whether the response comes from an identical request that was already under way, so that this request was not
    /// sent.
    public var isCoalesced: Bool {
        get { self[IsCoalescedKey.self] }
        set { self[IsCoalescedKey.self] = newValue }
    }
}

private enum IsCoalescedKey: ResponseMetadataKey {
    static let defaultValue = false
}

struct CoalescingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let requests: SharedRequests
    private let tickets = StoreTickets()
    private let ignoredFields: FieldNames
    private let baseAddsCredentials: Bool

    init(base: Base, policy: CoalescingPolicy, clock: any DatedClock, spawner: any TaskSpawner) {
        self.base = base
        requests = SharedRequests(layer: "coalescing", clock: clock, spawner: spawner)
        ignoredFields = FieldNames(policy.ignoredFields)
        baseAddsCredentials = base.addsCredentials
    }

    var layer: Layer {
        // A caller may wait for the requests of others, one after another, if these are cancelled.
        Layer(
            name: "coalescing", role: .resilience, facts: [.sharesResponses], sending: .init(0...1),
            time: .init(waiting: .unbounded),
            memory: .init(bytes: .atMost(SharedBody.backlogLimit), state: [.init(requests)]))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard request.head.method.isSafe else { return try await sendUnsafe(request) }
        guard request.mayShare, !baseAddsCredentials || request.options.principal != nil,
            let resource = ResponseKey(request, method: .get)
        else { return try await base.send(request) }
        return try await share(request, at: resource)
    }

    /// Sends a request, or shares the response of an identical request that is under way.
    private func share(_ request: consuming Request, at resource: ResponseKey) async throws -> Response {
        let key = SharedRequestKey(request, at: resource, ignoring: ignoredFields)
        let sent = request.collectSent()
        let collecting = request
        return try await requests.response(
            for: key, to: collecting, collecting: sent, ticket: { tickets.ticket(for: resource) },
            send: { [base] _, callers in
                let response = try await base.send(collecting.sent(for: callers))
                return SharedAnswer(response: response, isForAll: sent.allowsSharing && response.head.isForAll)
            })
    }

    /// Sends a request that may change resources: a later caller must not get a response that was requested before it.
    private func sendUnsafe(_ request: Request) async throws -> Response {
        var head: HTTPResponse?
        defer {
            for uri in InvalidationRules.invalidated(by: head, to: request.head) { tickets.withdraw(at: uri) }
        }
        let response = try await base.send(request)
        head = response.head
        return response
    }
}

extension Request {
    fileprivate var mayShare: Bool {
        (head.method == .get || head.method == .head) && body.isEmpty && options.allowsCoalescing
            && !CacheControl(head.headerFields).contains("no-store")
    }
}

extension HTTPResponse {
    /// Whether the callers of a layer may share the response: an error of the server or of the request concerns the one
    /// request that was sent, as when its token has expired.
    fileprivate var isForAll: Bool {
        ((200..<400).contains(code) || code == 404 || code == 410) && !CacheControl(headerFields).contains("no-store")
    }
}
