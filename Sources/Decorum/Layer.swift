public import HTTPTypes

/// A description of one layer: its name, its role, its settings, and the facts and numbers that other layers rely on.
///
/// ```swift
/// print(connection.layers)
/// // [followingRedirects(upTo: 20, policy: standard), retrying(retries: 3), StubConnection]
/// ```
///
/// A layer with further connections beside its base, such as a router or a fallback, names them in ``branches``, so that
/// the layers of a connection are a tree.
///
/// The numbers describe the layer with its own settings. An option of a request may replace a setting for this request.
public struct Layer: Sendable, Hashable {
    /// One setting of a layer, as its description shows it.
    public struct Setting: Sendable, Hashable {
        /// The name, spelled as the modifier's argument.
        public let name: String
        /// The value, which never holds a secret.
        public let value: String

        /// Creates a setting.
        ///
        /// - Parameters:
        ///   - name: The name, spelled as the modifier's argument.
        ///   - value: The value; it is described, so it must not hold a secret.
        public init(_ name: String, _ value: some Sendable) {
            self.name = name
            self.value = String(describing: value)
        }
    }

    /// The name, spelled as the modifier or the type.
    public let name: String
    /// The purpose of the layer in the stack.
    public let role: Role
    /// The settings that are useful to a reader of the stack, in order.
    public let settings: [Setting]
    /// The effects of the layer that other layers have to know.
    ///
    /// They include ``Fact/answers``, ``Fact/resends`` and ``Fact/waits`` where the numbers say so.
    public let facts: Set<Fact>
    /// The fields that hold the layer's secrets; a redirection to another origin drops them.
    public let secretFields: Set<HTTPField.Name>
    /// The methods that ``Fact/repeatsUnsafeMethods`` or ``Fact/makesIdempotent`` is about; empty without these facts.
    public let methods: Set<HTTPRequest.Method>
    /// How often the layer may send for one request: to its base and to each of its branches, or a transport over the
    /// network.
    ///
    /// `Int.max` stands for no bound. Requests in the background are not counted.
    public let sends: ClosedRange<Int>
    /// How long the layer lets a request wait at most before it sends it, all waits of one request added up.
    ///
    /// The time that its base takes is not part of it. For a transport, it is the wait for a free connection.
    public let longestWait: Bound<Duration>
    /// How long the layer reads at most of responses before it returns or replaces them, all of one request added up.
    public let longestReading: Bound<Duration>
    /// The time to which the layer limits each request, with all that is inside of it, until the head of the response.
    ///
    /// Layers further in and the transport end their work then. For a transport, it is the longest time that it takes.
    public let timeLimit: Bound<Duration>
    /// The number of bytes of content that the layer holds in memory at most, for one request and its response.
    ///
    /// The chunk of a body that is being passed on is not counted.
    public let bytesHeld: Bound<Int>
    /// The state that the layer shares with other layers, such as the store of a cache.
    public let sharedState: Set<StateIdentity>
    /// The connections beside the base to which the layer sends, in order.
    public let branches: [Branch]
    /// Whether the facts and numbers describe the layer; false where its author has declared nothing, so that nothing is
    /// known of it.
    public let isDeclared: Bool

    /// Creates a description of a layer.
    ///
    /// - Parameters:
    ///   - name: The name, spelled as the modifier or the type.
    ///   - role: The purpose of the layer in the stack.
    ///   - settings: The settings that are useful to a reader, in order.
    ///   - facts: The effects of the layer that other layers have to know.
    ///   - secretFields: The fields that hold the layer's secrets.
    ///   - methods: The methods that ``Fact/repeatsUnsafeMethods`` or ``Fact/makesIdempotent`` is about; by default, `POST` and
    ///     `PATCH`.
    ///   - sends: How often the layer may send for one request. By default, once; from 0 on with ``Fact/answers`` or
    ///     ``Fact/refuses``, and without a bound with ``Fact/resends``.
    ///   - longestWait: How long the layer lets a request wait at most. By default it does not wait; with ``Fact/waits``,
    ///     there is no bound.
    ///   - longestReading: How long the layer reads at most of responses before it returns or replaces them.
    ///   - timeLimit: The time to which the layer limits each request, until the head of the response.
    ///   - bytesHeld: The number of bytes of content that the layer holds in memory at most.
    ///   - sharedState: The state that the layer shares with other layers.
    ///   - branches: The connections beside the base to which the layer sends.
    ///   - isDeclared: Whether the facts and numbers describe the layer; false for a layer of which they are not known.
    public init(
        name: String,
        role: Role = .other,
        settings: [Setting] = [],
        facts: Set<Fact> = [],
        secretFields: Set<HTTPField.Name> = [],
        methods: Set<HTTPRequest.Method> = [.post, .patch],
        sends: ClosedRange<Int>? = nil,
        longestWait: Bound<Duration>? = nil,
        longestReading: Bound<Duration> = .atMost(.zero),
        timeLimit: Bound<Duration> = .unbounded,
        bytesHeld: Bound<Int> = .atMost(0),
        sharedState: Set<StateIdentity> = [],
        branches: [Branch] = [],
        isDeclared: Bool = true
    ) {
        self.name = name
        self.role = role
        self.settings = settings
        self.secretFields = secretFields
        let hasMethods = facts.contains(.repeatsUnsafeMethods) || facts.contains(.makesIdempotent)
        self.methods = hasMethods ? methods : []
        let mayNotSend = facts.contains(.answers) || facts.contains(.refuses)
        self.sends = sends ?? (mayNotSend ? 0 : 1)...(facts.contains(.resends) ? .max : 1)
        self.longestWait = longestWait ?? (facts.contains(.waits) ? .unbounded : .atMost(.zero))
        self.longestReading = longestReading
        self.timeLimit = timeLimit
        self.bytesHeld = bytesHeld
        self.sharedState = sharedState
        self.branches = branches
        self.isDeclared = isDeclared
        var facts = facts
        if self.sends.lowerBound < 1, !facts.contains(.refuses) { facts.insert(.answers) }
        if self.sends.upperBound > 1 { facts.insert(.resends) }
        if self.longestWait != .atMost(.zero) { facts.insert(.waits) }
        self.facts = facts
    }

    init(describing type: Any.Type, role: Role = .other) {
        self.init(name: String(String(describing: type).prefix { $0 != "<" }), role: role, isDeclared: false)
    }
}

extension Layer: CustomStringConvertible, CustomDebugStringConvertible {
    /// The name with its settings and its branches, as in `retrying(retries: 3)`.
    public var description: String {
        let settings = settings.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
        let branches = branches.map { "\($0.name): \($0.layers)" }.joined(separator: "; ")
        return name + (settings.isEmpty ? "" : "(\(settings))") + (branches.isEmpty ? "" : " {\(branches)}")
    }

    /// The same as the description.
    public var debugDescription: String { description }
}

extension Layer {
    /// The layer with further settings behind its own.
    func with(_ further: [Setting]) -> Layer {
        Layer(
            name: name, role: role, settings: settings + further, facts: facts, secretFields: secretFields,
            methods: methods, sends: sends, longestWait: longestWait, longestReading: longestReading,
            timeLimit: timeLimit,
            bytesHeld: bytesHeld, sharedState: sharedState, branches: branches, isDeclared: isDeclared)
    }

    /// The layer, and those of its branches through which requests of the caller pass.
    var passed: [Layer] {
        [self] + branches.filter(\.carriesRequests).flatMap { $0.layers.flatMap(\.passed) }
    }
}

extension Connection {
    /// Whether the connection, or a connection inside it, adds credentials to requests.
    var addsCredentials: Bool {
        layers.contains { layer in layer.passed.contains { $0.facts.contains(.addsCredentials) } }
    }

    /// Whether credentials that the connection adds may be those of another user at a later request of a call.
    package var mayChangeUser: Bool {
        layers.contains { layer in
            layer.passed.contains { $0.facts.isSuperset(of: [.addsCredentials, .variesPerSend]) }
        }
    }

    /// The fields that hold the secrets of the connection and of those inside it.
    var secretFields: Set<HTTPField.Name> {
        layers.reduce(into: []) { names, layer in
            for layer in layer.passed { names.formUnion(layer.secretFields) }
        }
    }
}
