import DecorumConformance
import DecorumSharedStorage
import DecorumTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct StorageListings {
    @Test(arguments: StorageCase.all)
    func storageRule(_ rule: StorageCase) async throws {
        let clock = VirtualClock()
        try await rule.check(passing: clock.advance) { MemorySharedStorage(clock: clock) }
    }

    private static func faults() -> some SharedStorage {
        let storage = FaultyStorage(MemorySharedStorage()) { .sometimes(.lostAnswer, .partition) }
        return storage
    }
}
