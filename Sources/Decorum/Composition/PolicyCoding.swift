import HTTPTypes

/// A policy in a file of settings: an object whose keys replace values of the policy.
protocol FilePolicy: Codable {
    /// The policy whose values a file replaces.
    static var initial: Self { get }
    static var keys: [PolicyKey<Self>] { get }
}

extension FilePolicy {
    /// Reads the values that a file names over the defaults; throws ``StackSettingsError`` for an unknown key.
    public init(from decoder: any Decoder) throws {
        self = Self.initial
        try read(from: decoder)
    }

    /// Writes all values; throws `EncodingError` for a policy that holds a closure, with the path of the closure.
    public func encode(to encoder: any Encoder) throws { try write(to: encoder) }

    mutating func read(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: SettingKey.self)
        let names = Self.keys.map(\.key.stringValue)
        if let key = container.allKeys.first(where: { !names.contains($0.stringValue) }) {
            throw StackSettingsError(decoder.codingPath + [key], "is no setting; the settings here are \(names.listed)")
        }
        for key in Self.keys where container.contains(key.key) { try key.read(container, &self) }
    }

    func write(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: SettingKey.self)
        for key in Self.keys { try key.write(self, &container) }
    }
}

struct SettingKey: CodingKey, Sendable {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) { nil }
}

/// One key of a policy: how its value is read and written.
struct PolicyKey<Policy>: Sendable {
    typealias Path<Value> = any WritableKeyPath<Policy, Value> & Sendable

    let key: SettingKey
    let read: @Sendable (KeyedDecodingContainer<SettingKey>, inout Policy) throws -> Void
    let write: @Sendable (Policy, inout KeyedEncodingContainer<SettingKey>) throws -> Void

    static func value<Value: Codable & Sendable>(_ name: String, _ path: Path<Value>) -> Self {
        mapped(name, path, from: { $0 }, to: { $0 })
    }

    /// A value that `false` leaves out.
    static func optional<Value: Codable & Sendable>(_ name: String, _ path: Path<Value?>) -> Self {
        optional(name, path, from: { $0 }, to: { $0 })
    }

    /// A value that stands in a file as another one, and that `false` leaves out.
    static func optional<Value, Stored: Codable & Sendable>(
        _ name: String, _ path: Path<Value?>, from read: @escaping @Sendable (Stored) throws -> Value,
        to write: @escaping @Sendable (Value) throws -> Stored
    ) -> Self {
        mapped(
            name, path, from: { (stored: OrFalse<Stored>) in try stored.value.map(read) },
            to: { OrFalse(value: try $0.map(write)) })
    }

    static func seconds(_ name: String, _ path: Path<Duration>) -> Self {
        mapped(name, path, from: \Seconds.duration, to: { Seconds(duration: $0) })
    }

    static func seconds(_ name: String, _ path: Path<Duration?>) -> Self {
        optional(name, path, from: \Seconds.duration, to: { Seconds(duration: $0) })
    }

    /// A policy: `false` leaves it out, and `true` takes the one that is there, or else its default.
    static func part<Value: FilePolicy & Sendable>(
        _ name: String, _ path: Path<Value?>, default initial: Value = .initial
    ) -> Self {
        let key = SettingKey(stringValue: name)
        return Self(key: key) { container, policy in
            var part = policy[keyPath: path] ?? initial
            let isUsed = try? container.decode(Bool.self, forKey: key)
            if isUsed == nil { try part.read(from: container.superDecoder(forKey: key)) }
            policy[keyPath: path] = isUsed == false ? nil : part
        } write: { policy, container in
            guard let part = policy[keyPath: path] else { return try container.encode(false, forKey: key) }
            try container.encode(part, forKey: key)
        }
    }

    /// A value that stands in a file as another one.
    static func mapped<Value, Stored: Codable & Sendable>(
        _ name: String, _ path: Path<Value>, from read: @escaping @Sendable (Stored) throws -> Value,
        to write: @escaping @Sendable (Value) throws -> Stored
    ) -> Self {
        let key = SettingKey(stringValue: name)
        return Self(key: key) { container, policy in
            policy[keyPath: path] = try Self.locating(container.codingPath) {
                try read(container.decode(Stored.self, forKey: key))
            }
        } write: { policy, container in
            let stored = try Self.locating(container.codingPath) { try write(policy[keyPath: path]) }
            try container.encode(stored, forKey: key)
        }
    }

    /// Completes the path of an error.
    private static func locating<Value>(_ path: [any CodingKey], _ work: () throws -> Value) throws -> Value {
        do { return try work() } catch let error as StackSettingsError {
            throw StackSettingsError(path + [SettingKey(stringValue: error.path)], error.reason)
        }
    }

    /// A closure, with which the policy cannot be written.
    static func closure(_ name: String) -> Self where Policy == CachingPolicy {
        let key = SettingKey(stringValue: name)
        return Self(key: key) { container, _ in
            throw StackSettingsError(container.codingPath + [key], "is a closure, which no file holds")
        } write: { policy, container in
            guard policy.ownClosures.contains(name) else { return }
            throw EncodingError.invalidValue(
                name, .init(codingPath: container.codingPath + [key], debugDescription: "It is a closure."))
        }
    }
}

/// A value, or `false` for nil.
private struct OrFalse<Value: Codable & Sendable>: Codable, Sendable {
    let value: Value?

    init(value: Value?) {
        self.value = value
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        value = (try? container.decode(Bool.self)) == false ? nil : try container.decode(Value.self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let value { try container.encode(value) } else { try container.encode(false) }
    }
}

/// A duration as a number of seconds, to the nanosecond.
private struct Seconds: Codable, Sendable {
    let duration: Duration

    init(duration: Duration) {
        self.duration = duration
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let whole = try? container.decode(Int64.self) {
            duration = .seconds(whole)
            return
        }
        let seconds = try container.decode(Double.self)
        guard let whole = Int64(exactly: seconds.rounded(.down)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "The duration is too long.")
        }
        // A number such as 0.1 is not exact, so the nearest nanosecond counts.
        duration = .seconds(whole) + .nanoseconds(Int64(((seconds - Double(whole)) * 1e9).rounded()))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let (seconds, attoseconds) = min(max(duration, .seconds(Int64.min)), .seconds(Int64.max)).components
        guard attoseconds != 0 else { return try container.encode(seconds) }
        guard duration == duration.bounded else { return try container.encode(duration / .seconds(1)) }
        try container.encode(Double(seconds * 1_000_000_000 + attoseconds / 1_000_000_000) / 1e9)
    }
}

extension TimePolicy: FilePolicy {
    static let initial = TimePolicy(call: .seconds(30), idle: .seconds(15))
    static let keys: [PolicyKey<TimePolicy>] = [
        .seconds("call", \.call), .seconds("body", \.body), .seconds("idle", \.idle),
    ]
}

extension AttemptTimePolicy: FilePolicy {
    static let initial = AttemptTimePolicy(.seconds(10))
    static let keys: [PolicyKey<AttemptTimePolicy>] = [.seconds("head", \.head), .seconds("idle", \.idle)]
}

extension DecompressionPolicy: FilePolicy {
    static let initial = DecompressionPolicy.standard
    static let keys: [PolicyKey<DecompressionPolicy>] = [
        .mapped("codings", \.codings, from: { ($0 as [String]).map { ContentCoding($0) } }, to: { $0.map(\.name) }),
        .value("maximumRatio", \.limits.maximumRatio), .optional("maximumLength", \.limits.maximumLength),
        .value("maximumCodings", \.limits.maximumCodings),
    ]
}

extension CompressionPolicy: FilePolicy {
    static let initial = CompressionPolicy.standard
    static let keys: [PolicyKey<CompressionPolicy>] = [
        .mapped("coding", \.coding, from: { ContentCoding($0 as String) }, to: { $0.name }),
        .optional("level", \.level), .value("minimumLength", \.minimumLength),
        .value("compressesStreams", \.compressesStreams),
    ]
}

extension PacingPolicy: FilePolicy {
    static let initial = PacingPolicy.standard
    static let keys: [PolicyKey<PacingPolicy>] = [
        .seconds("longestWait", \.longestWait), .seconds("longestPause", \.longestPause),
        .value("heedsRateLimits", \.heedsRateLimits), .value("separatesRoutes", \.separatesRoutes),
    ]
}

extension CoalescingPolicy: FilePolicy {
    static let initial = CoalescingPolicy.standard
    static let keys: [PolicyKey<CoalescingPolicy>] = [
        .mapped(
            "ignoredFields", \.ignoredFields, from: { Set($0 as [HTTPField.Name]) },
            to: { $0.sorted { $0.canonicalName < $1.canonicalName } })
    ]
}

extension CachingPolicy: FilePolicy {
    /// It asks the server for a response that names no lifetime.
    static let initial: CachingPolicy = {
        var policy = CachingPolicy()
        policy.heuristicLimit = .zero
        return policy
    }()
    static let keys: [PolicyKey<CachingPolicy>] = [
        .value("heuristicFraction", \.heuristicFraction), .seconds("heuristicLimit", \.heuristicLimit),
        .seconds("staleIfUnreachable", \.staleIfUnreachable), .seconds("staleIfError", \.staleIfError),
        .seconds("staleIfSlow", \.staleIfSlow), .value("coalescing", \.coalescing),
        .value("addsCacheStatusField", \.addsCacheStatusField), .value("name", \.name),
        .closure("mayStore"), .closure("meansServerNotReached"),
    ]
}

extension RetryPolicy: FilePolicy {
    static let initial = RetryPolicy.standard
    static let keys: [PolicyKey<RetryPolicy>] = [
        .value("retries", \.retries), .value("when", \.when),
        .mapped(
            "methods", \.methods,
            from: { (names: [String]) in
                let methods = Set(names.compactMap { HTTPRequest.Method($0) })
                guard methods.count == Set(names).count else {
                    throw StackSettingsError("methods", "has a name that no method has")
                }
                return methods
            },
            to: { $0.map(\.rawValue).sorted() }),
        .seconds("baseDelay", \.baseDelay), .value("factor", \.factor), .seconds("maximumDelay", \.maximumDelay),
        .value("certainPart", \.certainPart), .seconds("maximumRetryAfter", \.maximumRetryAfter),
        .value("budget", \.budget),
    ]
}

extension RedirectionPolicy {
    private static let named = [standard, never, sameOrigin, httpsOnly]

    /// Creates the policy with a name.
    init(settings name: String) throws {
        guard let policy = Self.named.first(where: { $0.description == name }) else {
            throw StackSettingsError("redirects", "is no policy with a name")
        }
        self = policy
    }

    /// The name of the policy; it throws for a policy that holds a closure of the app.
    func settings() throws -> String {
        guard isNamed else { throw StackSettingsError("redirects", "holds a closure, which no file holds") }
        return description
    }
}

/// A client in a file; the system is the one that reads.
struct StoredClient: Codable, Sendable {
    let name: String
    let version: String?
    let details: [String]?

    init(_ client: ClientInformation) {
        (name, version, details) = (client.name, client.version, client.details)
    }

    func client() throws -> ClientInformation {
        try ClientInformation(name: name, version: version, details: details ?? [])
    }
}

/// The detail of a log in a file: `"line"`, `"fields"`, or the largest number of bytes to show of a body.
struct StoredDetail: Codable, Sendable {
    let detail: LogDetail

    init(_ detail: LogDetail) {
        self.detail = detail
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let limit = try? container.decode(Int.self) {
            detail = .bodies(upTo: limit)
            return
        }
        switch try container.decode(String.self) {
        case "line": detail = .line
        case "fields": detail = .fields
        default: throw DecodingError.dataCorruptedError(in: container, debugDescription: "It is no detail of a log.")
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if detail == .line || detail == .fields {
            try container.encode(detail.description)
        } else {
            try container.encode(detail.bodyLimit)
        }
    }
}
