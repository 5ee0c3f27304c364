import Decorum
public import DecorumSharedStorage
import DecorumTesting
import Foundation

/// A rule that every storage of a fleet keeps, so that what is shared over it holds on each engine.
///
/// ```swift
/// @Test(arguments: StorageCase.all)
/// func storageRule(_ rule: StorageCase) async throws {
///     let clock = VirtualClock()
///     try await rule.check(passing: clock.advance) { MemorySharedStorage(clock: clock) }
/// }
/// ```
///
/// Each case makes a storage, which may be on the engine of all other cases, since their keys differ.
public struct StorageCase: ConformanceCase {
    /// The name of the case.
    public let name: String
    private let examine: @Sendable (StorageSubject) async throws -> Void

    /// All cases.
    public static let all = ConformanceSuite<StorageCase>([
        .contents, .keys, .conditions, .versions, .expiry, .counters, .comparison, .leases, .leasesUnderFaults,
        .comparisonUnderFaults, .hints,
    ])

    /// Checks that a storage keeps the rule.
    ///
    /// - Parameters:
    ///   - seed: The number that decides about faults, which a failure names; by default a random one.
    ///   - passing: Lets a time pass, and as much more as the engine ends lifetimes late; sleeps unless given.
    ///   - make: Makes the storage.
    /// - Throws: A ``ConformanceFailure`` that says how the storage breaks the rule; `CancellationError` if cancelled.
    public func check(
        seed: UInt64 = .random(in: 0 ... .max),
        passing: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        _ make: @escaping @Sendable () async throws -> any SharedStorage
    ) async throws {
        try await decide(within: .seconds(120)) { [name, examine] in
            let prefix = "\(name)-\(UInt64.random(in: 0 ... .max))-"
            try await examine(StorageSubject(storage: try await make(), pass: passing, prefix: prefix, seed: seed))
        }
    }
}

private let (hour, moment) = (Duration.seconds(3_600), Duration.seconds(2))

/// The storage under examination, with keys that no other case has.
private struct StorageSubject: Sendable {
    let storage: any SharedStorage
    let pass: @Sendable (Duration) async throws -> Void
    let prefix: String
    let seed: UInt64

    func key(_ text: String = "key") throws -> SharedKey {
        guard let key = SharedKey(prefix + text) else { throw ConformanceFailure("\(prefix)\(text) is no key.") }
        return key
    }

    func value(_ key: SharedKey) async throws -> SharedValue? { try await storage.values(for: [key])[key] }

    func write(
        _ text: String, _ key: SharedKey, for lifetime: Duration? = hour, if condition: SharedCondition = .anything
    ) async throws -> SharedVersion? {
        try await storage.write(Data(text.utf8), for: key, expiringAfter: lifetime, if: condition)
    }

    /// Calls the storage from many tasks at a time, and returns the results other than nil.
    func together<Result: Sendable>(
        _ count: Int, _ work: @escaping @Sendable (Int) async throws -> Result?
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            for index in 0..<count { group.addTask { try await work(index) } }
            return try await group.reduce(into: []) { results, result in if let result { results.append(result) } }
        }
    }
}

extension StorageCase {
    /// Demands that all contents come back as they were written, up to the limit, and that larger ones throw.
    public static let contents = StorageCase(name: "contents") { subject in
        let (storage, key) = (subject.storage, try subject.key())
        let largest = BytePattern.bytes(min(storage.valueLimit, 16 << 20))
        for content in [Data(0...255), Data(), Data([13, 10, 0, 255, 254]), largest] {
            let version = try await storage.write(content, for: key, expiringAfter: hour, if: .anything)
            if storage.valueLimit == largest.count {
                try await expectError(SharedStorageError.self, in: "for a content above the limit") {
                    let content = Data(count: largest.count + 1)
                    _ = try await storage.write(content, for: key, expiringAfter: hour, if: .anything)
                }
            }
            try expect(try await subject.value(key)?.content, is: content, "content")
            try expect(try await subject.value(key)?.version, is: version, "version of the write")
        }
    }

    /// Demands that a hundred keys are read together, that all their characters count, and that counters are apart.
    public static let keys = StorageCase(name: "keys") { subject in
        let long = String(repeating: "k", count: SharedKey.lengthLimit - 1 - subject.prefix.utf8.count)
        let texts = ["a", "A", "a:", "a/", "a//", "a.", "a_", "a-", long + "1", long + "2"] + (0..<90).map { "\($0)" }
        let keys = try texts.map(subject.key)
        for (index, key) in keys.enumerated() {
            if index % 3 != 0 { _ = try await subject.write("\(index)", key) }
            if index < 10 { _ = try await subject.storage.add(Int64(index), to: key, expiringAfter: hour) }
        }
        try expect(try await subject.storage.values(for: []), is: [:], "values of no key")
        let values = try await subject.storage.values(for: keys)
        for (index, key) in keys.enumerated() {
            try expect(values[key]?.content, is: index % 3 == 0 ? nil : Data("\(index)".utf8), "value of \(key)")
            let sum = index > 10 ? 0 : try await subject.storage.add(0, to: key, expiringAfter: hour)
            try expect(sum, is: index < 10 ? Int64(index) : 0, "sum of \(key)")
        }
    }

    /// Demands that a condition alone decides whether something is written or removed.
    public static let conditions = StorageCase(name: "conditions") { subject in
        for number in 0..<24 {
            let (isPresent, isRemoval, key) = (number % 2 == 1, number / 2 % 2 == 1, try subject.key("\(number)"))
            let old = isPresent ? try await subject.write("old", key) : nil
            let before = isPresent ? try await subject.write("before", key) : nil
            let versions = [before ?? .init(1), old ?? .init(2), .init(0), .init(.max)]
            let condition = ([.anything, .nothing] + versions.map(SharedCondition.version))[number / 4]
            let holds = condition == .anything || condition == (before.map(SharedCondition.version) ?? .nothing)

            let version = isRemoval ? nil : try await subject.write("after", key, if: condition)
            let isDone = isRemoval ? try await subject.storage.remove(key, if: condition) : version != nil

            let row = "\(isRemoval ? "removal" : "write") if \(condition), present before: \(isPresent)"
            try expect(isDone, is: holds, "outcome of the \(row):")
            let (value, text) = (try await subject.value(key), isRemoval ? nil : "after")
            try expect(value?.content, is: (holds ? text : before.map { _ in "before" }).map { Data($0.utf8) }, row)
            try expect(value?.version, is: holds ? version : before, "version after the \(row):")
        }
    }

    /// Demands that each write has a larger version than the one before, also after a removal and an expiry.
    public static let versions = StorageCase(name: "versions") { subject in
        let key = try subject.key()
        var last = SharedVersion(0)
        for round in 0..<40 {
            let version = try await subject.write("same", key, for: round == 20 ? moment : hour)
            guard let version, version > last else { throw ConformanceFailure("\(version as Any) follows \(last).") }
            last = version
            for _ in 0..<2 where round != 20 {
                try expect(try await subject.value(key)?.version, is: version, "version of the write")
            }
            if round % 3 == 0 { _ = try await subject.storage.remove(key, if: .version(version)) }
            if round == 20 { try await subject.pass(moment) }
        }
    }

    /// Demands that a value ends with the lifetime of its last write, and one without a lifetime never.
    public static let expiry = StorageCase(name: "expiry") { subject in
        let keys = try (0..<4).map { try subject.key("\($0)") }
        let lifetimes: [[Duration?]] = [[moment], [nil], [moment, hour], [nil, moment]]
        for (key, lifetimes) in zip(keys, lifetimes) {
            for lifetime in lifetimes { _ = try await subject.write("value", key, for: lifetime) }
        }
        try await subject.pass(moment)
        let found = try await subject.storage.values(for: keys)
        try expect(keys.map { found[$0] != nil }, is: [false, true, true, false], "presence after two seconds")
        try expect(try await subject.write("new", keys[0], if: .nothing) != nil, "that an expired value is absent")
        _ = try await subject.storage.remove(keys[1], if: .anything)
    }

    /// Demands that a counter is the exact sum of its additions, and ends with the lifetime of the first.
    public static let counters = StorageCase(name: "counters") { subject in
        let (storage, key, short) = (subject.storage, try subject.key(), try subject.key("short"))
        let sums = try await subject.together(32) { _ in try await storage.add(1, to: key, expiringAfter: hour) }
        try expect(sums.sorted(), is: Array(1...32), "sums of additions at a time")
        try expect(try await storage.add(-40, to: key, expiringAfter: hour), is: -8, "sum")
        for lifetime in [moment, hour] { _ = try await storage.add(5, to: short, expiringAfter: lifetime) }
        try await subject.pass(moment)
        try expect(try await storage.add(2, to: short, expiringAfter: moment), is: 2, "sum after the lifetime")
    }

    /// Demands that of 32 writes at a time, on the condition of one version, one alone happens.
    public static let comparison = StorageCase(name: "comparison") { subject in
        let key = try subject.key()
        var condition = SharedCondition.nothing
        for round in 0..<5 {
            let versions = try await subject.together(32) { [condition] index in
                try await subject.write("\(round)-\(index)", key, if: condition)
            }
            try expect(versions.count, is: 1, "writes that happened in round \(round):")
            try expect(try await subject.value(key)?.version, is: versions[0], "version of the write")
            condition = .version(versions[0])
        }
    }

    /// Demands that a lease has one holder, ends when it should and not later, and that fencing numbers grow after each end.
    public static let leases = StorageCase(name: "leases") { subject in
        let (storage, key) = (subject.storage, try subject.key())
        let held = try await subject.together(8) { _ in try await storage.lease(key, for: hour) }
        try expect(held.count, is: 1, "holders")
        try await storage.end(held[0])
        guard let short = try await storage.lease(key, for: moment) else {
            throw ConformanceFailure("A lease lasts longer than its holder wants.")
        }
        try await subject.pass(moment)
        let holder = Data("holder".utf8)
        guard let next = try await storage.lease(key, for: hour, holder: holder) else {
            throw ConformanceFailure("A lease lasts longer than its time.")
        }
        try await storage.end(short)
        try expect(try await storage.lease(key, for: hour), is: nil, "lease beside one that lasts")
        try expect(try await storage.lease(key, for: hour, holder: holder), is: next, "lease of the same holder")
        _ = try await storage.remove(key, if: .anything)
        let last = try await storage.lease(key, for: hour)
        let numbers = [held[0], short, next].map(\.number) + [last?.number ?? 0]
        try expect(numbers == numbers.sorted() && Set(numbers).count == 4, "numbers that grow, got \(numbers)")
    }

    /// Demands that a lease has one holder and not more, whatever is lost, done twice or refused.
    public static let leasesUnderFaults = StorageCase(name: "leasesUnderFaults") { subject in
        let generator = SeededGenerator(seed: subject.seed)
        for fault in [FaultyStorage.Fault.lostAnswer, .duplicate, .partition] {
            let storage = FaultyStorage(subject.storage) { .sometimes(fault, by: generator) }
            for round in 0..<10 {
                let key = try subject.key("\(fault)-\(round)")
                let held = try await subject.together(4) { caller in
                    for _ in 0..<100 {
                        do { return try await storage.lease(key, for: hour, holder: Data("\(caller)".utf8)) } catch {}
                    }
                    return nil
                }
                try expect(held.count == 1, "one holder, got \(held.count) with \(fault), seed \(subject.seed)")
            }
        }
    }

    /// Demands that nothing is lost or done twice by callers that read after an error, compare and replace.
    public static let comparisonUnderFaults = StorageCase(name: "comparisonUnderFaults") { subject in
        let (key, generator) = (try subject.key(), SeededGenerator(seed: subject.seed))
        let storage = FaultyStorage(subject.storage) { .sometimes(.lostAnswer, .duplicate, .partition, by: generator) }
        _ = try await subject.together(20) { caller in
            for _ in 0..<10_000 {
                guard let values = try? await storage.values(for: [key]) else { continue }
                let text = String(decoding: values[key]?.content ?? Data(), as: UTF8.self)
                if text.contains("(\(caller))") { return }
                let content = Data("\(text)(\(caller))".utf8)
                let condition = values[key].map { SharedCondition.version($0.version) } ?? .nothing
                _ = try? await storage.write(content, for: key, expiringAfter: hour, if: condition)
            }
        }
        let text = String(decoding: try await subject.value(key)?.content ?? Data(), as: UTF8.self)
        let (entries, all) = (text.split(separator: "(").sorted(), (0..<20).map { "\($0))" }.sorted())
        try expect(entries.map(String.init), is: all, "entries with the seed \(subject.seed)")
    }

    /// Demands that hints, if the engine tells any, begin with `listening` and tell each change from then on.
    public static let hints = StorageCase(name: "hints") { subject in
        guard let hints = subject.storage.hints() else { return }
        let (key, other) = (try subject.key(), try subject.key("other"))
        var iterator = hints.makeAsyncIterator()
        try expect(await iterator.next(), is: .listening, "first hint")
        _ = try await subject.write("value", key)
        _ = try await subject.write("value", other)
        _ = try await subject.storage.remove(key, if: .anything)
        for change in [SharedHint.changed(key), .changed(other), .changed(key)] {
            var hint = await iterator.next()
            while let other = hint, other != change { hint = await iterator.next() }
            try expect(hint, is: change, "hint")
        }
    }
}
