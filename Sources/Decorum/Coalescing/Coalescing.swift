import HTTPTypes

extension Connection {
    /// Makes one request of identical ones that are in flight at the same time.
    ///
    /// A `GET` or `HEAD` without a body joins one that is under way if it is the same: the method, the URI with its
    /// fragment, ``RequestOptions/principal``, and every field by name and value, in any order, except for
    /// ``CoalescingPolicy/ignoredFields``. So requests with different credentials, or another `Accept` or `Range`, never
    /// share. All who joined get the response, or the error, of the one request that is sent; those that did not cause
    /// it find ``ResponseMetadata/isCoalesced`` set.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .retrying()
    ///     .coalescing()
    /// ```
    ///
    /// **Joining** is possible until one of them starts to read the body. A request with an unsafe method, such as a
    /// `POST`, ends it too once it is answered, for all requests to its origin, so that nobody who reads after a change
    /// is given what was asked for before it. Nothing is kept for later: that is what caching does. A response is shared
    /// whatever its `Cache-Control` says; for a resource that gives each caller something of its own, such as a token
    /// for one use, set ``RequestOptions/allowsCoalescing`` to false.
    ///
    /// **Cancellation** is each caller's own. The request goes on while there is one who wants it, whoever caused it. When the
    /// last is cancelled, or lets go of the response, it is cancelled and its connection is freed. It runs in a task of
    /// its own, with the task-local values, the priority and the request options of the caller who caused it.
    ///
    /// **A body** that is read by one caller alone is that of `base`, read at the caller's speed. One that is shared is
    /// read at the speed of the fastest, and what the others have not read yet waits in memory, up to
    /// ``CoalescingPolicy/backlogLimit`` for each. A reader who is further behind holds up the others for
    /// ``CoalescingPolicy/patience`` in all; from then on its reading throws ``CoalescingBacklogError``.
    ///
    /// All other requests pass through: those with a body or another method, with `Cache-Control: no-store`, or that opt
    /// out. Where a layer further in declares that it adds credentials, so do those without a principal. Where it adds them
    /// without declaring it, or changes the request in another way, a response to a request without a principal goes to
    /// the caller alone who caused it, and the others are then sent by themselves: see ``SentRequests``.
    ///
    /// It belongs inside of caching and of what makes requests the same, such as default fields, and outside of
    /// ``retrying(_:clock:generator:)``, so that all wait for the same attempts. See RFC 9110, section 9.2.1, and
    /// RFC 9111, section 4.
    ///
    /// - Parameters:
    ///   - policy: Which fields do not tell requests apart, and how long to wait for slow readers.
    ///   - clock: Measures how long slow readers are waited for.
    ///   - spawner: Starts the tasks that send requests and read shared bodies.
    /// - Returns: A connection that sends no request while an identical one is under way.
    public func coalescing(
        _ policy: CoalescingPolicy = .standard,
        clock: any DatedClock = SystemClock(),
        spawner: any TaskSpawner = SystemSpawner()
    ) -> some Connection {
        CoalescingConnection(base: self, policy: policy, clock: clock, spawner: spawner)
    }
}

extension RequestOptions {
    /// Whether the request may share the response of an identical one that is in flight; true unless it is set.
    public var allowsCoalescing: Bool {
        get { self[AllowsCoalescingKey.self] }
        set { self[AllowsCoalescingKey.self] = newValue }
    }
}

private enum AllowsCoalescingKey: RequestOptionKey {
    static let defaultValue = true
}

extension ResponseMetadata {
    /// Whether the response is that of an identical request which was in flight already, so that none was sent for it.
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

    /// Sends a request, or shares the response of the one that is in flight under a key.
    func send(_ request: consuming Request, key: FlightKey) async throws -> Response {
        let plain = copy request
        let sent = request.collectSent()
        let response = try await flights.response(for: key, to: plain, collecting: sent) {
            [base, request = copy request] in try await base.send(request)
        }
        guard let response else { return try await base.send(plain) }
        return response
    }

    /// Sends a request that may change what others read: who asks from then on must not get what was asked for before.
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
