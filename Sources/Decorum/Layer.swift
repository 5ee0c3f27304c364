public import HTTPTypes

/// A description of one layer: its name, its role, its settings, and the facts and numbers that other layers rely on.
///
/// ```swift
/// print(connection.layers)
/// // [followingRedirects(upTo: 20, policy: standard), retrying(retries: 3), StubConnection]
/// ```
///
/// A layer of your own names its effects as ``facts``. Its numbers follow from them, or stand in three groups:
///
/// ```swift
/// var layer: Layer {
///     Layer(
///         name: "answeringOffline", role: .caching, facts: [.answers, .sharesResponses], sending: .init(1...1),
///         memory: .init(bytes: .atMost(1 << 20), state: [.init(memory)]))
/// }
/// ```
///
/// The numbers describe the layer with its own settings. An option of a request may replace a setting for this request.
public struct Layer: Sendable, Hashable {
    /// One setting of a layer, as its description shows it.
    public struct Setting: Sendable, Hashable {
        /// The name, spelled as the modifier's argument.
        public let name: String
        /// The value, which never holds a secret.
        public let value: String
        /// The value if it is a user, whose name the text does not show.
        package let principal: Principal?

        /// Creates a setting; the value is described, so it must not hold a secret.
        public init(_ name: String, _ value: some Sendable) {
            self.name = name
            self.value = String(describing: value)
            principal = value as? Principal
        }
    }

    /// The name, spelled as the modifier or the type.
    public var name: String { parts.name }
    /// The purpose of the layer in the stack.
    public var role: Role { parts.role }
    /// The settings that are useful to a reader of the stack, in order.
    public var settings: [Setting] { parts.settings }
    /// The effects of the layer that other layers have to know.
    ///
    /// They include ``Fact/answers``, ``Fact/resends`` and ``Fact/waits`` if the numbers say so.
    public var facts: Set<Fact> { parts.facts }
    /// The fields that hold the layer's secrets; a redirection to another origin drops them.
    public var secretFields: Set<HTTPField.Name> { parts.secretFields }
    /// The number of requests that the layer sends for one request, and the connections to which it sends them.
    public var sending: Sending { parts.sending }
    /// The time that the layer adds to a request, and the limit that it sets.
    public var time: Time { parts.time }
    /// The memory that the layer holds.
    public var memory: Memory { parts.memory }
    /// Whether the facts and numbers describe the layer; false if its author has declared nothing, so that nothing is known.
    public var isDeclared: Bool { parts.isDeclared }

    private let parts: Parts

    /// What a layer consists of; an object, since a copy of so many values takes much code.
    private final class Parts: Sendable {
        let name: String
        let role: Role
        let settings: [Setting]
        let facts: Set<Fact>
        let secretFields: Set<HTTPField.Name>
        let sending: Sending
        let time: Time
        let memory: Memory
        let isDeclared: Bool

        init(
            _ name: String, _ role: Role, _ settings: [Setting], _ facts: Set<Fact>,
            _ secretFields: Set<HTTPField.Name>, _ sending: Sending, _ time: Time, _ memory: Memory, _ isDeclared: Bool
        ) {
            (self.name, self.role, self.settings, self.secretFields) = (name, role, settings, secretFields)
            self.sending = sending.completed(by: facts)
            self.time = time.completed(by: facts)
            (self.memory, self.isDeclared) = (memory, isDeclared)
            var facts = facts
            if self.sending.times.lowerBound < 1, !facts.contains(.refuses) { facts.insert(.answers) }
            if self.sending.times.upperBound > 1 { facts.insert(.resends) }
            if self.time.waiting != .atMost(.zero) { facts.insert(.waits) }
            self.facts = facts
        }
    }

    /// Creates a description of a layer from its parts.
    public init(
        name: String, role: Role = .other, settings: [Setting] = [], facts: Set<Fact> = [],
        secretFields: Set<HTTPField.Name> = [], sending: Sending = Sending(), time: Time = Time(),
        memory: Memory = Memory()
    ) {
        parts = Parts(name, role, settings, facts, secretFields, sending, time, memory, true)
    }

    package init(
        name: String, role: Role = .other, settings: [Setting] = [], facts: Set<Fact> = [],
        secretFields: Set<HTTPField.Name> = [], sending: Sending = Sending(), time: Time = Time(),
        memory: Memory = Memory(), isDeclared: Bool
    ) {
        parts = Parts(name, role, settings, facts, secretFields, sending, time, memory, isDeclared)
    }

    init(describing type: Any.Type, role: Role = .other) {
        self.init(name: String(String(describing: type).prefix { $0 != "<" }), role: role, isDeclared: false)
    }

    /// Whether both have the same values.
    public static func == (one: Layer, other: Layer) -> Bool {
        one.parts === other.parts
            || one.name == other.name && one.role == other.role && one.settings == other.settings
                && one.facts == other.facts && one.secretFields == other.secretFields && one.sending == other.sending
                && one.time == other.time && one.memory == other.memory && one.isDeclared == other.isDeclared
    }

    /// Hashes the values that tell most layers apart.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(settings)
    }
}

extension Layer {
    /// The largest value of a number.
    public enum Bound<Value: Sendable & Hashable & Comparable>: Sendable, Hashable {
        /// The value is not exceeded.
        case atMost(Value)
        /// There is no bound.
        case unbounded

        /// Whether a value is not above the bound.
        package func allows(_ value: Value) -> Bool {
            guard case .atMost(let limit) = self else { return true }
            return value <= limit
        }

        /// The value; nil without a bound.
        var value: Value? {
            if case .atMost(let value) = self { value } else { nil }
        }
    }

    /// The requests that a layer sends for one request.
    public struct Sending: Sendable, Hashable {
        private var declared: ClosedRange<Int>?
        /// The methods that ``Fact/repeatsUnsafeMethods`` or ``Fact/makesIdempotent`` is about; empty without these facts.
        public private(set) var methods: Set<HTTPRequest.Method>
        /// The connections beside the base to which the layer sends, in order.
        public let branches: [Branch]

        /// The number of times that the layer may send one request, or a transport over the network; `Int.max` for any.
        ///
        /// It counts for its base and for each of its branches, without requests in the background.
        public var times: ClosedRange<Int> { declared ?? 1...1 }

        /// Creates the numbers; by default, a layer sends once, from 0 times on with ``Fact/answers`` or ``Fact/refuses``, and
        /// without a bound with ``Fact/resends``.
        public init(
            _ times: ClosedRange<Int>? = nil, methods: Set<HTTPRequest.Method> = [.post, .patch],
            branches: [Branch] = []
        ) {
            declared = times
            self.methods = methods
            self.branches = branches
        }

        fileprivate func completed(by facts: Set<Fact>) -> Sending {
            var sending = self
            let mayNotSend = facts.contains(.answers) || facts.contains(.refuses)
            sending.declared = declared ?? (mayNotSend ? 0 : 1)...(facts.contains(.resends) ? .max : 1)
            if !facts.contains(.repeatsUnsafeMethods), !facts.contains(.makesIdempotent) { sending.methods = [] }
            return sending
        }
    }

    /// The time that a layer adds to a request, and the limit that it sets.
    public struct Time: Sendable, Hashable {
        private var declaredWait: Bound<Duration>?
        /// The longest time for which the layer reads the responses to one request before it returns or replaces them.
        public let reading: Bound<Duration>
        /// The time at which all that is inside of the layer ends its work, until the head of the response; for a transport,
        /// the longest time that it takes.
        public let limit: Bound<Duration>
        /// The time in which the layer counts outcomes together, such as for the ratio of a circuit; nil for none.
        public let window: Duration?

        /// The longest time for which the layer lets a request wait before it sends it, all waits of one request added up; for
        /// a transport, the wait for a free connection.
        public var waiting: Bound<Duration> { declaredWait ?? .atMost(.zero) }

        /// Creates the times; by default, no request waits, or for any time with ``Fact/waits``.
        public init(
            waiting: Bound<Duration>? = nil, reading: Bound<Duration> = .atMost(.zero),
            limit: Bound<Duration> = .unbounded, window: Duration? = nil
        ) {
            declaredWait = waiting
            (self.reading, self.limit, self.window) = (reading, limit, window)
        }

        fileprivate func completed(by facts: Set<Fact>) -> Time {
            var time = self
            time.declaredWait = declaredWait ?? (facts.contains(.waits) ? .unbounded : .atMost(.zero))
            return time
        }
    }

    /// The memory that a layer holds.
    public struct Memory: Sendable, Hashable {
        /// The number of bytes of content that the layer holds at most, for one request and its response, without the chunk that
        /// is being passed on.
        public let bytes: Bound<Int>
        /// The state that the layer shares with other layers, such as the store of a cache.
        public let state: Set<StateIdentity>

        /// Creates the numbers.
        public init(bytes: Bound<Int> = .atMost(0), state: Set<StateIdentity> = []) {
            self.bytes = bytes
            self.state = state
        }
    }

    /// The identity of state that several layers may share: two layers with an equal identity use the same state.
    ///
    /// It tells nothing once the state is released.
    public struct StateIdentity: Sendable, Hashable {
        private enum Identifier: Sendable, Hashable {
            case object(ObjectIdentifier)
            case name(String)
        }

        private let identifier: Identifier

        /// Creates the identity of an object, such as a store or a budget.
        public init(_ object: AnyObject) {
            identifier = .object(ObjectIdentifier(object))
        }

        /// Creates the identity of state outside of the process by a name that no other state has, such as a path.
        public init(named name: String) {
            identifier = .name(name)
        }

        /// Creates the identity of an object; nil for any other value, which shares nothing.
        init?(of value: some Any) {
            guard type(of: value) is AnyClass else { return nil }
            self.init(value as AnyObject)
        }
    }

    /// A connection beside the base of a layer: a route, a fallback, or the stack of a refresh.
    public struct Branch: Sendable, Hashable {
        /// The name of the branch, as in `"fallback"`.
        public let name: String
        /// The layers of the branch, outermost first.
        public let layers: [Layer]
        /// Whether requests of the caller take this way; false if the layer only sends requests of its own.
        public let carriesRequests: Bool

        /// Creates a branch.
        public init(_ name: String, _ layers: [Layer], carriesRequests: Bool = true) {
            self.name = name
            self.layers = layers
            self.carriesRequests = carriesRequests
        }
    }
}

extension Layer: CustomStringConvertible, CustomDebugStringConvertible {
    /// The name with its settings and its branches, as in `retrying(retries: 3)`.
    public var description: String {
        let branches = branches.map { "\($0.name): \($0.layers)" }.joined(separator: "; ")
        return ownDescription + (branches.isEmpty ? "" : " {\(branches)}")
    }

    /// The description.
    public var debugDescription: String { description }

    /// The name and the settings, without the branches.
    var ownDescription: String {
        let settings = settings.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
        return settings.isEmpty ? name : "\(name)(\(settings))"
    }
}

extension Layer {
    /// The connections beside the base to which the layer sends.
    package var branches: [Branch] { sending.branches }

    /// The layer with further settings behind its own.
    func with(_ further: [Setting]) -> Layer {
        Layer(
            name: name, role: role, settings: settings + further, facts: facts, secretFields: secretFields,
            sending: sending, time: time, memory: memory, isDeclared: isDeclared)
    }

    /// The layer, and the layers of its branches through which requests of the caller pass.
    package var passed: [Layer] {
        [self] + branches.filter(\.carriesRequests).flatMap { $0.layers.flatMap(\.passed) }
    }

    /// The layer, and the layers of all its branches.
    var withBranches: [Layer] { [self] + branches.flatMap { $0.layers.flatMap(\.withBranches) } }

    /// The fact that a layer reads the clock of the system; empty for another clock.
    package static func facts(of clock: any DatedClock) -> Set<Fact> {
        clock is SystemClock ? [.readsClock] : []
    }
}

extension Connection {
    /// Whether the connection, or a connection inside it, adds credentials to requests.
    var addsCredentials: Bool { layers.contains { $0.passed.contains { $0.facts.contains(.addsCredentials) } } }

    /// Whether the connection may add the credentials of another user to a later request of a call.
    package var mayChangeUser: Bool {
        layers.contains { $0.passed.contains { $0.facts.isSuperset(of: [.addsCredentials, .variesPerSend]) } }
    }

    /// The fields that hold the secrets of the connection and of the connections inside it.
    package var secretFields: Set<HTTPField.Name> {
        layers.reduce(into: []) { names, layer in
            for layer in layer.passed { names.formUnion(layer.secretFields) }
        }
    }
}

extension Layer {
    /// An effect of a layer that other layers have to know, as an open set.
    public struct Fact: Sendable, Hashable {
        /// The name of the fact, as code spells it.
        public let name: String

        /// Creates a custom fact.
        public init(_ name: String) {
            self.name = name
        }

        /// Adds credentials, so that a response may be meant for one principal only.
        public static let addsCredentials = Fact("addsCredentials")
        /// May add credentials, which nothing declares, as a closure that computes fields.
        package static let mayAddCredentials = Fact("mayAddCredentials")
        /// Sends its credentials only to the origins that they were given for, also after a redirection.
        public static let bindsToOrigins = Fact("bindsToOrigins")
        /// Is bound to an origin over `http` that is not this machine, where others could read the credentials.
        package static let sendsUnencryptedCredentials = Fact("sendsUnencryptedCredentials")
        /// Allows layers further in to send credentials without encryption.
        package static let allowsUnencryptedCredentials = Fact("allowsUnencryptedCredentials")
        /// Signs parts of a request, so that no layer further in may change them, repeat them or let them wait.
        public static let signs = Fact("signs")
        /// Names the user of requests that name none, so that layers further in may store and share their responses.
        public static let setsPrincipal = Fact("setsPrincipal")
        /// May add the credentials of another user to each request, whatever the principal of the request is.
        public static let changesUsers = Fact("changesUsers")

        /// May send a request more than once.
        public static let resends = Fact("resends")
        /// Sends requests with unsafe methods again, such as `POST`, although the server may have carried them out.
        public static let repeatsUnsafeMethods = Fact("repeatsUnsafeMethods")
        /// Sends again without a budget, which would end the retries while a server is overloaded.
        package static let resendsWithoutBudget = Fact("resendsWithoutBudget")
        /// May answer without forwarding the request.
        public static let answers = Fact("answers")
        /// May answer with a response that no server gave, such as a default value without a connection.
        public static let inventsAnswers = Fact("inventsAnswers")
        /// May throw in place of sending, as a circuit breaker does.
        public static let refuses = Fact("refuses")
        /// Gives a response to other requests than the one that it answered, and tells their users apart by the principal.
        public static let sharesResponses = Fact("sharesResponses")
        /// Limits the number or the rate of requests.
        public static let limitsRequests = Fact("limitsRequests")
        /// Refuses requests to a server that has failed again and again.
        public static let breaksCircuits = Fact("breaksCircuits")
        /// Sends a second request while the first one is under way, within a budget that it may share with retries.
        public static let hedges = Fact("hedges")
        /// Counts the failures of all servers together.
        package static let spansOrigins = Fact("spansOrigins")
        /// Sends to another place after a failure.
        public static let fallsBack = Fact("fallsBack")
        /// Lets no request through, since one of its limits is zero or less.
        package static let letsNothingPass = Fact("letsNothingPass")
        /// Has settings with which its policy does not work.
        package static let unsoundSettings = Fact("unsoundSettings")
        /// Breaks requests or responses on purpose.
        package static let injectsFaults = Fact("injectsFaults")
        /// May let a request wait before it is sent.
        public static let waits = Fact("waits")
        /// Lets a request with a deadline wait until then, also for longer than ``Layer/Time/waiting``.
        package static let waitsUntilDeadline = Fact("waitsUntilDeadline")
        /// Gives the ``Layer/Time/limit`` to each attempt, or to the whole call if it stands outside of the attempts.
        package static let limitsAttempts = Fact("limitsAttempts")

        /// Changes parts of a request that a signature may cover, so that the layer that signs belongs further in.
        public static let changesSignedParts = Fact("changesSignedParts")
        /// Gives an origin to requests that have none, so that layers further out do not know it.
        public static let setsOrigin = Fact("setsOrigin")
        /// Leaves out a part of its base URL where it resolves a reference: the last segment of the path, or the query.
        package static let cutsBaseURL = Fact("cutsBaseURL")
        /// Adds a value by which the server recognizes a call, so that all of its attempts have to have the same one.
        public static let identifiesCalls = Fact("identifiesCalls")
        /// Makes requests with unsafe methods safe to send again, as an `Idempotency-Key` does.
        public static let makesIdempotent = Fact("makesIdempotent")
        /// Changes the content of requests, so that a digest of it has to be made further in.
        public static let changesContent = Fact("changesContent")
        /// Makes a digest of the content of requests.
        package static let digestsContent = Fact("digestsContent")
        /// Puts a digest or a signature of a request into trailer fields.
        package static let needsTrailers = Fact("needsTrailers")
        /// Sends the trailer fields of requests.
        public static let sendsTrailers = Fact("sendsTrailers")
        /// May send something different each time that it sends an equal request, such as a time or a random number.
        public static let variesPerSend = Fact("variesPerSend")
        /// Undoes the content codings of responses, so that layers further out do not see the bytes that came.
        public static let decodesContent = Fact("decodesContent")
        /// Changes the status, the fields or the content of responses.
        public static let changesResponse = Fact("changesResponse")
        /// Decides by the status of responses, so that no layer further in may turn a status into an error.
        public static let readsStatus = Fact("readsStatus")

        /// Reads the clock of the system, so that what it sends or answers depends on the time.
        public static let readsClock = Fact("readsClock")
        /// Counts or times attempts, so that it belongs inside of the layers that send again.
        package static let observesAttempts = Fact("observesAttempts")
        /// Writes requests or responses to a place outside of memory.
        public static let records = Fact("records")
        /// Writes the fields of requests and responses too.
        public static let recordsFields = Fact("recordsFields")
        /// Hides secrets in what it records.
        public static let redacts = Fact("redacts")
    }

    /// The purpose of a layer in the stack.
    public struct Role: Sendable, Hashable {
        /// The name of the role.
        public let name: String

        package init(_ name: String) {
            self.name = name
        }

        /// Sends over a network, or replaces a network in tests.
        public static let transport = Role("transport")
        /// Changes requests before they are sent.
        public static let preparation = Role("preparation")
        /// Follows redirections.
        public static let redirection = Role("redirection")
        /// Decides which hosts requests may reach, and over which scheme.
        public static let hostPolicy = Role("host policy")
        /// Keeps the cookies of answers, and adds them to requests.
        public static let cookies = Role("cookies")
        /// Answers from stored responses.
        public static let caching = Role("caching")
        /// Sends again, or limits the number or the duration of attempts.
        public static let resilience = Role("resilience")
        /// Adds credentials.
        public static let authentication = Role("authentication")
        /// Observes without changing anything.
        public static let observation = Role("observation")
        /// Decides whether a response is acceptable.
        public static let validation = Role("validation")
        /// Has no stated purpose.
        public static let other = Role("other")
    }
}
