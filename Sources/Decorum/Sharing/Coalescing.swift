public import HTTPTypes
import Synchronization

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
    /// are then sent together, and later requests for the same user and URL do not wait until one of them gets a response
    /// that can be shared. For a resource that gives each caller a different response, such as a token for one use, set
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
        let sent = request.collectSent()
        let collecting = request
        return try await requests.response(
            at: resource, for: SharedRequestKey(collecting, at: resource, ignoring: ignoredFields), to: collecting,
            collecting: sent, ticket: { tickets.ticket(for: resource) },
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

/// The requests that are under way and may be shared: a caller with the same key as one of them gets its response.
///
/// Each caller is cancelled separately, and leaves at its own deadline. The request is cancelled with the last caller.
final class SharedRequests: Sendable {
    /// Sends a request with a ticket, for several callers or for one alone.
    typealias Sending = @Sendable (_ ticket: StoreTicket, _ callers: SharedRequest?) async throws -> SharedAnswer

    private struct State {
        /// The requests that can be joined, by the hash of their key.
        var requests: [Int: SharedRequest] = [:]
        /// The hashes of resources whose latest response was for one caller alone, so that the next callers do not wait in
        /// vain.
        ///
        /// Where two hashes are equal by chance, a request is sent that could have been shared, and no harm is done.
        var unshared: Set<Int> = []
    }

    private enum Position {
        case first(SharedRequest)
        case joined(SharedRequest, number: Int, LimitedWait<SharedRequest.Outcome>)
        /// The latest response from the resource was for one caller alone, or an unequal key has the same hash.
        case alone
    }

    /// Ends the waits of callers at their deadlines.
    let watch: TimeLimitWatch
    private let layer: String
    private let spawner: any TaskSpawner
    private let state = Mutex(State())

    /// Creates an empty table.
    init(layer: String, clock: any DatedClock, spawner: any TaskSpawner) {
        self.layer = layer
        watch = TimeLimitWatch(clock: clock)
        self.spawner = spawner
    }

    /// The number of requests that can be joined.
    var count: Int { state.withLock { $0.requests.count } }

    /// Shares the response of the request under a key, or sends one; a resource that shares none needs no key.
    ///
    /// - Returns: The response for this caller, whose metadata says whether it is shared.
    /// - Throws: The error of `send`, `CancellationError` for a caller who is cancelled, or ``TransportError`` at the
    ///   caller's deadline.
    func response(
        at resource: ResponseKey, for key: @autoclosure () -> SharedRequestKey, to request: borrowing Request,
        collecting sent: SentRequests, ticket: () -> StoreTicket, send: @escaping Sending
    ) async throws -> Response {
        switch try position(at: resource, of: key, request, ticket) {
        case .first(let shared):
            guard request.options.limitsWait else {
                return try await sendForAll(shared, as: SharedRequest.first, sent, send)
            }
            return try await sendInTime(shared, as: SharedRequest.first, request, sent, send)
        case .joined(let shared, let number, let wait):
            if let response = try await outcome(of: wait, for: shared, as: number, request, sent, send) {
                return response
            }
        case .alone: break
        }
        let answer = try await send(ticket(), nil)
        note(answer.isForAll, resource)
        return answer.response
    }

    /// Closes the request under a key for new callers, since it takes too long.
    func close(_ key: SharedRequestKey) {
        let hash = key.hashValue
        state.withLock { if $0.requests[hash]?.key == key { $0.requests[hash] = nil } }
    }

    /// - Throws: `CancellationError` for a caller who is cancelled, or ``TransportError`` after the caller's deadline.
    private func position(
        at resource: ResponseKey, of key: () -> SharedRequestKey, _ request: borrowing Request,
        _ ticket: () -> StoreTicket
    ) throws -> Position {
        try Task.checkCancellation()
        let caller = SharedRequest.Caller(request.options)
        if let deadline = caller.deadline, deadline <= watch.clock.now {
            throw TransportError.locate(TransportError(.deadlineExceeded, at: .connecting), in: request, after: nil)
        }
        if state.withLock({ !$0.unshared.isEmpty && $0.unshared.contains(resource.hashValue) }) { return .alone }
        let key = key()
        let hash = key.hashValue
        return state.withLock { state in
            if let found = state.requests[hash] {
                guard found.key == key else { return .alone }
                if let (number, wait) = found.join(caller) { return .joined(found, number: number, wait) }
            }
            let request = SharedRequest(key, ticket(), caller)
            state.requests[hash] = request
            return .first(request)
        }
    }

    /// Waits for the response to a request that another caller has sent; returns nil if it is for that caller alone.
    // Inlined, its instants would cost each caller an allocation, and most callers have none.
    @inline(never) private func outcome(
        of wait: LimitedWait<SharedRequest.Outcome>, for shared: SharedRequest, as number: Int,
        _ request: borrowing Request, _ sent: SentRequests, _ send: @escaping Sending
    ) async throws -> Response? {
        request.options.callContext?.join(by: layer)
        let start = watch.clock.now
        switch try await wait.value(watchedBy: watch, orCancel: { shared.leave(number) }) {
        case .shared(var response, let sent):
            sent.reportSending(of: request)
            response.metadata.call = request.options.callContext
            let routeName = request.options.routeName
            if routeName != response.metadata.routeName { response.metadata.routeName = routeName }
            return inTime(response, for: request, since: start)
        case .send:
            return try await sendInTime(shared, as: number, request, sent, send)
        case .alone:
            return nil
        case nil:
            shared.leave(number)
            throw lateness(of: request, since: start, after: shared.attempts)
        }
    }

    /// Sends a request for all callers, as a caller with limits of its own.
    @inline(never) private func sendInTime(
        _ shared: SharedRequest, as number: Int, _ request: borrowing Request, _ sent: SentRequests,
        _ send: @escaping Sending
    ) async throws -> Response {
        let start = watch.clock.now
        guard let deadline = request.options.deadline else {
            return inTime(try await sendForAll(shared, as: number, sent, send), for: request, since: start)
        }
        let wait = LimitedWait<Response>(until: deadline)
        let sending = spawner.spawn { [self] in
            await wait.deliver { try await sendForAll(shared, as: number, sent, send) }
        }
        guard let response = try await wait.value(watchedBy: watch, orCancel: { sending.cancel() }) else {
            shared.leave(to: sending)
            throw lateness(of: request, since: start, after: shared.attempts)
        }
        return inTime(response, for: request, since: start)
    }

    /// Sends a request, and gives each waiting caller its outcome; another caller takes over if the task is cancelled.
    private func sendForAll(
        _ shared: SharedRequest, as number: Int, _ sent: SentRequests, _ send: Sending
    ) async throws -> Response {
        try await withTaskCancellationHandler {
            do {
                let answer = try await send(shared.ticket, shared)
                note(answer.isForAll, shared.key.resource)
                let waits = end(shared, by: number)
                guard answer.isForAll, !waits.isEmpty else {
                    for wait in waits { wait.deliver(.success(.alone)) }
                    return answer.response
                }
                return share(answer.response, sent, among: waits)
            } catch {
                // Where the transport has ended all of its transfers, no other caller may send the request again.
                let isForAll = error is CancellationError ? !Task.isCancelled : sent.allowsSharing
                for wait in end(shared, by: number) { wait.deliver(isForAll ? .failure(error) : .success(.alone)) }
                throw error
            }
        } onCancel: {
            if !shared.replaceSender(number) { remove(shared) }
        }
    }

    /// Gives a response to all who wait; returns the response of the caller who sent the request.
    private func share(
        _ response: Response, _ sent: SentRequests, among waits: [LimitedWait<SharedRequest.Outcome>]
    ) -> Response {
        let isOneTime = response.body.replay == .once
        var bodies =
            isOneTime
            ? SharedBody.bodies(waits.count + 1, sharing: response.body, watchedBy: watch, spawner: spawner) : []
        var own = response
        if let body = bodies.popLast() { own.body = body }
        var copy = own
        copy.metadata.isCoalesced = true
        for wait in waits {
            if let body = bodies.popLast() { copy.body = body }
            wait.deliver(.success(.shared(copy, sent)))
        }
        return own
    }

    private func end(_ shared: SharedRequest, by number: Int) -> [LimitedWait<SharedRequest.Outcome>] {
        guard let waits = shared.end(by: number) else { return [] }
        remove(shared)
        return waits
    }

    private func remove(_ shared: SharedRequest) {
        let hash = shared.key.hashValue
        // A closed request may have been replaced by the next one.
        state.withLock { if $0.requests[hash] === shared { $0.requests[hash] = nil } }
    }

    /// Records whether later callers who ask a resource should wait for each other.
    private func note(_ isForAll: Bool, _ resource: ResponseKey) {
        let hash = resource.hashValue
        state.withLock { state in
            if isForAll {
                if !state.unshared.isEmpty { state.unshared.remove(hash) }
            } else {
                if state.unshared.count >= 1000 { state.unshared = [] }
                state.unshared.insert(hash)
            }
        }
    }

    /// The response with the deadline that its body has for this caller alone.
    private func inTime(
        _ response: consuming Response, for request: borrowing Request, since start: ContinuousClock.Instant
    ) -> Response {
        guard let deadline = request.options.bodyDeadline else { return response }
        response.body = response.body.failing(at: deadline, since: start, in: request, watchedBy: watch)
        return response
    }

    private func lateness(
        of request: borrowing Request, since start: ContinuousClock.Instant, after attempts: Int
    ) -> any Error {
        var error = TransportError(.deadlineExceeded, at: .head)
        error.attempts += attempts
        return TransportError.locate(error, in: request, after: start.duration(to: watch.clock.now))
    }
}

/// The response to a request that is sent for several callers.
struct SharedAnswer: Sendable {
    var response: Response
    /// Whether callers other than the one who sent the request may have it.
    let isForAll: Bool
}

/// One request that is sent for several callers, and the callers who wait for its response.
///
/// The first caller sends the request. When its task is cancelled while others wait, the next caller sends it again.
final class SharedRequest: WaitingCallers {
    /// The end of the wait of a caller who has joined.
    enum Outcome: Sendable {
        /// The response, which other callers get too, and the collector of the requests that were sent.
        case shared(Response, SentRequests)
        /// The response is for another caller alone: this one sends its own request.
        case alone
        /// The caller who was sending the request was cancelled: this one sends it for all.
        case send
    }

    /// A caller, with the instant until which it waits.
    struct Caller: Sendable {
        let deadline: ContinuousClock.Instant?
        /// The callers of a layer further out, which shares the request too; nil without such a layer.
        fileprivate let outer: (any WaitingCallers)?
        /// The wait of a caller who has joined; nil for the first.
        fileprivate var wait: LimitedWait<Outcome>?

        init(_ options: borrowing RequestOptions) {
            deadline = options.deadline
            outer = options.waitingCallers
        }

        /// The instant after which the caller, and each caller behind it, has left; nil without such an instant.
        fileprivate var last: ContinuousClock.Instant? {
            guard let outer = outer?.lastDeadline else { return deadline }
            return deadline.map { min($0, outer) } ?? outer
        }
    }

    private struct State {
        /// The number of the caller who sends the request.
        var sender = SharedRequest.first
        /// The caller who sends the request; nil once it has left at its deadline.
        var sending: Caller?
        var joined: [Int: Caller] = [:]
        var lastNumber = SharedRequest.first
        /// The task that sends the request although its caller has left.
        var task: Task<Void, Never>?
        var hasEnded = false
        var attempts = 0
    }

    /// The number of the caller who came first.
    static let first = 0

    let key: SharedRequestKey
    /// The permission to store the response; once it is withdrawn, later callers need a later response.
    let ticket: StoreTicket
    private let state: Mutex<State>

    init(_ key: SharedRequestKey, _ ticket: StoreTicket, _ caller: Caller) {
        self.key = key
        self.ticket = ticket
        state = Mutex(State(sending: caller))
    }

    /// Joins; returns nil if it is too late.
    func join(_ caller: Caller) -> (number: Int, wait: LimitedWait<Outcome>)? {
        guard ticket.isCurrent else { return nil }
        return state.withLock { state in
            guard !state.hasEnded else { return nil }
            let wait = LimitedWait<Outcome>(until: caller.deadline)
            var caller = caller
            caller.wait = wait
            state.lastNumber += 1
            state.joined[state.lastNumber] = caller
            return (state.lastNumber, wait)
        }
    }

    /// Removes a caller who waits; the request goes on as long as another caller wants it.
    func leave(_ number: Int) {
        let unwanted = state.withLock { state -> Task<Void, Never>? in
            guard state.joined.removeValue(forKey: number) != nil, state.joined.isEmpty else { return nil }
            return state.task.take()
        }
        unwanted?.cancel()
    }

    /// Leaves the request to a task, since the caller who sends it has reached its deadline; without another caller, the
    /// task is cancelled.
    func leave(to task: Task<Void, Never>) {
        let isWanted = state.withLock { state in
            state.sending = nil
            if !state.joined.isEmpty { state.task = task }
            return !state.joined.isEmpty || state.hasEnded
        }
        if !isWanted { task.cancel() }
    }

    /// Lets the next caller send the request; returns false without a next caller, and then no caller can
    /// join.
    func replaceSender(_ number: Int) -> Bool {
        state.withLock { state in
            guard state.sender == number, !state.hasEnded else { return true }
            while let next = state.joined.keys.min(), let caller = state.joined.removeValue(forKey: next) {
                (state.sender, state.sending, state.task) = (next, caller, nil)
                // A caller whose time has just ended takes nothing.
                if caller.wait?.deliver(.success(.send)) == nil { return true }
            }
            state.hasEnded = true
            return false
        }
    }

    /// Ends the request, and returns the waits of the callers who have joined; nil if another caller sends it by now.
    func end(by number: Int) -> [LimitedWait<Outcome>]? {
        state.withLock { state in
            guard state.sender == number, !state.hasEnded else { return nil }
            state.hasEnded = true
            guard !state.joined.isEmpty else { return [] }
            let joined = state.joined
            state.joined = [:]
            return joined.sorted { $0.key < $1.key }.compactMap(\.value.wait)
        }
    }

    var lastDeadline: ContinuousClock.Instant? {
        // A layer further out has a lock of its own.
        let ends = callers.map(\.last)
        return ends.contains(nil) ? nil : ends.compactMap { $0 }.max()
    }

    /// The number of attempts that have ended.
    var attempts: Int { state.withLock { $0.attempts } }

    func note(attempts: Int) {
        state.withLock { $0.attempts = attempts }
        for caller in callers { caller.outer?.note(attempts: attempts) }
    }

    private var callers: [Caller] { state.withLock { [$0.sending].compactMap { $0 } + $0.joined.values } }
}

extension Request {
    /// Makes the request that one caller sends for all callers who wait for its response, or for itself alone with nil.
    ///
    /// Options that do not travel to shared requests are left out.
    consuming func sent(for callers: (any WaitingCallers)?) -> Request {
        guard let callers else { return self }
        options.values.travelToSharedRequest()
        options.waitingCallers = callers
        return self
    }
}
