import HTTPTypes

extension Connection {
    /// Sends one request for identical requests that are in flight at the same time.
    ///
    /// A `GET` or `HEAD` without a body joins a request in flight if both have the same: the method, the URI with its
    /// fragment, ``RequestOptions/principal``, and every field by name and value, in any order, except for
    /// ``CoalescingPolicy/ignoredFields``. So requests with different credentials, or another `Accept` or `Range`,
    /// never share. All joined callers get the response, or the error, of the one request that is sent; for all but the
    /// caller who caused it, ``ResponseMetadata/isCoalesced`` is true.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .retrying()
    ///     .coalescing()
    /// ```
    ///
    /// **Joining** is possible until one of the callers starts to read the body. An answered request with an unsafe
    /// method, such as a `POST`, also ends joining for all requests to its origin, so that a caller who reads after a
    /// change does not get a response from before it. Nothing is kept for later; for that, use caching. A response is
    /// shared with any `Cache-Control`; for a resource that gives each caller a different response, such as a token for
    /// one use, set ``RequestOptions/allowsCoalescing`` to false.
    ///
    /// **Cancellation** of a caller affects only that caller. The request continues while at least one caller waits for
    /// it. When the last caller is cancelled or drops the response, the request is cancelled and its connection is
    /// freed. The request runs in a separate task, with the task-local values, the priority and the request options of
    /// the caller who caused it.
    ///
    /// **A body** with one reader is the body of `base`, read at the reader's speed. A shared body is read at the speed
    /// of the fastest reader. The bytes that the others have not read yet wait in memory, up to
    /// ``CoalescingPolicy/backlogLimit`` for each reader. A reader who is further behind delays the others for at most
    /// ``CoalescingPolicy/patience`` in total; after that, its reading throws ``CoalescingBacklogError``.
    ///
    /// All other requests pass unchanged: requests with a body or another method, with `Cache-Control: no-store`, or
    /// that opt out. If a layer further in declares that it adds credentials, requests without a principal pass too. If
    /// it adds them without declaring it, or changes the request in another way, the response to a request without a
    /// principal is given only to the caller who caused it, and the requests of the others are then sent separately:
    /// see ``SentRequests``.
    ///
    /// Place it inside of caching and of layers that make requests the same, such as default fields, and outside of
    /// ``retrying(_:clock:generator:)``, so that all callers wait for the same attempts. See RFC 9110, section 9.2.1,
    /// and RFC 9111, section 4.
    ///
    /// - Parameters:
    ///   - policy: Which fields do not distinguish requests, and how long to wait for slow readers.
    ///   - clock: The clock that limits the wait for slow readers.
    ///   - spawner: Starts the tasks that send requests and read shared bodies.
    /// - Returns: A connection that sends no request while an identical request is in flight.
    public func coalescing(
        _ policy: CoalescingPolicy = .standard,
        clock: any DatedClock = SystemClock(),
        spawner: any TaskSpawner = SystemSpawner()
    ) -> some Connection {
        CoalescingConnection(base: self, policy: policy, clock: clock, spawner: spawner)
    }
}

extension RequestOptions {
    /// Whether the request may share the response of an identical one that is in flight; the default is true.
    public var allowsCoalescing: Bool {
        get { self[AllowsCoalescingKey.self] }
        set { self[AllowsCoalescingKey.self] = newValue }
    }
}

private enum AllowsCoalescingKey: RequestOptionKey {
    static let defaultValue = true
}

extension ResponseMetadata {
    /// Whether the response comes from an identical request that was already in flight, so that this request was not
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
    let flights: Flights<FlightKey>
    private let policy: CoalescingPolicy
    private let ignoredFields: FieldNames
    private let baseAddsCredentials: Bool

    init(base: Base, policy: CoalescingPolicy, clock: any DatedClock, spawner: any TaskSpawner) {
        self.base = base
        self.policy = policy
        flights = Flights(policy: policy, clock: clock, spawner: spawner)
        ignoredFields = FieldNames(policy.ignoredFields)
        baseAddsCredentials = base.addsCredentials
    }

    var layer: Layer {
        Layer(
            name: "coalescing", role: .resilience,
            settings: [.init("backlogLimit", policy.backlogLimit), .init("patience", policy.patience)],
            facts: [.answers])
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard request.head.method.isSafe else { return try await sendUnsafe(request) }
        guard request.mayShare, !baseAddsCredentials || request.options.principal != nil,
            let key = FlightKey(request, ignoring: ignoredFields)
        else { return try await base.send(request) }
        return try await send(request, key: key)
    }

    /// Sends a request, or shares the response of the request that is in flight under a key.
    func send(_ request: consuming Request, key: FlightKey) async throws -> Response {
        let plain = copy request
        let sent = request.collectSent()
        let response = try await flights.response(for: key, to: plain, collecting: sent) {
            [base, request = copy request] in try await base.send(request)
        }
        guard let response else { return try await base.send(plain) }
        return response
    }

    /// Sends a request that may change the resource: a later caller must not get a response that was requested before
    /// it.
    private func sendUnsafe(_ request: consuming Request) async throws -> Response {
        let authority = request.head.authority
        defer { flights.close { $0.authority == authority } }
        return try await base.send(request)
    }
}

extension Request {
    fileprivate var mayShare: Bool {
        (head.method == .get || head.method == .head) && body.isEmpty && options.allowsCoalescing
            && !CacheControl(head.headerFields).contains("no-store")
    }
}
