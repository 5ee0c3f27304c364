import HTTPTypes

extension StandardStack {
    /// Composes the stack.
    ///
    /// Compose it once, and keep the result: the cache, the pauses and the transport's connections belong to it.
    ///
    /// ```swift
    /// let stack = StandardStack(.tool, for: "https://api.example.com/")
    /// let transport = URLSessionConnection(connectionsPerHost: 2)
    /// let connection = try stack.composed(over: transport)
    /// ```
    ///
    /// - Parameters:
    ///   - transport: The transport; nil for a ``SystemConnection``. Pass one that you keep to close it yourself.
    ///   - authentication: The credentials, and the origins that may see them; nil for none.
    ///   - principal: The user of requests that name no other principal; nil to leave them without one.
    ///   - store: The store of the cache; nil for one in memory. Only with ``caching``.
    ///   - pauses: The pauses of servers, which several stacks may share; nil for its own. Only with ``pacing``.
    ///   - observer: Gets the events of calls; nil for none.
    ///   - attemptObserver: Gets the events of attempts; nil for none.
    ///   - log: Gets the entries of logs; nil for the standard error. Only with ``callLog`` or ``wireLog``.
    ///   - layers: Layers of your own, with their places.
    ///   - clock: The clock of all layers and of the transport that the stack makes itself.
    ///   - generator: The source of the random numbers of all layers.
    ///   - spawner: Starts work in the background.
    /// - Returns: The stack.
    /// - Throws: A ``StackSettingsError`` for settings that contradict each other or what is passed, and the errors of the
    ///   closures in `layers`.
    public func composed(
        over transport: (any Connection)? = nil,
        authentication: Authentication? = nil,
        principal: Principal? = nil,
        store: (any ResponseStore)? = nil,
        pauses: ServerPauses? = nil,
        observer: (any CallObserver)? = nil,
        attemptObserver: (any CallObserver)? = nil,
        log: LogSink? = nil,
        adding layers: [Addition] = [],
        clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator(),
        spawner: any TaskSpawner = SystemSpawner()
    ) throws -> any Connection {
        let ingredients = StackIngredients(
            authentication: authentication, principal: principal, store: store, pauses: pauses, observer: observer,
            attemptObserver: attemptObserver, log: log, clock: clock, generator: generator, spawner: spawner)
        let replaced = Set(layers.compactMap(\.replacedPart))
        let problems = problems(replacing: replaced) + ingredients.problems(with: self, replacing: replaced)
        guard problems.isEmpty else { throw StackSettingsError(problems) }
        var connection = transport ?? SystemConnection(clock: clock)
        for part in Part.allCases.reversed() {
            let own = layers.filter { $0.place == .inPlace(part) }
            connection = try wrap(connection, in: layers.filter { $0.place == .inside(part) })
            connection = try own.isEmpty ? add(part, to: connection, ingredients) : wrap(connection, in: own)
            connection = try wrap(connection, in: layers.filter { $0.place == .outside(part) })
        }
        return connection
    }

    private func wrap(_ connection: any Connection, in layers: [Addition]) throws -> any Connection {
        try layers.reduce(connection) { try $1.wrap($0) }
    }

    /// Adds a part, unless it is left out.
    func add(_ part: Part, to base: any Connection, _ given: StackIngredients) throws -> any Connection {
        switch part {
        case .statusValidation:
            return statusValidation ? base.validatingStatus(clock: given.clock) : base
        case .callObservation:
            return given.observer.map { base.observing($0, clock: given.clock, generator: given.generator) } ?? base
        case .callLog:
            return add(callLog, as: "call", to: base, given)
        case .callTime:
            guard let time, time.call != nil || time.body != nil || time.idle != nil else { return base }
            return base.limitingTime(
                TimePolicy(call: time.call, body: time.body, idle: time.idle), clock: given.clock)
        case .idempotencyKeys:
            return idempotencyKeys ? base.addingIdempotencyKey(generator: given.generator) : base
        case .requestIDs:
            return requestIDs ? base.addingRequestID(generator: given.generator) : base
        case .principal:
            return given.principal.map { base.acting(for: $0) } ?? base
        case .baseURL:
            return try baseURL.map { try base.resolving(against: $0) } ?? base
        case .fields:
            return try addFields(to: base)
        case .redirects:
            return redirects.map { redirects in
                base.followingRedirects(
                    upTo: redirects.maximum, policy: redirects.policy,
                    remembering: redirects.remembersPermanent ? PermanentRedirections() : nil, clock: given.clock)
            } ?? base
        case .decompression:
            return decompression.map { base.decompressing($0) } ?? base
        case .caching:
            return caching.map { add($0, to: base, given) } ?? base
        case .coalescing:
            return coalescing.map { base.coalescing($0, clock: given.clock, spawner: given.spawner) } ?? base
        case .retries:
            return retries.map { base.retrying($0.policy, clock: given.clock, generator: given.generator) } ?? base
        case .pacing:
            let pauses = given.pauses ?? ServerPauses()
            return pacing.map { base.pacing($0, in: pauses, clock: given.clock, generator: given.generator) } ?? base
        case .attemptTime:
            guard let attempt = time?.attempt else { return base }
            return base.limitingTime(AttemptTimePolicy(attempt), as: .attempt, clock: given.clock)
        case .compression:
            return compression.map { base.compressing($0, clock: given.clock) } ?? base
        case .authentication:
            return try given.authentication.map { try $0.added(to: base, for: baseURL, clock: given.clock) } ?? base
        case .attemptObservation:
            return given.attemptObserver.map {
                base.observing($0, as: .attempt, clock: given.clock, generator: given.generator)
            } ?? base
        case .wireLog:
            return add(wireLog, as: "wire", to: base, given)
        }
    }

    private func add(
        _ log: Log?, as word: String, to base: any Connection, _ given: StackIngredients
    ) -> any Connection {
        guard let log else { return base }
        let sink = given.log ?? .standardError
        // Both logs of a stack have one sink.
        let isOne = callLog == nil || wireLog == nil
        return base.logging(to: isOne ? sink : sink.prefixed(by: word), detail: log.logDetail, clock: given.clock)
    }

    private func add(_ caching: Caching, to base: any Connection, _ given: StackIngredients) -> any Connection {
        let store = given.store ?? MemoryResponseStore(byteLimit: caching.size)
        return base.caching(in: store, policy: caching.policy, clock: given.clock, spawner: given.spawner)
    }

    private func addFields(to base: any Connection) throws -> any Connection {
        var connection = base
        if let client {
            connection = connection.identifyingClient(
                as: try ClientInformation(name: client.name, version: client.version))
        }
        if !languages.isEmpty { connection = try connection.acceptingLanguages(languages) }
        if !fields.isEmpty { connection = connection.addingDefaultFields(fields) }
        return connection
    }
}
