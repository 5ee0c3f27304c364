import Decorum
import DecorumTesting
import Synchronization
import Testing

/// Test suites for HTTP caches, run within the process and on virtual time.
@Suite(.timeLimit(.minutes(10))) struct CacheSuiteTests {
    enum Store: CaseIterable { case memory, files }

    @Test func `No cache at all fails the cases about reuse, and one that keeps everything those about the origin`()
        async throws
    {
        var failures = [0, 0]
        for test in try CacheCaseFile.own.cases() where test.kind != .check {
            for keepsAll in [false, true] {
                let run = CacheCaseRun(test: test)
                let origin = run.origin
                let kept = Mutex<[String: Response]>([:])
                let connection = ClosureConnection { request in
                    let place = request.head.path ?? ""
                    if keepsAll, let response = kept.withLock({ $0[place] }) { return response }
                    let response = try await origin.answer(request)
                    kept.withLock { $0[place] = response }
                    return response
                }
                if try await run.verdict(through: connection, from: origin) != .passed {
                    failures[keepsAll ? 1 : 0] += 1
                }
            }
        }
        #expect(failures[0] > 120)
        #expect(failures[1] > 120)
    }

    @Test(arguments: CacheCaseFile.present, Store.allCases)
    func `Every required case and every optimal case passes`(of file: CacheCaseFile, in store: Store) async throws {
        let cases = try file.cases()
        var folders: [StoreFolder] = []
        defer { withExtendedLifetime(folders) {} }
        let verdicts = try await Self.verdicts(of: cases) {
            guard store == .files else { return MemoryResponseStore() }
            let folder = StoreFolder()
            folders.append(folder)
            return folder.store()
        }
        Self.expectDemanded(cases, verdicts)
        if store == .memory { Self.report(cases, verdicts) }
    }

    @Test(arguments: CacheCaseFile.present, Store.allCases)
    func `Every required case and every optimal case passes with 25 at once, three times`(
        of file: CacheCaseFile, in store: Store
    ) async throws {
        let folder = StoreFolder()
        let cases = try file.cases()
        let atOnce =
            switch store {
            case .memory: CacheCasesAtOnce(cases, throughCacheIn: MemoryResponseStore())
            case .files: CacheCasesAtOnce(cases, throughCacheIn: folder.store())
            }

        for round in 1...3 {
            Self.expectDemanded(cases, try await atOnce.verdicts(seed: UInt64(round)), "round \(round), ")
            // Otherwise the cases would not be in each other's way, and the test would show nothing.
            #expect(atOnce.largestUnderWay > 10)
        }
    }

    private static func expectDemanded(
        _ cases: [CacheCase], _ verdicts: [String: CacheCaseRun.Verdict], _ remark: String = ""
    ) {
        let demanded = cases.filter { $0.kind != .check }
        #expect(!demanded.isEmpty)
        for test in demanded {
            let verdict = verdicts[test.id] ?? .void("not run")
            #expect(verdict == .passed, "\(remark)\(test.kind) \(test.id): \(verdict)")
            for dependency in test.dependsOn {
                let verdict = verdicts[dependency] ?? .void("not run")
                #expect(verdict == .passed, "\(remark)\(test.id) depends on \(dependency): \(verdict)")
            }
        }
    }

    /// Runs all cases; cases that do not need a separate cache share one.
    private static func verdicts(
        of cases: [CacheCase], in makeStore: () -> any ResponseStore
    ) async throws -> [String: CacheCaseRun.Verdict] {
        let sharedStore = makeStore()
        var verdicts: [String: CacheCaseRun.Verdict] = [:]
        for test in cases {
            let store = test.ownClient ? makeStore() : sharedStore
            verdicts[test.id] = try await CacheCaseRun(test: test).verdict(throughCacheIn: store)
        }
        return verdicts
    }

    /// Prints the results of the cases that only check for optional behaviour.
    private static func report(_ cases: [CacheCase], _ verdicts: [String: CacheCaseRun.Verdict]) {
        for test in cases where test.kind == .check {
            print("\(test.id): \(verdicts[test.id].map { "\($0)" } ?? "not run")")
        }
    }
}
