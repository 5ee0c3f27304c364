public import Decorum
import DecorumSecrets
public import Foundation

/// A storage on an engine that all machines of a fleet can reach, such as Redis: values of bytes that expire, and counters.
///
/// ``SharedResponseStore``, ``SharedTokenStore``, ``SharedLimits`` and `ServerPauses` work on any storage. They give each call
/// a deadline, and go on without the storage where it fails.
///
/// Each function is one step of the engine, or throws the error that prevents it: after an error, the step may have happened. It
/// blocks no thread, since it may begin on its caller's. A storage of your own passes `StorageCase.all` of `DecorumConformance`.
public protocol SharedStorage: Sendable {
    /// The largest content of a value, in bytes.
    var valueLimit: Int { get }
    /// Reads the values of at most a hundred keys, without what was never written, was removed or has expired.
    func values(for keys: [SharedKey]) async throws -> [SharedKey: SharedValue]

    /// Writes a value of ``valueLimit`` bytes at most, if a condition holds, and returns its version; nil if it does not.
    ///
    /// The value expires after its lifetime, and stays if that is nil.
    func write(
        _ content: Data, for key: SharedKey, expiringAfter lifetime: Duration?, if condition: SharedCondition
    ) async throws -> SharedVersion?

    /// Removes a value, if a condition holds, and returns whether it does, so that no value is there.
    func remove(_ key: SharedKey, if condition: SharedCondition) async throws -> Bool

    /// Adds to a counter, which begins with 0 and expires a time after its first addition, and returns the sum.
    func add(_ amount: Int64, to key: SharedKey, expiringAfter lifetime: Duration) async throws -> Int64
    /// Tells which values any machine changes from now on, until some hints may be missing; nil if the engine tells none.
    func hints() -> AsyncStream<SharedHint>?
}

/// The key of a value or of a counter: 1 to 200 characters, of letters, digits, `-`, `_`, `.`, `:` and `/`.
///
/// A value and a counter of one key are apart. Keys are seen by whoever administers the engine, so they hold no secret.
public struct SharedKey: Sendable, Hashable, CustomStringConvertible {
    /// The largest number of characters.
    public static let lengthLimit = 200
    /// The characters.
    public let description: String

    /// Creates a key; nil for other characters, for none and for too many.
    public init?(_ text: String) {
        let isPlain = text.utf8.allSatisfy { $0.isLetterOrDigit || "-_.:/".utf8.contains($0) }
        guard isPlain, 1...Self.lengthLimit ~= text.utf8.count else { return nil }
        description = text
    }

    /// Creates a key of the module's own words and of numbers, such as digests of what others must not see.
    init(_ words: String..., numbers: UInt64...) {
        description = (words + numbers.map { String($0, radix: 36) }).joined(separator: ":")
    }
}

/// A number that each write of a value makes larger, also after the value was removed or has expired, as far as the engine can.
public struct SharedVersion: Sendable, Hashable, Comparable {
    /// The number.
    public let number: UInt64
    /// Creates a version.
    public init(_ number: UInt64) { self.number = number }
    /// Compares the numbers.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.number < rhs.number }
}

/// A value as a storage has it.
public struct SharedValue: Sendable, Hashable {
    /// The content.
    public let content: Data
    /// The version.
    public let version: SharedVersion
    /// Creates a value.
    public init(_ content: Data, version: SharedVersion) { (self.content, self.version) = (content, version) }
}

/// What has to be there so that a value is written or removed.
public enum SharedCondition: Sendable, Hashable {
    /// Anything.
    case anything
    /// No value.
    case nothing
    /// The value with a version.
    case version(SharedVersion)

    /// What was read is still there.
    static func holding(_ value: SharedValue?) -> Self { value.map { .version($0.version) } ?? .nothing }
}

/// What a storage tells about changes.
public enum SharedHint: Sendable, Hashable {
    /// From now on, each change is told.
    case listening
    /// The value of a key was written or removed, or has perhaps expired.
    case changed(SharedKey)
}

/// Seals values before they leave the process, and opens what comes back.
///
/// A seal authenticates the key of a value too, so that nobody can exchange two sealed values.
public struct SharedSeal: Sendable {
    /// Leaves contents as they are.
    static let absent = SharedSeal(seal: { content, _ in content }, open: { content, _ in content })
    let seal, open: @Sendable (_ content: Data, _ key: Data) throws -> Data

    func sealed(_ content: Data, _ key: SharedKey) throws -> Data { try seal(content, Data(key.description.utf8)) }

    /// Opens the content of a key; nil if that fails, since the error of the app's closure may tell too much for a log.
    func opened(_ content: Data, _ key: SharedKey) -> Data? { try? open(content, Data(key.description.utf8)) }

    /// Creates a seal from two closures, which get the content and the key in bytes; `open` throws for what `seal` did not make.
    public init(
        seal: @escaping @Sendable (_ content: Data, _ key: Data) throws -> Data,
        open: @escaping @Sendable (_ sealed: Data, _ key: Data) throws -> Data
    ) {
        (self.seal, self.open) = (seal, open)
    }
}

/// The right of one machine to do something alone for a time.
///
/// A machine that pauses may believe that it still has the right after the time. So whatever is changed under the lease
/// checks the number: a change with a smaller number than one that was seen comes too late.
public struct SharedLease: Sendable, Hashable {
    /// The key.
    public let key: SharedKey
    let version: SharedVersion
    /// The fencing number, which is larger than the numbers of all earlier leases of the key.
    public var number: UInt64 { version.number }
}

extension SharedStorage {
    /// Nil.
    public func hints() -> AsyncStream<SharedHint>? { nil }

    /// Takes a lease under a key that no value has; nil while another one lasts.
    ///
    /// It ends by itself a time after the first attempt of its holder, which are bytes that no other lease has. After an error,
    /// it may last until then, and the same bytes find out whether it was taken.
    public func lease(
        _ key: SharedKey, for time: Duration, holder: Data = Data(UUID().uuidString.utf8)
    ) async throws -> SharedLease? {
        if let version = try await write(holder, for: key, expiringAfter: time, if: .nothing) {
            return SharedLease(key: key, version: version)
        }
        // The answer to an earlier write may have been lost, or the engine has got the write twice.
        guard let value = try await values(for: [key])[key], value.content == holder else { return nil }
        return SharedLease(key: key, version: value.version)
    }

    /// Ends a lease before its time, unless it is over already or the storage throws.
    public func end(_ lease: SharedLease) async throws {
        _ = try await remove(lease.key, if: .version(lease.version))
    }
}

/// A storage could not be used, though the call may have had its effect.
public struct SharedStorageError: DescribableError, TemporaryError, Hashable {
    /// The reason.
    public enum Reason: Sendable, Hashable {
        /// The storage did not answer before the deadline of the call.
        case tooSlow
        /// The storage has failed several times in a row, and is left alone for a while.
        case leftAlone
        /// The answer of the engine was none that the storage knows.
        case unknownAnswer
        /// The content is larger than the storage takes.
        case tooLarge
        /// The engine refused the call, with the name or the number of an error.
        case refused(String)
    }

    /// The reason.
    public let reason: Reason
    /// Creates an error.
    public init(_ reason: Reason) { self.reason = reason }

    /// What failed, and what to do.
    public var description: String {
        switch reason {
        case .tooSlow: "The shared storage did not answer in time."
        case .leftAlone: "The shared storage has failed several times, and is not asked for a while."
        case .unknownAnswer: "The shared storage gave an unknown answer; check that its address is one of the engine."
        case .tooLarge: "The value is larger than the shared storage takes."
        case .refused(let name): "The engine of the shared storage refused the call: \(name)."
        }
    }

    /// Whether another attempt may succeed.
    public var mayPass: Bool { reason != .tooLarge }
}
