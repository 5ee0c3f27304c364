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
    /// - Throws: A ``StackSettingsError`` for settings that contradict each other or what is passed, an
    ///   ``InvalidRequestError`` for languages that are no tags, and the errors of the closures in `layers`.
    @inline(never) public func composed(
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
        let replaced = Set(layers.compactMap { $0.side == .inPlace ? $0.part : nil })
        try check(replacing: replaced)
        let hasLog = callLog != nil && !replaced.contains(.callLog) || wireLog != nil && !replaced.contains(.wireLog)
        let arguments: [(name: String, isGiven: Bool, isUsed: Bool)] = [
            ("authentication", authentication != nil, !replaced.contains(.authentication)),
            ("principal", principal != nil, !replaced.contains(.principal)),
            ("store", store != nil, caching != nil && !replaced.contains(.caching)),
            ("pauses", pauses != nil, pacing != nil && !replaced.contains(.pacing)),
            ("observer", observer != nil, !replaced.contains(.callObservation)),
            ("attemptObserver", attemptObserver != nil, !replaced.contains(.attemptObservation)),
            ("log", log != nil, hasLog),
        ]
        if let argument = arguments.first(where: { $0.isGiven && !$0.isUsed }) {
            throw StackSettingsError(
                argument.name, "is not used, because its part is left out, or a layer stands in its place")
        }

        func logging(_ base: any Connection, _ detail: LogDetail?, as scope: CallReport.Scope) -> any Connection {
            detail.map { base.logging(to: log ?? .standardError, as: scope, detail: $0, clock: clock) } ?? base
        }
        func add(_ part: Part, to base: any Connection) throws -> any Connection {
            switch part {
            case .statusValidation: statusValidation ? base.validatingStatus(clock: clock) : base
            case .callObservation: observer.map { base.observing($0, clock: clock, generator: generator) } ?? base
            case .callLog: logging(base, callLog, as: .call)
            case .callTime:
                time.flatMap { $0.isEmpty ? nil : base.limitingTime($0, clock: clock) } ?? base
            case .idempotencyKeys: idempotencyKeys ? base.addingIdempotencyKey(generator: generator) : base
            case .requestIDs: requestIDs ? base.addingRequestID(generator: generator) : base
            case .principal: principal.map { base.acting(for: $0) } ?? base
            case .baseURL: try baseURL.map { try base.resolving(against: $0) } ?? base
            case .fields: try addFields(to: base)
            case .redirects:
                redirects.map { policy in
                    base.followingRedirects(
                        upTo: redirectLimit, policy: policy,
                        remembering: remembersPermanentRedirects ? PermanentRedirections() : nil, clock: clock)
                } ?? base
            case .decompression: decompression.map { base.decompressing($0) } ?? base
            case .caching:
                caching.map { policy in
                    let store = store ?? MemoryResponseStore(byteLimit: cacheSize)
                    return base.caching(in: store, policy: policy, clock: clock, spawner: spawner)
                } ?? base
            case .coalescing: coalescing.map { base.coalescing($0, clock: clock, spawner: spawner) } ?? base
            case .retries: retries.map { base.retrying($0, clock: clock, generator: generator) } ?? base
            case .pacing:
                pacing.map { policy in
                    base.pacing(policy, in: pauses ?? ServerPauses(), clock: clock, generator: generator)
                } ?? base
            case .attemptTime:
                attemptTime.map {
                    $0.head == nil && $0.idle == nil ? base : base.limitingTime($0, as: .attempt, clock: clock)
                } ?? base
            case .compression: compression.map { base.compressing($0, clock: clock) } ?? base
            case .authentication: try authentication.map { try $0.added(to: base, for: baseURL, clock: clock) } ?? base
            case .attemptObservation:
                attemptObserver.map { base.observing($0, as: .attempt, clock: clock, generator: generator) } ?? base
            case .wireLog: logging(base, wireLog, as: .attempt)
            }
        }

        func measured(_ connection: any Connection, outside base: any Connection) -> any Connection {
            // A part that is left out is no layer.
            guard measuresLayers, connection.layers.count != base.layers.count else { return connection }
            return connection.measuringTime(clock: clock)
        }

        var connection = transport ?? SystemConnection(clock: clock)
        if measuresLayers { connection = connection.measuringTime(clock: clock) }
        for part in Part.allCases.reversed() {
            for side in [Addition.Side.inside, .inPlace, .outside] {
                let own = layers.filter { $0.part == part && $0.side == side }
                connection = try own.reduce(connection) { measured(try $1.wrap($0), outside: $0) }
                if side == .inPlace, own.isEmpty {
                    connection = measured(try add(part, to: connection), outside: connection)
                }
            }
        }
        return connection
    }

    private func addFields(to base: any Connection) throws -> any Connection {
        var connection = base
        if let client { connection = connection.identifyingClient(as: client) }
        if !languages.isEmpty { connection = try connection.acceptingLanguages(languages) }
        if !fields.isEmpty { connection = connection.addingDefaultFields(fields) }
        return connection
    }

    /// A part of the stack.
    ///
    /// The cases are in the order in which a request passes the parts, the outermost first.
    public enum Part: String, Sendable, Hashable, CaseIterable {
        /// ``Connection/validatingStatus(_:clock:)``
        case statusValidation
        /// ``Connection/observing(_:as:clock:generator:)`` of calls
        case callObservation
        /// ``Connection/logging(to:as:detail:redacting:clock:)`` of calls
        case callLog
        /// ``Connection/limitingTime(_:clock:)``
        case callTime
        /// ``Connection/addingIdempotencyKey(to:generator:)``
        case idempotencyKeys
        /// ``Connection/addingRequestID(as:generator:)``
        case requestIDs
        /// ``Connection/acting(for:)``
        case principal
        /// ``Connection/resolving(against:)``
        case baseURL
        /// ``Connection/identifyingClient(as:)``, ``Connection/acceptingLanguages(_:)`` and default fields
        case fields
        /// ``Connection/followingRedirects(upTo:policy:remembering:clock:)``
        case redirects
        /// ``Connection/decompressing(_:)``
        case decompression
        /// ``Connection/caching(in:policy:clock:spawner:)``
        case caching
        /// ``Connection/coalescing(_:clock:spawner:)``
        case coalescing
        /// ``Connection/retrying(_:clock:generator:)``
        case retries
        /// ``Connection/pacing(_:in:clock:generator:)``
        case pacing
        /// ``Connection/limitingTime(_:as:clock:)``
        case attemptTime
        /// ``Connection/compressing(_:clock:)``
        case compression
        /// ``Connection/authenticating(with:for:_:)`` and ``Connection/authenticating(from:for:_:clock:)``
        case authentication
        /// ``Connection/observing(_:as:clock:generator:)`` of attempts
        case attemptObservation
        /// ``Connection/logging(to:as:detail:redacting:clock:)`` of the requests that are sent
        case wireLog
    }

    /// A layer of your own, and its place in the stack.
    ///
    /// ```swift
    /// let connection = try StandardStack(for: "https://api.example.com/v1/").composed(adding: [
    ///     .outside(of: .caching) { $0.answeringOffline(from: memory) },
    ///     .inPlace(of: .retries) { $0.retrying(RetryPolicy(when: .standard || .status(403))) },
    /// ])
    /// ```
    ///
    /// A place exists even if its part is left out. Of several layers at one place, the last one is the outermost, as with
    /// modifiers.
    public struct Addition: Sendable {
        enum Side: Sendable { case outside, inside, inPlace }

        /// Applies the modifier of a layer to the rest of the stack.
        public typealias Wrap = @Sendable (_ base: any Connection) throws -> any Connection

        let side: Side
        let part: Part
        let wrap: Wrap

        /// A layer that sees a request directly before a part does.
        ///
        /// - Parameters:
        ///   - part: The part.
        ///   - wrap: Applies the modifier of the layer to the rest of the stack.
        /// - Returns: The layer with its place.
        public static func outside(of part: Part, _ wrap: @escaping Wrap) -> Addition {
            Addition(side: .outside, part: part, wrap: wrap)
        }

        /// A layer that sees a request directly after a part has.
        ///
        /// - Parameters:
        ///   - part: The part.
        ///   - wrap: Applies the modifier of the layer to the rest of the stack.
        /// - Returns: The layer with its place.
        public static func inside(of part: Part, _ wrap: @escaping Wrap) -> Addition {
            Addition(side: .inside, part: part, wrap: wrap)
        }

        /// A layer instead of the part, whose settings are then neither used nor checked.
        ///
        /// The base URL still names the origin of credentials. Composing is refused if something is passed for the part,
        /// such as a store for ``StandardStack/Part/caching``.
        ///
        /// - Parameters:
        ///   - part: The part.
        ///   - wrap: Applies the modifier of the layer to the rest of the stack.
        /// - Returns: The layer with its place.
        public static func inPlace(of part: Part, _ wrap: @escaping Wrap) -> Addition {
            Addition(side: .inPlace, part: part, wrap: wrap)
        }
    }

    /// The credentials of a stack, and the origins that may see them.
    public struct Authentication: Sendable {
        /// Applies a modifier for some origins to the rest of a stack.
        public typealias Wrap =
            @Sendable (_ base: any Connection, _ origins: Set<Origin>, _ clock: any DatedClock) throws -> any Connection

        private let origins: Set<Origin>
        private let wrap: Wrap

        /// Credentials that are always the same.
        ///
        /// - Parameters:
        ///   - credentials: The credentials.
        ///   - origins: The origins that may see them; empty for the origin of ``StandardStack/baseURL``.
        /// - Returns: The credentials with their origins.
        public static func with(_ credentials: Credentials, for origins: Set<Origin> = []) -> Authentication {
            .applying(for: origins) { base, origins, _ in base.authenticating(with: credentials, for: origins) }
        }

        /// A source that is asked for the credentials of each attempt.
        ///
        /// - Parameters:
        ///   - source: The source of the credentials.
        ///   - origins: The origins that may see them; empty for the origin of ``StandardStack/baseURL``.
        /// - Returns: The source with its origins.
        public static func from(_ source: any CredentialSource, for origins: Set<Origin> = []) -> Authentication {
            .applying(for: origins) { $0.authenticating(from: source, for: $1, clock: $2) }
        }

        /// Credentials of a layer of your own.
        ///
        /// ```swift
        /// extension StandardStack.Authentication {
        ///     static func session(_ session: Session) -> Self {
        ///         .applying { base, origins, _ in base.adding(session, for: origins) }
        ///     }
        /// }
        /// ```
        ///
        /// - Parameters:
        ///   - origins: The origins that may see the credentials; empty for the origin of ``StandardStack/baseURL``.
        ///   - wrap: Applies the modifier of the layer, which sends credentials to the given origins alone.
        /// - Returns: The layer with its origins.
        public static func applying(for origins: Set<Origin> = [], _ wrap: @escaping Wrap) -> Authentication {
            Authentication(origins: origins, wrap: wrap)
        }

        func added(to base: any Connection, for baseURL: String?, clock: any DatedClock) throws -> any Connection {
            guard origins.isEmpty else { return try wrap(base, origins, clock) }
            guard let baseURL else {
                throw StackSettingsError("authentication", "has no origin; pass `for:` or set `baseURL`")
            }
            return try wrap(base, [try BaseURL(baseURL).origin], clock)
        }
    }
}

extension StandardStack: CustomStringConvertible {
    /// The layers of the settings, as a printed connection shows them; without the layers for what is passed to `composed`.
    public var description: String {
        let nothing = ClosureConnection(named: "transport", choosingFrom: []) { _ in Response(status: .notImplemented) }
        do { return try composed(over: nothing).description } catch { return "StandardStack: \(error)" }
    }
}

extension TimePolicy {
    fileprivate var isEmpty: Bool { call == nil && body == nil && idle == nil }
}
