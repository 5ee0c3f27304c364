public import HTTPTypes

/// A description of one layer: its name, its role, its settings, and the facts that other layers rely on.
///
/// ```swift
/// print(connection.layers)
/// // [followingRedirects(upTo: 20, policy: standard), retrying(retries: 3), StubConnection]
/// ```
public struct Layer: Sendable, Hashable {
    /// The purpose of a layer in the stack, as an open set.
    public struct Role: Sendable, Hashable {
        /// The name of the role.
        public let name: String

        /// Creates a custom role.
        ///
        /// - Parameter name: The name of the role.
        public init(_ name: String) {
            self.name = name
        }

        /// Sends over a network, or replaces a network in tests.
        public static let transport = Role("transport")
        /// Changes requests before they are sent.
        public static let preparation = Role("preparation")
        /// Follows redirections.
        public static let redirection = Role("redirection")
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

    /// An effect of a layer that other layers have to know, as an open set.
    public struct Fact: Sendable, Hashable {
        /// The name of the fact.
        public let name: String

        /// Creates a custom fact.
        ///
        /// - Parameter name: The name of the fact.
        public init(_ name: String) {
            self.name = name
        }

        /// Adds credentials, so that a response may be meant for one principal only.
        public static let addsCredentials = Fact("adds credentials")
        /// Names the user of requests that name none, so that layers further in may store and share their responses.
        public static let setsPrincipal = Fact("sets the principal")
        /// May send a request more than once.
        public static let resends = Fact("resends")
        /// Changes parts of a request that a signature may cover.
        ///
        /// The fact only informs the reader of the stack and does not change the order: a signature covers the change
        /// only where the signing layer is further in.
        public static let changesSignedParts = Fact("changes signed parts")
        /// Reads the clock, so that what it sends or answers depends on the time.
        public static let readsClock = Fact("reads the clock")
        /// Decodes the content of responses by itself, in the codings that its platform knows.
        public static let decodesContent = Fact("decodes content")
        /// May answer without forwarding the request.
        public static let answers = Fact("answers")
        /// Writes requests or responses to a place outside of memory.
        public static let records = Fact("records")
    }

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
    public let facts: Set<Fact>
    /// The fields that hold the layer's secrets; a redirection to another origin drops them.
    public let secretFields: Set<HTTPField.Name>

    /// Creates a description of a layer.
    ///
    /// - Parameters:
    ///   - name: The name, spelled as the modifier or the type.
    ///   - role: The purpose of the layer in the stack.
    ///   - settings: The settings that are useful to a reader, in order.
    ///   - facts: The effects of the layer that other layers have to know.
    ///   - secretFields: The fields that hold the layer's secrets.
    public init(
        name: String,
        role: Role = .other,
        settings: [Setting] = [],
        facts: Set<Fact> = [],
        secretFields: Set<HTTPField.Name> = []
    ) {
        self.name = name
        self.role = role
        self.settings = settings
        self.facts = facts
        self.secretFields = secretFields
    }

    init(describing type: Any.Type, role: Role = .other) {
        self.init(name: String(String(describing: type).prefix { $0 != "<" }), role: role)
    }
}

extension Layer: CustomStringConvertible, CustomDebugStringConvertible {
    /// The name with its settings, as in `retrying(retries: 3)`.
    public var description: String {
        settings.isEmpty ? name : "\(name)(\(settings.map { "\($0.name): \($0.value)" }.joined(separator: ", ")))"
    }

    /// The same as the description.
    public var debugDescription: String { description }
}

extension Connection {
    /// Whether the connection, or a connection inside it, adds credentials to requests.
    var addsCredentials: Bool { layers.contains { $0.facts.contains(.addsCredentials) } }
}
