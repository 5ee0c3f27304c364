public import Decorum
public import DecorumAuthentication
import DecorumTraffic
import Foundation
import Synchronization

/// A store that keeps the token in a storage of a fleet, whose machines together send one refresh.
///
/// The value is sealed. A machine that refreshes has a lease, and notes its number beside the token before it asks the server.
/// After the lease of another machine is over, its note counts until the storage has answered for two seconds without a change.
/// Meanwhile a machine that got a new token and could not write it tries again every 100 milliseconds.
///
/// A refresh token is sent twice if the answer of the server was lost, or if the machine ended between that answer and the
/// write, or was cut off there, or suspended before its request, until its lease and the two seconds were over. What an
/// engine does that is gone, evicts or loses values is said in <doc:more-than-one-machine>.
public final class SharedTokenStore: TokenStore {
    /// The turns that the current task is a part of, by their stores.
    @TaskLocal private static var turns: [ObjectIdentifier: Turn] = [:]
    private let storage: GuardedStorage<any SharedStorage>
    private let key, leaseKey: SharedKey
    private let seal: SharedSeal
    private let leaseTime: Duration
    private let clock: any DatedClock
    private let generator: any RandomGenerator
    private let spawner: any TaskSpawner

    /// Creates a store, named by letters, digits, `-`, `_` and `.`, which are no secret; other characters are an error.
    ///
    /// - `leaseTime` is how long the others wait for a machine that has ended during a refresh: at least twice
    ///   `RefreshPolicy.timeLimit`.
    /// - `deadline` is how long each call of the storage may take.
    /// - `spawner` starts what no caller cancels: the ends of leases, and further attempts to write a new token.
    public init(
        on storage: any SharedStorage, named name: String, sealedBy seal: SharedSeal,
        leaseTime: Duration = .seconds(60), deadline: Duration = .seconds(1), clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator(), spawner: any TaskSpawner = SystemSpawner()
    ) throws {
        guard !name.isEmpty, !name.utf8.contains(where: ":/".utf8.contains),
            let key = SharedKey("token:" + name), let leaseKey = SharedKey("token-lease:" + name)
        else { throw TokenStoreError(.invalidName) }
        // Shorter breaks than the two seconds for which a note counts, in which a new token is written.
        let policy = CircuitPolicy(firstBreak: .milliseconds(500), longestBreak: .milliseconds(500))
        self.storage = GuardedStorage(storage, deadline: deadline, policy: policy, clock: clock, generator: generator)
        (self.key, self.leaseKey, self.seal, self.leaseTime) = (key, leaseKey, seal, max(.zero, leaseTime.bounded))
        (self.clock, self.generator, self.spawner) = (clock, generator, spawner)
    }

    /// Reads the token; a value that cannot be opened is an error.
    @concurrent public func token() async throws -> Token? {
        guard let turn = Self.turns[ObjectIdentifier(self)] else { return try await record()?.token }
        let grace = min(.seconds(2), leaseTime / 4)
        var (known, quiet, decision) = (TokenRecord?.none, Duration.zero, TokenRecord.Change.none)
        // Each token that a turn reads may be sent to the server, also one of a user who has signed in after its beginning.
        repeat {
            if decision == .wait { try await clock.sleep(for: .milliseconds(100)) }
            _ = try await change { held in
                let record = try held.get()
                quiet = record == known ? quiet + .milliseconds(100) : .zero
                known = record
                decision = try .noting(turn.lease.number, isQuiet: quiet >= grace, holding: record)
                return decision
            }
        } while decision == .wait
        guard decision == .none || clock.now < turn.latest else { throw TokenStoreError(.isLocked) }
        return known?.token
    }

    /// Replaces the token, if it is still the expected one; a value that cannot be opened counts as no token.
    @concurrent public func replace(_ expected: Token?, with token: Token?) async throws -> Bool {
        let turn = Self.turns[ObjectIdentifier(self)]
        do {
            return try await change { held in
                try .replacing(expected, with: token, in: turn?.lease.number, holding: try? held.get())
            }
        } catch {
            if let turn, token != nil, !turn.isUnsaved.exchange(true, ordering: .relaxed) {
                spawner.spawn { [self] in await save(token, insteadOf: expected, in: turn) }
            }
            throw error
        }
    }

    /// Performs work while no other machine does.
    public func exclusively<Result: Sendable>(
        _ work: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        let turn = try await begin()
        do {
            let turns = Self.turns.merging([ObjectIdentifier(self): turn]) { $1 }
            let result = try await Self.$turns.withValue(turns) { try await work() }
            await end(turn)
            return result
        } catch {
            await end(turn)
            throw error
        }
    }

    /// Returns the tokens that are stored from now on, after one that is there already; nil, perhaps again, without one.
    public func changes() -> AsyncStream<Token?> {
        let (stream, continuation) = AsyncStream.makeStream(of: Token?.self, bufferingPolicy: .bufferingNewest(1))
        let following = Task.detached { [self] in
            var (known, hints) = (Token?.none, storage.base.hints()?.makeAsyncIterator())
            while !Task.isCancelled {
                do {
                    let token = try await record()?.token
                    // A token may have come and gone since the last look.
                    if token == nil || token != known { continuation.yield(token) }
                    known = token
                } catch { hints = nil }  // The next reader reports it, who can do something about it.
                var hint = await hints?.next()
                while let other = hint, other != .listening, other != .changed(key) { hint = await hints?.next() }
                guard hint == nil else { continue }
                try? await clock.sleep(for: .seconds(1))
                hints = storage.base.hints()?.makeAsyncIterator()
            }
        }
        continuation.onTermination = { _ in following.cancel() }
        return stream
    }

    /// A lease under which work is performed; its number is noted beside each token that the work reads.
    private final class Turn: Sendable {
        let lease: SharedLease
        /// The instant from which on the rest of the lease is too short for a refresh.
        let latest: ContinuousClock.Instant
        /// Whether a new token is still to be written.
        let isUnsaved = Atomic(false)
        init(_ lease: SharedLease, latest: ContinuousClock.Instant) { (self.lease, self.latest) = (lease, latest) }
    }

    private func begin() async throws -> Turn {
        let holder = Data(UUID().uuidString.utf8)
        let limit = clock.instant(after: leaseTime * 2)
        var (pause, latest, hasFailed) = (Duration.milliseconds(20), clock.now, false)
        while true {
            // An attempt whose answer was lost may have taken the lease.
            if !hasFailed { latest = clock.instant(after: leaseTime / 2) }
            do {
                let held = try await storage.value(of: leaseKey)?.content ?? holder
                let lease = try await storage.call { [leaseKey, leaseTime] in
                    held == holder ? try await $0.lease(leaseKey, for: leaseTime, holder: holder) : nil
                }
                if let lease { return Turn(lease, latest: latest) }
                hasFailed = false
            } catch {
                if hasFailed { throw error }
                hasFailed = true
            }
            guard clock.now < limit else { throw TokenStoreError(.isLocked) }
            try await clock.sleep(for: pause * (0.5 + generator.uniform() / 2))
            pause = min(pause * 2, .seconds(1))
        }
    }

    private func end(_ turn: Turn) async {
        guard !turn.isUnsaved.load(ordering: .relaxed) else { return }
        await spawner.spawn { [self] in
            _ = try? await change { held in
                guard let record = try held.get(), record.turn == turn.lease.number else { return .none }
                return .write(TokenRecord(record.token))
            }
            try? await storage.call { try await $0.end(turn.lease) }
        }.value
    }

    /// Goes on writing a new token until the storage takes it, has another one, or never will.
    private func save(_ token: Token?, insteadOf expected: Token?, in turn: Turn) async {
        repeat {
            try? await clock.sleep(for: .milliseconds(100))
            do {
                _ = try await replace(expected, with: token)
                break
            } catch {
                // The other errors are of the clients of engines, and mostly pass.
                if (error as? any TemporaryError)?.mayPass == false { break }
            }
        } while !Task.isCancelled
        turn.isUnsaved.store(false, ordering: .relaxed)
        await end(turn)
    }

    private func record() async throws -> TokenRecord? { try record(in: await storage.value(of: key)) }

    private func record(in value: SharedValue?) throws -> TokenRecord? {
        try value.map { try TokenRecord(seal.opened($0.content, key) ?? Data()) }
    }

    /// Reads the record, and changes it as decided; returns false if it stays.
    private func change(
        _ decide: (Result<TokenRecord?, any Error>) throws -> TokenRecord.Change
    ) async throws -> Bool {
        for _ in 0..<100 {
            let value = try await storage.value(of: key)
            let condition = SharedCondition.holding(value)
            switch try decide(Result { try record(in: value) }) {
            case .none, .wait: return false
            case .remove:
                if try await storage.call({ [key] in try await $0.remove(key, if: condition) }) { return true }
            case .write(let record):
                guard let content = try? seal.sealed(record.content, key) else {
                    throw TokenStoreError(.isNotSealed)
                }
                var failure: (any Error)?
                do {
                    let version = try await storage.write(content, for: key, expiringAfter: nil, if: condition)
                    if version != nil { return true }
                } catch { failure = error }
                // The answer to the write was lost, or the engine has got it twice.
                if try await storage.value(of: key)?.content == content { return true }
                if let failure { throw failure }
            }
        }
        throw TokenStoreError(.neverReplaces)
    }
}

/// The content of the value: the token, and the turn of a refresh that has begun.
struct TokenRecord: Equatable {
    enum Change: Equatable {
        case none, wait, remove
        case write(TokenRecord)
    }

    let token: Token
    var turn: UInt64?
    init(_ token: Token, turn: UInt64? = nil) { (self.token, self.turn) = (token, turn) }

    /// Reads a content; bytes that are no content are an `InvalidTokenError`.
    init(_ content: Data) throws {
        let number = content.prefix(20).prefix { $0 != UInt8(ascii: "{") }
        let turn = UInt64(String(decoding: number, as: UTF8.self))
        self.init(try Token(storedForm: content.dropFirst(number.count)), turn: turn)
    }

    /// The number of the turn, and the token, which begins with a brace.
    var content: Data { get throws { Data((turn.map { "\($0)" } ?? "").utf8) + (try token.storedForm) } }
}

extension TokenRecord.Change {
    /// Decides whether a turn may note itself; a larger number shows that its lease is over.
    static func noting(
        _ number: UInt64, isQuiet: Bool, holding record: TokenRecord?
    ) throws(TokenStoreError) -> Self {
        guard let record, record.turn != number else { return .none }
        if let turn = record.turn, turn > number { throw TokenStoreError(.isLocked) }
        return record.turn == nil || isQuiet ? .write(TokenRecord(record.token, turn: number)) : .wait
    }

    /// Decides about a replacement; its turn is nil outside of refreshes.
    ///
    /// A new token is taken from a turn that is over, too, since the server has given it for the one that is there. But a
    /// refusal of that one says nothing once another turn may have used it.
    static func replacing(
        _ expected: Token?, with token: Token?, in turn: UInt64?, holding record: TokenRecord?
    ) throws(TokenStoreError) -> Self {
        guard record?.token == expected else { return .none }
        if let token { return .write(TokenRecord(token)) }
        if let turn, let noted = record?.turn, noted != turn { throw TokenStoreError(.isLocked) }
        return .remove
    }
}
