#if os(macOS) || os(Linux)
import Decorum
import DecorumTestSupport
import Foundation
import HTTPTypes
import Testing

extension ProcessTests {
    /// Several processes on one directory, and processes that are killed.
    ///
    /// `DECORUM_SOAK=1` in the environment selects the long form.
    @Suite(.timeLimit(.minutes(30))) struct FileResponseStoreProcessTests {
        let folder = StoreFolder()
        static let limit = 4 << 20
        static let keyCount = 120

        /// Performs a random operation on a store, and throws if a found response is incorrect.
        static func use(_ store: FileResponseStore, _ generator: SeededGenerator) async throws {
            let number = Int(generator.next() % UInt64(keyCount))
            let key = try SampleResponse.key(number, principal: "\(number % 3)")
            let length = Int(generator.next() % (generator.next() % 8 == 0 ? 300_000 : 20_000))
            let version = Int(generator.next() % 1000)
            switch generator.next() % 32 {
            case 0: await store.removeResponses(for: key)
            case 1: await store.removeResponses(at: key.uri)
            case 2 where number == 0: await store.removeResponses(of: Principal("1"))
            case 3..<8:
                let response = SampleResponse.response(number, version: version, length: length, body: .empty)
                guard let writer = await store.writer(for: response, key: key) else { return }
                let content = SampleResponse.content(number, version, length)
                _ = await writer.write(content.prefix(length / 2))
                guard await writer.write(content.dropFirst(length / 2)) else { return }
                await writer.finish()
            case 8..<16:
                let response = SampleResponse.response(number, version: version, length: length, vary: "\(version % 2)")
                await store.store(response, for: key)
            default:
                for response in await store.responses(for: key) {
                    guard await SampleResponse.isRight(response, number) else { throw WrongResponseError() }
                    if version % 8 == 0 { await store.store(response, for: key) }
                    guard version % 8 < 3 else { continue }
                    let confirmed = SampleResponse.confirmed(response, version % 8)
                    await store.refresh(response, with: confirmed, for: key, with: store.ticket(for: key))
                }
            }
        }

        @Test func `A process may be killed at any moment`() async throws {
            let path = folder.url.path
            for seed in 0..<(Footprint.isSoak ? 200 : 10) {
                await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, seed = seed as Int] in
                    ProcessTests.begin()
                    let store = FileResponseStore(
                        directory: URL(filePath: path), byteLimit: FileResponseStoreProcessTests.limit)
                    let generator = SeededGenerator(seed: UInt64(seed))
                    Thread.detachNewThread {
                        usleep(useconds_t(1000 + SeededGenerator(seed: UInt64(seed)).next() % 100_000))
                        kill(getpid(), SIGKILL)
                    }
                    while true { try await FileResponseStoreProcessTests.use(store, generator) }
                }
                let store = FileResponseStore(directory: folder.url, byteLimit: Self.limit)
                for number in 0..<Self.keyCount {
                    let key = try SampleResponse.key(number, principal: "\(number % 3)")
                    for response in await store.responses(for: key) {
                        #expect(await SampleResponse.isRight(response, number))
                    }
                }
                #expect(folder.allocatedLength <= Self.limit + Self.limit / 10)
                // The lock of a process that was killed does not stay.
                let key = try SampleResponse.key(seed, principal: "after")
                await store.store(SampleResponse.response(seed, version: seed), for: key)
                #expect(await store.responses(for: key).count == 1)
            }
            #expect(!folder.files.isEmpty)
        }

        @Test(arguments: [10, 200_000]) func `A removal in another process withdraws what is under way`(
            length: Int
        ) async throws {
            let store = FileResponseStore(directory: folder.url)
            let key = try SampleResponse.key(1, principal: "a")
            let secretKey = try SampleResponse.key(1, principal: "a", fields: [.authorization: "Bearer hunter2"])
            await store.store(SampleResponse.response(1), for: secretKey)
            #expect(await store.responses(for: secretKey).count == 1)
            let writer = try #require(await store.writer(for: SampleResponse.response(1, body: .empty), key: key))
            #expect(await writer.write(Data(count: length)))

            let path = folder.url.path
            await #expect(processExitsWith: .success) { [path = path as String] in
                ProcessTests.begin()
                await FileResponseStore(directory: URL(filePath: path)).removeResponses(of: Principal("a"))
            }

            await writer.finish()
            #expect(await store.responses(for: key).isEmpty)
            #expect(await store.responses(for: secretKey).isEmpty)
        }

        /// The names of the files that are not whole.
        private var unfinished: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: folder.url.path + "/unfinished") }
        }

        @Test(arguments: ["opening", "principal", "all"])
        func `A body that a killed process has left is removed, and one that is being written stays`(
            by removal: String
        ) async throws {
            let store = FileResponseStore(directory: folder.url)
            let response = SampleResponse.response(2, length: 200_000, body: .empty)
            let key = try SampleResponse.key(2, principal: "b")
            let writer = try #require(await store.writer(for: response, key: key))
            #expect(await writer.write(SampleResponse.content(2, 0, 200_000)))
            let path = folder.url.path
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                ProcessTests.begin()
                let key = try SampleResponse.key(1, principal: "a")
                let store = FileResponseStore(directory: URL(filePath: path))
                let writer = await store.writer(for: SampleResponse.response(1, body: .empty), key: key)
                guard let writer, await writer.write(Data(count: 200_000)) else { return }
                kill(getpid(), SIGKILL)
            }
            #expect(try unfinished.count == 2)

            switch removal {
            case "opening": _ = FileResponseStore(directory: folder.url)
            case "principal": await store.removeResponses(of: Principal("a"))
            default: await store.removeAllResponses()
            }

            #expect(try unfinished.count == (removal == "all" ? 0 : 1))
            #expect(await writer.finish() == (removal != "all"))
            #expect(await store.responses(for: key).count == (removal == "all" ? 0 : 1))
            #expect(try unfinished.isEmpty)
        }

        @Test func `Four processes share a directory and keep its bounds`() async throws {
            let sampling = Task { [folder] in
                var largest = 0
                while !Task.isCancelled {
                    largest = max(largest, folder.allocatedLength)
                    await Task.yield()
                }
                return largest
            }
            let count = Footprint.isSoak ? 10_000 : 300
            async let first: Void = expectUse(seed: 1, count)
            async let second: Void = expectUse(seed: 2, count)
            async let third: Void = expectUse(seed: 3, count)
            async let fourth: Void = expectUse(seed: 4, count)
            _ = await (first, second, third, fourth)
            sampling.cancel()

            let largest = await sampling.value
            #expect(largest > Self.limit / 4)
            #expect(largest <= Self.limit + Self.limit / 10)
        }

        private func expectUse(seed: Int, _ count: Int) async {
            let path = folder.url.path
            await #expect(processExitsWith: .success) { [path = path as String, seed, count] in
                ProcessTests.begin()
                let store = FileResponseStore(
                    directory: URL(filePath: path), byteLimit: FileResponseStoreProcessTests.limit)
                let generator = SeededGenerator(seed: UInt64(seed))
                for _ in 0..<count { try await FileResponseStoreProcessTests.use(store, generator) }
            }
        }
    }
}

private struct WrongResponseError: Error {}
#endif
