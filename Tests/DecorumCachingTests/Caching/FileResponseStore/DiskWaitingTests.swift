import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import Decorum

/// A disk that does not answer: only the threads of the store wait for it.
@Suite(.timeLimit(.minutes(5))) struct DiskWaitingTests {
    let folder = StoreFolder()
    let fileSystem = ProbingFileSystem()

    private func store() -> FileResponseStore {
        FileResponseStore(directory: folder.url, byteLimit: 1 << 20, fileSystem: fileSystem)
    }

    @Test func `Unrelated tasks go on while the disk does not answer`() async throws {
        let store = store()
        for number in 0..<20 {
            await store.store(SampleResponse.response(number, length: 100_000), for: try SampleResponse.key(number))
        }
        let open = try #require(await store.responses(for: try SampleResponse.key(19)).first)
        let writer = await store.writer(for: SampleResponse.response(50, body: .empty), key: try SampleResponse.key(50))
        fileSystem.forget()
        fileSystem.gate.close()
        defer { fileSystem.gate.open() }

        let count = 4 * ProcessInfo.processInfo.activeProcessorCount
        let ended = EndedCount()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                let key = try SampleResponse.key(number)
                let operations: [@Sendable () async -> Void] = [
                    { _ = await store.responses(for: key) },
                    { await store.store(SampleResponse.response(number, length: 200_000), for: key) },
                    { await store.removeResponses(for: key) },
                    { await store.removeResponses(of: Principal("\(number)")) },
                    { _ = try? await open.body.data(upTo: 1 << 20) },
                    {
                        await store.refresh(
                            open, with: SampleResponse.confirmed(open, 1), for: key, with: store.ticket(for: key))
                    },
                ]
                for operation in operations {
                    group.addTask {
                        await operation()
                        ended.value.withLock { $0 += 1 }
                    }
                }
            }
            group.addTask {
                _ = await writer?.write(Data(count: 200_000))
                await writer?.finish()
            }
            // Bounded by the gate, which gives up after two minutes.
            while fileSystem.gate.waitingCount == 0, !fileSystem.gate.hasGivenUp { await Task.yield() }
            for _ in 0..<1000 {
                let unrelated = Task { 1 }
                #expect(await unrelated.value == 1)
            }
            #expect(fileSystem.gate.waitingCount > 0)
            #expect(fileSystem.gate.waitingCount <= 3)
            let endedCount = ended.value.withLock { $0 }
            #expect(endedCount == 0)
            fileSystem.gate.open()
            try await group.waitForAll()
        }
        #expect(!fileSystem.gate.hasGivenUp)
    }

    @Test func `A hit whose file is in memory does not wait for a disk that is busy`() async throws {
        let store = store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1), for: key)
        _ = await store.responses(for: key)
        #if os(Linux)
        fileSystem.gate.close()
        defer { fileSystem.gate.open() }
        #expect(await store.responses(for: key).count == 1)
        #expect(!fileSystem.gate.hasGivenUp)
        #endif
    }

    @Test func `The number of open files is bounded`() async throws {
        let store = store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1, length: 150_000), for: key)
        var held: [StoredResponse] = []
        for _ in 0..<ResponseFiles.openLimit + 10 { held += await store.responses(for: key) }
        #expect(held.count == ResponseFiles.openLimit)
        #expect(await SampleResponse.isRight(try #require(held.last), 1))
        held = []
        // Files are closed on the thread that reads, before it looks for the next response.
        fileSystem.forget()
        #expect(await store.responses(for: key).count == 1)
    }
}

private final class EndedCount: Sendable {
    let value = Mutex(0)
}
