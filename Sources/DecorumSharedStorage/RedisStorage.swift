import Decorum
public import Foundation

/// A storage on Redis 5 or later, or on Valkey, over any client: a read is one `MGET`, a change one `EVAL` of one key.
///
/// The braces of the default prefix put all keys of a cluster into one slot, as `MGET` demands. The engine has a value
/// under the prefix, `v:` and the key. Eight bytes before its content are the version: the microseconds of the engine's
/// clock, or more, so it grows after an expiry. A value of another program is absent.
public struct RedisStorage: SharedStorage {
    /// The largest content of a value, in bytes.
    public let valueLimit: Int
    private let prefix: String
    private let makeHints: @Sendable () -> AsyncStream<SharedHint>?
    private let send: @Sendable (_ command: [Data]) async throws -> [Data?]

    /// Creates a storage: `hints` listens to changes of values, such as by `CLIENT TRACKING`; `send` sends the words of
    /// a command and returns the strings of the reply, which is an array, or throws the error of the engine.
    public init(
        prefix: String = "{decorum}:", valueLimit: Int = 1 << 20,
        hints: @escaping @Sendable () -> AsyncStream<SharedHint>? = { nil },
        send: @escaping @Sendable (_ command: [Data]) async throws -> [Data?]
    ) {
        (self.prefix, self.valueLimit, makeHints, self.send) = (prefix, valueLimit, hints, send)
    }

    /// Reads the values of some keys together.
    public func values(for keys: [SharedKey]) async throws -> [SharedKey: SharedValue] {
        guard !keys.isEmpty else { return [:] }
        let values = try await send((["MGET"] + keys.map { "\(prefix)v:\($0)" }).map { Data($0.utf8) })
        guard values.count == keys.count else { throw SharedStorageError(.unknownAnswer) }
        return zip(keys, values).reduce(into: [:]) { found, pair in
            guard let bytes = pair.1, bytes.count >= 8, bytes.count - 8 <= valueLimit else { return }
            let number = unsafe bytes.withUnsafeBytes { unsafe UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
            guard number < 1 << 53 else { return }
            found[pair.0] = SharedValue(Data(bytes.dropFirst(8)), version: SharedVersion(number))
        }
    }

    /// Writes a value, if a condition holds.
    public func write(
        _ content: Data, for key: SharedKey, expiringAfter lifetime: Duration?, if condition: SharedCondition
    ) async throws -> SharedVersion? {
        guard content.count <= valueLimit else { throw SharedStorageError(.tooLarge) }
        let time = Data((lifetime.map { "\(milliseconds($0))" } ?? "").utf8)
        let number = try await evaluate(Self.change, "v:\(key)", [expected(condition), time, content])
        guard number ?? 1 > 0 else { throw SharedStorageError(.unknownAnswer) }
        return number.map { SharedVersion(UInt64($0)) }
    }

    /// Removes a value, if a condition holds.
    public func remove(_ key: SharedKey, if condition: SharedCondition) async throws -> Bool {
        try await evaluate(Self.change, "v:\(key)", [expected(condition)]) != nil
    }

    /// Adds to a counter.
    public func add(_ amount: Int64, to key: SharedKey, expiringAfter lifetime: Duration) async throws -> Int64 {
        let words = ["\(amount)", "\(milliseconds(lifetime))"].map { Data($0.utf8) }
        guard let sum = try await evaluate(Self.addition, "c:\(key)", words) else {
            throw SharedStorageError(.unknownAnswer)
        }
        return sum
    }

    /// Tells which values are changed from now on, if the storage was given a way to listen.
    public func hints() -> AsyncStream<SharedHint>? { makeHints() }

    /// Runs a script, and returns the number of its reply; nil for an empty one.
    private func evaluate(_ script: String, _ key: String, _ rest: [Data]) async throws -> Int64? {
        let reply = try await send(["EVAL", script, "1", prefix + key].map { Data($0.utf8) } + rest)
        guard let text = reply.first else { return nil }
        guard let number = text.flatMap({ Int64(String(decoding: $0, as: UTF8.self)) }), reply.count == 1 else {
            throw SharedStorageError(.unknownAnswer)
        }
        return number
    }

    private func expected(_ condition: SharedCondition) -> Data {
        switch condition {
        case .anything: Data("*".utf8)
        case .nothing: Data()
        case .version(let version): unsafe withUnsafeBytes(of: version.number.bigEndian) { unsafe Data($0) }
        }
    }

    private func milliseconds(_ time: Duration) -> Int64 { max(1, Int64(time.bounded / .milliseconds(1))) }

    private static let change = """
        local old = redis.call('GETRANGE', KEYS[1], 0, 7)
        local version = #old == 8 and struct.unpack('>I8', old) or 2^53
        if version >= 2^53 then old, version = '', 0 end
        if ARGV[1] ~= '*' and ARGV[1] ~= old then return {} end
        if not ARGV[3] then redis.call('DEL', KEYS[1]) return {'1'} end
        local now = redis.call('TIME')
        version = math.max(version + 1, now[1] * 1000000 + now[2])
        redis.call('SET', KEYS[1], struct.pack('>I8', version) .. ARGV[3])
        if ARGV[2] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
        return {string.format('%.0f', version)}
        """

    private static let addition = """
        redis.call('INCRBY', KEYS[1], ARGV[1])
        if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
        return {redis.call('GET', KEYS[1])}
        """
}
