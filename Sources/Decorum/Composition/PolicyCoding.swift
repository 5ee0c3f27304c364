import HTTPTypes

/// A policy in a file of settings: an object whose keys replace values of the policy.
protocol FilePolicy: Codable {
    /// The policy whose values a file replaces.
    static var initial: Self { get }

    /// Passes each value with its key to a file, which reads or writes it.
    mutating func exchange(with file: inout SettingsFile) throws
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
        var names = SettingsFile()
        try exchange(with: &names)
        var file = try SettingsFile(from: decoder, knowing: names)
        try exchange(with: &file)
    }

    func write(to encoder: any Encoder) throws {
        var policy = self
        var file = SettingsFile(to: encoder)
        try policy.exchange(with: &file)
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

/// The object of one policy in a file that is read or written; without a file, it learns the keys.
struct SettingsFile {
    private var input: KeyedDecodingContainer<SettingKey>?
    private var output: KeyedEncodingContainer<SettingKey>?
    private var names: [String] = []

    /// Whether the file is written.
    var isWritten: Bool { output != nil }

    init() {}

    /// Opens a file to read it; throws ``StackSettingsError`` for a key that a policy has not named.
    init(from decoder: any Decoder, knowing known: SettingsFile) throws {
        let container = try decoder.container(keyedBy: SettingKey.self)
        if let key = container.allKeys.first(where: { !known.names.contains($0.stringValue) }) {
            throw StackSettingsError(
                decoder.codingPath + [key], "is no setting; the settings here are \(known.names.listed)")
        }
        input = container
    }

    init(to encoder: any Encoder) {
        output = encoder.container(keyedBy: SettingKey.self)
    }

    /// The error for a setting of this object.
    func error(_ name: String, _ reason: String) -> StackSettingsError {
        StackSettingsError(
            (input?.codingPath ?? output?.codingPath ?? []) + [SettingKey(stringValue: name)], reason)
    }

    /// Names a key whose value is read elsewhere.
    mutating func ignore(_ name: String) { names.append(name) }

    /// Reads a value if the file has its key, or writes it; returns whether the value has been read.
    @inline(never) @discardableResult mutating func value<Value: Codable>(
        _ name: String, _ value: inout Value
    ) throws -> Bool {
        guard let input = reading(name) else { return try write(name, value) }
        value = try input.decode(Value.self, forKey: SettingKey(stringValue: name))
        return true
    }

    /// A value that `false` leaves out.
    @inline(never) @discardableResult mutating func optional<Value: Codable>(
        _ name: String, _ value: inout Value?
    ) throws -> Bool {
        guard let input = reading(name) else { return try write(name, value) }
        let isUsed = isUsed(name, in: input)
        value = isUsed == false ? nil : try input.decode(Value.self, forKey: SettingKey(stringValue: name))
        return true
    }

    /// A policy: `false` leaves it out, and `true` takes the one that is there, or else its default.
    @inline(never) mutating func part<Value: FilePolicy>(_ name: String, _ value: inout Value?) throws {
        guard let input = reading(name) else {
            _ = try write(name, value)
            return
        }
        let isUsed = isUsed(name, in: input)
        if isUsed == false { value = nil } else if value == nil { value = .initial }
        if isUsed == nil { try value?.read(from: input.superDecoder(forKey: SettingKey(stringValue: name))) }
    }

    mutating func seconds(_ name: String, _ duration: inout Duration) throws {
        var stored = Seconds(duration: duration)
        if try value(name, &stored) { duration = stored.duration }
    }

    mutating func seconds(_ name: String, _ duration: inout Duration?) throws {
        var stored = duration.map { Seconds(duration: $0) }
        if try optional(name, &stored) { duration = stored?.duration }
    }

    mutating func detail(_ name: String, _ detail: inout LogDetail?) throws {
        var stored = detail.map { StoredDetail($0) }
        if try optional(name, &stored) { detail = stored?.detail }
    }

    /// A closure, with which the policy cannot be written if the app has set it.
    mutating func closure(_ name: String, isOwn: Bool) throws {
        guard reading(name) == nil else { throw error(name, "is a closure, which no file holds") }
        try refuse(name, if: isOwn)
    }

    /// Throws while the file is written if the value holds a closure.
    func refuse(_ name: String, if isOwn: Bool) throws {
        guard isOwn, let output else { return }
        let path = output.codingPath + [SettingKey(stringValue: name)]
        throw EncodingError.invalidValue(name, .init(codingPath: path, debugDescription: "It holds a closure."))
    }

    /// The file to read a key from; nil unless it has the key.
    private mutating func reading(_ name: String) -> KeyedDecodingContainer<SettingKey>? {
        names.append(name)
        guard let input, input.contains(SettingKey(stringValue: name)) else { return nil }
        return input
    }

    private func isUsed(_ name: String, in input: KeyedDecodingContainer<SettingKey>) -> Bool? {
        try? input.decode(Bool.self, forKey: SettingKey(stringValue: name))
    }

    /// Writes a value, or `false` for nil.
    private mutating func write(_ name: String, _ value: (any Encodable)?) throws -> Bool {
        let value: any Encodable = value ?? false
        try output?.encode(value, forKey: SettingKey(stringValue: name))
        return false
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

    mutating func exchange(with file: inout SettingsFile) throws {
        try file.seconds("call", &call)
        try file.seconds("body", &body)
        try file.seconds("idle", &idle)
    }
}

extension AttemptTimePolicy: FilePolicy {
    static let initial = AttemptTimePolicy(.seconds(10))

    mutating func exchange(with file: inout SettingsFile) throws {
        try file.seconds("head", &head)
        try file.seconds("idle", &idle)
    }
}

extension DecompressionPolicy: FilePolicy {
    static let initial = DecompressionPolicy.standard

    mutating func exchange(with file: inout SettingsFile) throws {
        try file.refuse("codings", if: codings.contains { $0.own != nil })
        var names = codings.map(\.name)
        if try file.value("codings", &names) { codings = names.map { ContentCoding($0) } }
        try file.value("maximumRatio", &limits.maximumRatio)
        try file.optional("maximumLength", &limits.maximumLength)
        try file.value("maximumCodings", &limits.maximumCodings)
    }
}

extension CompressionPolicy: FilePolicy {
    static let initial = CompressionPolicy.standard

    mutating func exchange(with file: inout SettingsFile) throws {
        try file.refuse("coding", if: coding.own != nil)
        var name = coding.name
        if try file.value("coding", &name) { coding = ContentCoding(name) }
        try file.optional("level", &level)
        try file.value("minimumLength", &minimumLength)
        try file.value("compressesStreams", &compressesStreams)
    }
}

extension PacingPolicy: FilePolicy {
    static let initial = PacingPolicy.standard

    mutating func exchange(with file: inout SettingsFile) throws {
        try file.seconds("longestWait", &longestWait)
        try file.seconds("longestPause", &longestPause)
        try file.value("heedsRateLimits", &heedsRateLimits)
        try file.value("separatesRoutes", &separatesRoutes)
        var codes: [String: Seconds] = [:]
        for (status, time) in pausesByStatus { codes["\(status.code)"] = Seconds(duration: time) }
        if try file.value("pausesByStatus", &codes) {
            pausesByStatus = [:]
            for (code, time) in codes {
                guard let code = Int(code), (100..<1000).contains(code) else {
                    throw file.error("pausesByStatus", "has a status that has not three digits")
                }
                pausesByStatus[HTTPResponse.Status(code: code)] = time.duration
            }
        }
        try file.closure("key", isOwn: key != nil)
    }
}

extension CoalescingPolicy: FilePolicy {
    static let initial = CoalescingPolicy.standard

    mutating func exchange(with file: inout SettingsFile) throws {
        var names = ignoredFields.map(\.canonicalName).sorted().compactMap { HTTPField.Name($0) }
        if try file.value("ignoredFields", &names) { ignoredFields = Set(names) }
    }
}

extension CachingPolicy: FilePolicy {
    /// It asks the server for a response that names no lifetime.
    static let initial: CachingPolicy = {
        var policy = CachingPolicy()
        policy.heuristicLimit = .zero
        return policy
    }()

    mutating func exchange(with file: inout SettingsFile) throws {
        try file.value("heuristicFraction", &heuristicFraction)
        try file.seconds("heuristicLimit", &heuristicLimit)
        try file.seconds("staleIfUnreachable", &staleIfUnreachable)
        try file.seconds("staleIfError", &staleIfError)
        try file.seconds("staleIfSlow", &staleIfSlow)
        try file.value("coalescing", &coalescing)
        try file.value("addsCacheStatusField", &addsCacheStatusField)
        try file.value("name", &name)
        try file.closure("mayStore", isOwn: ownClosures.contains("mayStore"))
        try file.closure("meansServerNotReached", isOwn: ownClosures.contains("meansServerNotReached"))
    }
}

extension RetryPolicy: FilePolicy {
    static let initial = RetryPolicy.standard

    mutating func exchange(with file: inout SettingsFile) throws {
        try file.value("retries", &retries)
        try file.value("when", &when)
        var names = methods.map(\.rawValue).sorted()
        if try file.value("methods", &names) {
            methods = Set(names.compactMap { HTTPRequest.Method($0) })
            guard methods.count == Set(names).count else {
                throw file.error("methods", "has a name that no method has")
            }
        }
        try file.seconds("baseDelay", &baseDelay)
        try file.value("factor", &factor)
        try file.seconds("maximumDelay", &maximumDelay)
        try file.value("certainPart", &certainPart)
        try file.seconds("maximumRetryAfter", &maximumRetryAfter)
        try file.value("budget", &budget)
    }
}

/// A client in a file; the system is the one that reads, and no device is stored.
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
