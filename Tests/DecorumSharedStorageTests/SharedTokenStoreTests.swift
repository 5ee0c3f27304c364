#if Signing
import Crypto
import Decorum
import DecorumAuthentication
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import Synchronization
import Testing

@testable import DecorumSharedStorage

@Suite(.timeLimit(.minutes(30))) struct SharedTokenStoreTests {
    private let clock = VirtualClock()
    private let storage = MemorySharedStorage()
    private let key = SharedKey("token:a")

    private func store(on storage: (any SharedStorage)? = nil) throws -> SharedTokenStore {
        try SharedTokenStore(on: storage ?? self.storage, named: "a", sealedBy: .test, clock: clock)
    }

    @Test func `A turn notes itself beside a token, once no earlier turn may have another token`() throws {
        let token = try Token("a")
        func change(noted turn: UInt64?, isQuiet: Bool = false) throws -> TokenRecord.Change {
            try .noting(7, isQuiet: isQuiet, holding: TokenRecord(token, turn: turn))
        }
        let note = TokenRecord.Change.write(TokenRecord(token, turn: 7))
        #expect(try change(noted: nil) == note)
        #expect(try change(noted: 7) == .none)
        #expect(try change(noted: 6) == .wait)
        #expect(try change(noted: 6, isQuiet: true) == note)
        #expect(throws: TokenStoreError(.isLocked)) { try change(noted: 8, isQuiet: true) }
        #expect(try TokenRecord.Change.noting(7, isQuiet: true, holding: nil) == .none)
    }

    @Test func `Only the expected token is replaced, and a turn that is over removes none`() throws {
        let (old, new) = (try Token("old"), try Token("new"))
        func change(
            _ expected: Token?, _ token: Token?, in turn: UInt64? = nil, noted: UInt64?
        ) throws -> TokenRecord.Change {
            try .replacing(expected, with: token, in: turn, holding: TokenRecord(old, turn: noted))
        }
        #expect(try change(nil, new, noted: nil) == .none)
        #expect(try change(new, nil, in: 7, noted: 7) == .none)
        #expect(try change(old, new, noted: 8) == .write(TokenRecord(new)))
        #expect(try change(old, new, in: 7, noted: 8) == .write(TokenRecord(new)))
        #expect(try change(old, nil, noted: 8) == .remove)
        #expect(try change(old, nil, in: 7, noted: 7) == .remove)
        #expect(try change(old, nil, in: 7, noted: nil) == .remove)
        #expect(throws: TokenStoreError(.isLocked)) { try change(old, nil, in: 7, noted: 8) }
    }

    @Test func `The storage has the token sealed, and nothing for another name`() async throws {
        let (store, token) = (try store(), try Token("access-secret", refreshToken: "refresh-secret"))
        #expect(try await store.token() == nil)
        #expect(try await !store.replace(token, with: token))
        #expect(try await store.replace(nil, with: token))
        #expect(try await !store.replace(nil, with: token))
        #expect(try await self.store().token() == token)
        let key = try #require(key)
        let content = try #require(await storage.values(for: [key])[key]).content
        #expect(content.range(of: Data("secret".utf8)) == nil && content.count > 100)
        let other = try SharedTokenStore(on: storage, named: "Other-1_.x", sealedBy: .test, clock: clock)
        #expect(try await other.token() == nil)
        #expect(try await store.replace(token, with: nil))
        #expect(await storage.values(for: [key]).isEmpty)
        for name in ["", "a/b", "a:b", "ä", String(repeating: "a", count: 200)] {
            #expect(throws: TokenStoreError(.invalidName)) {
                try SharedTokenStore(on: storage, named: name, sealedBy: .test)
            }
        }
    }

    @Test(arguments: ["damaged", "foreign", "unsealed"])
    func `A value that cannot be opened is an error, which signing in replaces`(kind: String) async throws {
        let (token, key) = (try Token("a"), try #require(key))
        let content: Data =
            switch kind {
            case "damaged": Data((0..<99).map { UInt8($0) })
            case "foreign": try SharedSeal.test.seal(token.storedForm, Data("token:other".utf8))
            default: try token.storedForm
            }
        _ = try await storage.write(content, for: key, expiringAfter: nil, if: .anything)
        let store = try store()
        await #expect(throws: InvalidTokenError.self) { try await store.token() }
        await #expect(throws: InvalidTokenError.self) { try await store.exclusively { try await store.token() } }
        #expect(try await !store.replace(token, with: nil))
        #expect(try await store.replace(nil, with: token))
        #expect(try await store.token() == token)
    }

    @Test(arguments: [true, false]) func `Changes are told`(hasHints: Bool) async throws {
        let (first, second) = (try Token("first"), try Token("second"))
        let other = try store()
        let store = try store(on: hasHints ? storage : LyingStorage(lie: .silentHints, base: storage))
        var changes = store.changes().makeAsyncIterator()
        for token in [first, second, nil] as [Token?] {
            #expect(try await other.replace(other.token(), with: token))
            async let ticking: Void = hasHints ? () : advance()
            var told = await changes.next()
            // The store may have been read before the first token was there.
            if token == first, told == .some(nil) { told = await changes.next() }
            #expect(told == .some(token))
            try await ticking
            // A turn that changes nothing is no change.
            try await other.exclusively { _ = try await other.token() }
        }
    }

    private func advance() async throws {
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
    }

    @Test func `A machine that waits for a turn reads seldom, and has the lease whose answer was lost`() throws {
        let clock = SimulatedClock()
        let calls = Mutex((waiting: 0, later: 0))
        let end = clock.now + .seconds(10)
        try clock.run {
            let storage = MemorySharedStorage(clock: clock)
            let link = FaultyStorage(storage, clock: clock) {
                calls.withLock { calls in
                    if clock.now < end { calls.waiting += 1 } else { calls.later += 1 }
                    return calls.later == 2 ? [.lostAnswer] : []
                }
            }
            let key = try #require(SharedKey("token-lease:a"))
            _ = try await storage.write(Data(), for: key, expiringAfter: .seconds(10), if: .nothing)
            let store = try SharedTokenStore(on: link, named: "a", sealedBy: .test, clock: clock)
            try await store.exclusively { #expect(clock.time > .seconds(10) && clock.time < .seconds(13)) }
            #expect(await storage.values(for: [key]).isEmpty)
        }
        #expect(calls.withLock { 10...30 ~= $0.waiting && $0.later > 2 })
    }

    @Test func `A new token that cannot be sealed at once is written later`() throws {
        let clock = SimulatedClock()
        let failures = Mutex(3)
        let seal = SharedSeal(
            seal: { content, key in
                let isNew = content.range(of: Data("new".utf8)) != nil
                let fails = failures.withLock { failures in
                    failures -= isNew ? 1 : 0
                    return isNew && failures >= 0
                }
                if fails { throw CryptoKitError.incorrectKeySize }
                return try SharedSeal.test.seal(content, key)
            }, open: SharedSeal.test.open)
        try clock.run {
            let storage = MemorySharedStorage(clock: clock)
            let store = try SharedTokenStore(on: storage, named: "a", sealedBy: seal, clock: clock)
            let (old, new) = (try Token("old"), try Token("new"))
            #expect(try await store.replace(nil, with: old))
            try await store.exclusively {
                _ = try await store.token()
                await #expect(throws: TokenStoreError(.isNotSealed)) { try await store.replace(old, with: new) }
            }
            let held = try await store.exclusively { try await store.token() }
            #expect(held == new && clock.time < .seconds(2))
        }
    }

    @Test func `A machine that is cut off for as long as its lease writes its new token before others refresh`() throws
    {
        let clock = SimulatedClock()
        try clock.run {
            let storage = MemorySharedStorage(clock: clock)
            let link = Link(clock: clock, generator: SeededGenerator(seed: 1))
            let store = try SharedTokenStore(on: link.over(storage), named: "a", sealedBy: .test, clock: clock)
            let other = try SharedTokenStore(on: storage, named: "a", sealedBy: .test, clock: clock)
            let (old, new) = (try Token("old"), try Token("new"))
            #expect(try await store.replace(nil, with: old))
            try await store.exclusively {
                let held = try await store.token()
                #expect(held == old)
                link.end = clock.now + .seconds(61)
                await #expect(throws: SharedStorageError.self) { try await store.replace(old, with: new) }
            }
            #expect(try await other.token() == old)
            let held = try await other.exclusively { try await other.token() }
            #expect(held == new && clock.time > .seconds(60))
        }
    }

    /// What holds for machines that refresh all the time, while answers and requests are lost, the engine stands still, and
    /// single machines are cut off for less than half of a lease.
    @Test(arguments: 1...(Footprint.isSoak ? 60 : 6))
    func `No token is used twice, and nobody is signed out`(seed: UInt64) throws {
        let generator = SeededGenerator(seed: seed)
        let clock = SimulatedClock(shufflingTasksBy: generator)
        let log = RotationLog()
        let server = RotatingTokens { used in
            // The server takes its time.
            try await clock.sleep(for: .seconds(generator.uniform()))
            let number = log.answer(to: "machine \(used)")
            try await clock.sleep(for: .seconds(generator.uniform()))
            return number
        }
        try clock.run {
            let storage = MemorySharedStorage(clock: clock)
            let links = (0..<4).map { _ in Link(clock: clock, generator: generator) }
            let stores = try links.map { link in
                try SharedTokenStore(
                    on: link.over(storage), named: "a", sealedBy: .test, clock: clock, generator: generator)
            }
            let policy = RefreshPolicy(minimumInterval: .zero)
            let machines = stores.map { Tokens(in: $0, from: server, policy: policy, clock: clock) }
            #expect(try await stores[0].replace(nil, with: RotatingTokens.token("1")))
            for link in links { link.end = clock.now }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for tokens in machines {
                    group.addTask {
                        while clock.time < .seconds(1800) {
                            do { _ = try await tokens.token() } catch is TokenRefreshError {}
                            try await clock.sleep(for: .seconds(generator.uniform() * 4))
                        }
                    }
                }
                group.addTask {
                    while clock.time < .seconds(1800) {
                        try await clock.sleep(for: .seconds(generator.uniform() * 60))
                        // All links at once are an engine that stands still, for any time.
                        let isEngine = generator.uniform() < 0.5
                        let cut = isEngine ? links : [links[Int(generator.uniform() * 4)]]
                        let end = clock.now + .seconds(generator.uniform() * (isEngine ? 200 : 25))
                        for link in cut { link.end = end }
                        try await clock.sleep(until: end, tolerance: nil)
                    }
                }
                try await group.waitForAll()
            }
            for link in links { link.end = nil }
            try await clock.sleep(for: .seconds(600))
            for tokens in machines { _ = try await tokens.token() }
        }
        #expect(log.state.reused == [] && log.state.newest > 20, "seed \(seed)")
    }
}

/// Tokens of a server that rotates refresh tokens, which are numbers, and gives tokens that have expired.
struct RotatingTokens: TokenSource {
    let layers: [Layer] = []
    /// Sends the number of a refresh token, and returns the next one, or nothing for a refusal.
    private let exchange: @Sendable (String) async throws -> String

    init(_ exchange: @escaping @Sendable (String) async throws -> String) { self.exchange = exchange }

    static func token(_ number: String) throws -> Token {
        try Token("access-\(number)", expiry: Date(timeIntervalSince1970: 0), refreshToken: number)
    }

    func token(replacing token: Token?) async throws -> Token {
        let number = try await exchange(token?.refreshToken ?? "")
        guard !number.isEmpty else { throw OAuthError(.invalidGrant) }
        return try Self.token(number)
    }
}

/// The log of an authorization server that rotates refresh tokens.
final class RotationLog: Sendable {
    struct State {
        var newest = 1
        /// The last token that was used, and the process that has got the answer.
        var last = (used: "", name: "")
        var reused: [String] = []
        var (lost, begun) = (0, 0)
        var (ended, written) = (Set<String>(), Set<String>())
    }

    static let goal = Footprint.isSoak ? 1000 : 40
    let seed = UInt64.random(in: 0...999)
    let generator: SeededGenerator
    private let log = Mutex(State())

    init() { generator = SeededGenerator(seed: seed) }

    var state: State { log.withLock { $0 } }
    var isOver: Bool { state.newest >= Self.goal || !state.reused.isEmpty }

    /// The name and the life of the next process; in the short form, two are killed early.
    func begin(_ lane: Int) -> (String, Double) {
        let number = log.withLock { log in
            log.begun += 1
            return log.begun
        }
        let life = Footprint.isSoak ? 1 + generator.uniform() * 20 : number <= 2 ? 0.5 + generator.uniform() : 300
        return ("\(lane)-\(number)", life)
    }

    func noteEnd(of name: String) { log.withLock { _ = $0.ended.insert(name) } }

    /// Notes a token that is in the storage, and answers with a word at the end of the test.
    func note(written token: String) -> String {
        log.withLock { _ = $0.written.insert(token) }
        return isOver ? "over" : ""
    }

    /// Answers "name token" with the next token, or with nothing.
    func answer(to text: String) -> String {
        let (name, used) = (String(text.prefix { $0 != " " }), String(text.drop { $0 != " " }.dropFirst()))
        return log.withLock { log in
            if used != "\(log.newest)" {
                // Its process was killed after the answer and before it had written the new token.
                let isLost = used == log.last.used && log.ended.contains(log.last.name)
                guard isLost, !log.written.contains("\(log.newest)") else {
                    log.reused.append("\(text) after \(log.last) gave \(log.newest)")
                    return ""
                }
                log.lost += 1
            }
            log.last = (used, name)
            log.newest += 1
            return "\(log.newest)"
        }
    }
}

/// A way to a storage that loses requests and answers, and that stands still for a time: then half of all requests arrive later.
private final class Link: Sendable {
    private let clock: any DatedClock
    private let generator: any RandomGenerator
    private let state = Mutex(ContinuousClock.Instant?.none)

    init(clock: any DatedClock, generator: any RandomGenerator) { (self.clock, self.generator) = (clock, generator) }

    /// The instant until which the link stands still; nil while it loses nothing.
    var end: ContinuousClock.Instant? {
        get { state.withLock(\.self) }
        set { state.withLock { $0 = newValue } }
    }

    func over(_ storage: MemorySharedStorage) -> FaultyStorage {
        FaultyStorage(storage, clock: clock) { [self] in
            guard let end else { return [] }
            let (luck, arrival) = (generator.uniform(), clock.now + .milliseconds(1 + generator.uniform() * 5))
            if luck < 0.01 { return [.partition] }
            let delay = FaultyStorage.Fault.delay(max(arrival, end) - clock.now)
            return arrival < end && luck < 0.5 ? [delay, .partition] : luck > 0.99 ? [delay, .lostAnswer] : [delay]
        }
    }
}

extension SharedSeal {
    /// AES-GCM with a key of the tests.
    static let test = SharedSeal(
        seal: { content, key in
            let box = try AES.GCM.seal(content, using: testKey, authenticating: key)
            return box.combined ?? Data()
        },
        open: { sealed, key in
            try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: testKey, authenticating: key)
        })
    private static let testKey = SymmetricKey(data: Data(0..<32))
}
#endif
