extension Connection {
    /// Gives each call a deadline.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .limitingTime(as: .attempt)
    ///     .retrying()
    ///     .followingRedirects()
    ///     .limitingTime()
    /// ```
    ///
    /// The deadline of a call covers everything: redirections, attempts, the waits between them, and the wait for a
    /// connection. With ``limitingTime(_:as:clock:)`` further in, each attempt ends early enough for the next one. The layer
    /// sets ``RequestOptions/deadline``; the transport ends an exchange then, and a layer that would wait longer gives up at
    /// once, with the response or the error that it has. A request whose own deadline is earlier keeps it.
    ///
    /// The time includes the body where it is read whole for the caller: by ``Response/data(upTo:)``,
    /// ``Response/decode(_:upTo:using:)``, `text(upTo:)`, or a typed call, also that of a refusal. A ``Response/body`` that
    /// the caller streams may take any time, as an event stream or a download does, as long as something arrives:
    /// ``TimePolicy/idle`` sets the ``RequestOptions/idleTimeout`` of a request that has none. ``TimePolicy/body`` is a
    /// deadline for both, in place of the time of the call.
    ///
    /// Choose the times by the kind of work: ``TimePolicy/interactive``, ``TimePolicy/modelAnswer``,
    /// ``TimePolicy/transfer`` or others. ``RequestOptions/timePolicy`` replaces them for one request. The layer itself
    /// starts no task and ends nothing: a transport that ignores deadlines goes on. `TransportCase.deadlines` and
    /// `DecoratorLaw.deadlines` of `DecorumConformance` find those that do.
    ///
    /// Place it outside of all layers that send again, wait or share.
    ///
    /// - Parameters:
    ///   - policy: The times.
    ///   - clock: The clock that the deadlines are instants of; the transport must have the same clock.
    /// - Returns: A connection whose requests have a deadline.
    public func limitingTime(
        _ policy: TimePolicy = .interactive, clock: any DatedClock = SystemClock()
    ) -> some Connection {
        LimitingTimeConnection(base: self, policy: policy, scope: .call, watch: TimeLimitWatch(clock: clock))
    }

    /// Gives each attempt a deadline, so that one slow attempt leaves time for the next.
    ///
    /// The deadline of an attempt ends with the head of its response; of the deadlines of the attempt and of the call, the earlier one counts. For
    /// one request, ``RequestOptions/attemptTimePolicy`` or ``RequestOptions/timePolicy`` replaces the times.
    ///
    /// Place it inside of `retrying`. Further out it would limit the whole call; ``limitingTime(_:clock:)`` does that.
    ///
    /// - Parameters:
    ///   - policy: The times.
    ///   - scope: `.attempt`.
    ///   - clock: The clock that the deadlines are instants of; the transport must have the same clock.
    /// - Returns: A connection whose requests have a deadline.
    public func limitingTime(
        _ policy: AttemptTimePolicy = .interactive, as scope: AttemptTimePolicy.Scope,
        clock: any DatedClock = SystemClock()
    ) -> some Connection {
        LimitingTimeConnection(
            base: self, policy: TimePolicy(policy), scope: .attempt, watch: TimeLimitWatch(clock: clock))
    }
}

struct LimitingTimeConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let policy: TimePolicy
    let scope: TransportError.DeadlineScope
    let watch: TimeLimitWatch

    var layer: Layer {
        let times =
            [("head", policy.duration(of: scope)), ("body", scope == .call ? policy.body?.asLimit : nil)]
            + [("idle", policy.idle)]
        return Layer(
            name: "limitingTime", role: .resilience,
            settings: [.init("as", scope.rawValue)] + times.compactMap { name, time in time.map { .init(name, $0) } },
            facts: Layer.facts(of: watch.clock).union(scope == .attempt ? [.limitsAttempts] : []),
            time: .init(limit: policy.duration(of: scope).map { .atMost(max(.zero, $0)) } ?? .unbounded))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        let start = watch.clock.now
        let setsDeadline = limit(&request.options, at: start)
        let endsReading = scope == .call && request.options.bodyDeadline == nil
        let deadline = endsReading ? request.options.deadline : nil
        let method = request.head.method
        do {
            var response = try await base.send(request)
            if let deadline, !response.body.isAtHand, response.metadata.callEnd == nil {
                response.metadata.callEnd = CallEnd(at: deadline, since: start, method, watchedBy: watch)
            }
            return response
        } catch let error as TransportError {
            throw setsDeadline ? error.naming(scope) : error
        }
    }

    /// Sets the limits of a request, and returns whether this layer has set its deadline.
    private func limit(_ options: inout RequestOptions, at now: ContinuousClock.Instant) -> Bool {
        let policy = options.ownTimes(of: scope) ?? policy
        if watch.clock.skipsSleeps { options.skippingClock = watch.clock }
        let setsDeadline = policy.duration(of: scope).map { options.limitDeadline(to: now + $0) } ?? false
        if scope == .call, let time = policy.body?.asLimit { options.limitBodyDeadline(to: now + time) }
        // The times that a request sets for its attempts count against the times of a layer for calls, too.
        let idle = options.attemptTimePolicy?.idle ?? policy.idle
        if let idle, options.idleTimeout == nil { options.idleTimeout = idle }
        return setsDeadline
    }
}

extension TransportError {
    /// The error with the kind of deadline that has passed, unless a layer further in has named it.
    fileprivate func naming(_ scope: DeadlineScope) -> TransportError {
        guard code == .deadlineExceeded, stage != .body, deadlineScope == nil else { return self }
        var error = self
        error.deadlineScope = scope
        return error
    }
}
