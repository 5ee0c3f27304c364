import DecorumTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// `DECORUM_SOAK=1` in the environment selects the long form, which tests every prefix.
@Suite(.timeLimit(.minutes(5))) struct FileResponseStoreCrashTests {
    let folder = StoreFolder()

    private func store(_ fileSystem: some FileSystem) -> FileResponseStore {
        FileResponseStore(directory: folder.url, byteLimit: 1 << 20, fileSystem: fileSystem)
    }

    /// Performs every operation of a store, with few keys, so that many responses are replaced.
    private func use(_ store: FileResponseStore) async throws {
        for step in 0..<12 {
            let key = try SampleResponse.key(step % 3)
            let length = [100, 70_000, 160_000][step % 3]
            let response = SampleResponse.response(step % 3, version: step, length: length)
            await store.store(response, for: key)
            if let found = await store.responses(for: key).first {
                let confirmed = SampleResponse.confirmed(found, step + 1)
                if step % 4 == 0 { await store.store(confirmed, for: key) }
                await store.refresh(found, with: confirmed, for: key, with: store.ticket(for: key))
                if let again = await store.responses(for: key).first, step % 3 == 0 {
                    let confirmed = SampleResponse.confirmed(again, step + 20)
                    await store.refresh(again, with: confirmed, for: key, with: store.ticket(for: key))
                }
            }
            let number = 3 + step % 2
            let streamed = SampleResponse.response(
                number, version: step, length: 130_000, vary: "\(step)", body: .empty)
            let writer = await store.writer(for: streamed, key: try SampleResponse.key(number))
            let content = SampleResponse.content(number, step, 130_000)
            _ = await writer?.write(content.prefix(99_000))
            guard step % 3 > 0 else { continue }
            _ = await writer?.write(content.dropFirst(99_000))
            await writer?.finish()
            if step % 5 == 0 { await store.removeResponses(at: try SampleResponse.key(number).uri) }
        }
    }

    /// Expects each response that is found in a directory to be correct, and returns their number.
    @discardableResult private func expectRightResponses(in url: URL) async throws -> Int {
        let store = FileResponseStore(directory: url)
        var count = 0
        for number in 0..<5 {
            for response in await store.responses(for: try SampleResponse.key(number)) {
                #expect(await SampleResponse.isRight(response, number))
                count += 1
            }
        }
        return count
    }

    @Test func `After each prefix of the changes to the disk, every found response is correct`() async throws {
        let fileSystem = ProbingFileSystem()
        try await use(store(fileSystem))
        let changes = fileSystem.changes
        #expect(changes.count > 60)
        #expect(try await expectRightResponses(in: folder.url) > 3)

        let copy = StoreFolder()
        try FileManager.default.createDirectory(at: copy.url, withIntermediateDirectories: false)
        for (index, change) in changes.enumerated() {
            guard Footprint.isSoak || index % 4 == 0 || index == changes.count - 1 else {
                try change.replay(from: folder.url, to: copy.url)
                continue
            }
            var counts: [Int?] = [nil]
            if case .write(_, _, let data) = change {
                let torn = [1, 20, 56, 64, 100, data.count / 2, data.count - 1]
                counts += torn.filter { $0 < data.count }
            }
            for count in counts {
                // In another copy, since a store removes what it finds damaged or unfinished.
                let opened = StoreFolder()
                try FileManager.default.copyItem(at: copy.url, to: opened.url)
                try change.replay(from: folder.url, to: opened.url, count: count)
                try await expectRightResponses(in: opened.url)
            }
            try change.replay(from: folder.url, to: copy.url)
            await Task.yield()
        }
        #expect(try await expectRightResponses(in: copy.url) == expectRightResponses(in: folder.url))
    }

    @Test(arguments: [0, 56, 200]) func `Files that were moved but not written at a power loss are not found`(
        writtenCount: Int
    ) async throws {
        let fileSystem = ProbingFileSystem()
        try await use(store(fileSystem))

        let copy = StoreFolder()
        for change in fileSystem.changes {
            if case .write(_, let offset, let data) = change {
                // The file has its length, but zeros instead of most bytes.
                let zeros = data.prefix(offset == 0 ? writtenCount : 0) + Data(count: data.count)
                let written: ProbingFileSystem.Change = change.with(zeros.prefix(data.count))
                try written.replay(from: folder.url, to: copy.url)
            } else {
                try change.replay(from: folder.url, to: copy.url)
            }
        }
        #expect(try await expectRightResponses(in: copy.url) == 0)
    }

    @Test(arguments: [ENOSPC, EMFILE, EIO, EACCES, EROFS])
    func `If any call fails, nothing is thrown and every found response is correct`(code: Int32) async throws {
        let step = Footprint.isSoak ? 7 : 37
        for count in stride(from: Int(code) % step, to: 150, by: step) {
            let fileSystem = ProbingFileSystem(failingAfter: count, code: code)
            let store = store(fileSystem)
            try await use(store)
            for number in 0..<5 {
                #expect(await store.responses(for: try SampleResponse.key(number)).isEmpty)
            }
            try await expectRightResponses(in: folder.url)
            if count % 5 == 0 { await FileResponseStore(directory: folder.url).removeAllResponses() }
            await Task.yield()
        }
    }
}

extension ProbingFileSystem.Change {
    /// The same write with other bytes.
    fileprivate func with(_ data: Data) -> Self {
        guard case .write(let path, let offset, _) = self else { return self }
        return .write(path, offset, data)
    }
}
