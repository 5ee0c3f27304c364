import Decorum
import DecorumTesting
import Testing

/// The public test suite for HTTP caches, run within the process and on virtual time.
@Suite(.enabled(if: CacheCase.file != nil, "no cases beside the checkout"), .timeLimit(.minutes(3)))
struct CacheSuiteTests {
    enum Store: CaseIterable { case memory, files }

    @Test(arguments: Store.allCases)
    func `Every required case and every optimal case passes`(in store: Store) async throws {
        var folders: [StoreFolder] = []
        defer { withExtendedLifetime(folders) {} }
        let verdicts = try await Self.verdicts {
            guard store == .files else { return MemoryResponseStore() as any ResponseStore }
            let folder = StoreFolder()
            folders.append(folder)
            return folder.store()
        }
        Self.expectDemanded(verdicts)
        if store == .memory { Self.report(verdicts) }
    }

    @Test(arguments: Store.allCases)
    func `Every required case and every optimal case passes with 25 at once, three times`(
        in store: Store
    ) async throws {
        let folder = StoreFolder()
        let cases =
            switch store {
            case .memory: CacheCasesAtOnce(CacheCase.all, throughCacheIn: MemoryResponseStore())
            case .files: CacheCasesAtOnce(CacheCase.all, throughCacheIn: folder.store())
            }

        for round in 1...3 {
            Self.expectDemanded(try await cases.verdicts(seed: UInt64(round)), "round \(round), ")
            // Otherwise the cases would not be in each other's way, and the test would show nothing.
            #expect(cases.largestUnderWay > 10)
        }
    }

    private static func expectDemanded(_ verdicts: [String: CacheCaseRun.Verdict], _ remark: String = "") {
        let demanded = CacheCase.all.filter { $0.kind != .check }
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
        in makeStore: () -> any ResponseStore
    ) async throws -> [String: CacheCaseRun.Verdict] {
        let sharedStore = makeStore()
        var verdicts: [String: CacheCaseRun.Verdict] = [:]
        for test in CacheCase.all {
            let store = test.ownClient ? makeStore() : sharedStore
            verdicts[test.id] = try await CacheCaseRun(test: test).verdict(throughCacheIn: store)
        }
        return verdicts
    }

    /// Prints the results of the cases that only check for optional behaviour.
    private static func report(_ verdicts: [String: CacheCaseRun.Verdict]) {
        for test in CacheCase.all where test.kind == .check {
            print("\(test.id): \(verdicts[test.id].map { "\($0)" } ?? "not run")")
        }
    }
}
