import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

@Suite(.timeLimit(.minutes(5))) struct ResponseFileSpaceTests {
    let folder = StoreFolder()

    @Test func `The bytes are bounded at every moment, for all sizes`() async throws {
        let limit = 1 << 20
        let store = FileResponseStore(directory: folder.url, byteLimit: limit)
        let generator = SeededGenerator(seed: 1)
        let count = Footprint.isSoak ? 300 : 80
        for number in 0..<count {
            let length = Int(generator.next() % (number % 10 == 0 ? 262_145 : 20_000))
            await store.store(SampleResponse.response(number, length: length), for: try SampleResponse.key(number))
            #expect(folder.allocatedLength <= limit + limit / 10)
            await Task.yield()
        }
        #expect(folder.allocatedLength > limit / 2)
        #expect(await store.responses(for: try SampleResponse.key(count - 1)).count == 1)
    }

    @Test func `The least recently used responses are removed first`() async throws {
        let spawner = TrackingSpawner()
        let store = FileResponseStore(directory: folder.url, byteLimit: 1 << 20, spawner: spawner)
        for number in 0..<20 {
            await store.store(SampleResponse.response(number, length: 19_000), for: try SampleResponse.key(number))
        }
        // A listing in progress would keep older times.
        try await spawner.finished()
        for path in folder.files {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -7200)], ofItemAtPath: path)
        }
        for number in 0..<10 { #expect(await store.responses(for: try SampleResponse.key(number)).count == 1) }

        // Five of the ten unused ones have to go; surveys that overlap with writes may remove a few more than they have to.
        for number in 100..<134 {
            await store.store(SampleResponse.response(number, length: 19_000), for: try SampleResponse.key(number))
        }

        var kept: [Int] = []
        for number in 0..<20 where await !store.responses(for: try SampleResponse.key(number)).isEmpty {
            kept.append(number)
        }
        #expect(kept.prefix(10) == Array(0..<10)[...])
        #expect(kept.count < 20)
    }

    /// Unfinished files: their bytes, their age in seconds, whether a process holds them, and whether they stay.
    static let unfinished: [(count: Int, age: Double, isHeld: Bool, stays: Bool)] = [
        (100, 0, false, false), (100, 4000, true, true), (0, 0, false, true), (0, 4000, false, false),
    ]

    @Test(arguments: unfinished, [false, true])
    func `Unfinished files of an ended process are removed by a survey and by an opening, without locks after an hour`(
        file: (count: Int, age: Double, isHeld: Bool, stays: Bool), hasLocks: Bool
    ) async throws {
        let fileSystem = ProbingFileSystem()
        func store() -> FileResponseStore {
            FileResponseStore(directory: folder.url, byteLimit: 1 << 20, fileSystem: fileSystem)
        }
        let open = store()
        let url = folder.url.appending(path: "unfinished/\(String(repeating: "0a", count: 25))-1")
        if !hasLocks { fileSystem.refuse([.lock], code: ENOLCK) }
        for opens in [false, true] {
            // A survey that goes on in the background must not see the file before it is as the case has it.
            let new = folder.url.appending(path: "new")
            try Data(count: file.count).write(to: new)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -file.age)], ofItemAtPath: new.path)
            let handle = try FileHandle(forReadingFrom: new)
            if file.isHeld { #expect(flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0) }
            #expect(unsafe rename(new.path, url.path) == 0)

            if opens {
                _ = store()
            } else {
                for number in 0..<5 {
                    let key = try SampleResponse.key(number)
                    await open.store(SampleResponse.response(number, length: 20_000), for: key)
                }
            }

            #expect(FileManager.default.fileExists(atPath: url.path) == (hasLocks ? file.stays : file.age < 3600))
            try handle.close()
        }
    }

    @Test(arguments: [0, -5, 1, 4096]) func `A store without space keeps nothing on the disk`(byteLimit: Int)
        async throws
    {
        let store = FileResponseStore(directory: folder.url, byteLimit: byteLimit)
        #expect(store.bodyLimit >= 0)
        for number in 0..<10 {
            await store.store(SampleResponse.response(number, length: 10), for: try SampleResponse.key(number))
        }
        #expect(folder.allocatedLength <= max(byteLimit, 0))
    }
}

/// The removal of files that a survey has found.
@Suite(.timeLimit(.minutes(5))) struct SurveyedFileTests {
    let folder = StoreFolder()
    let fileSystem = ProbingFileSystem()

    private var directory: ResponseDirectory {
        ResponseDirectory(folder.url.resolvingSymlinksInPath().path, fileSystem: fileSystem)
    }

    private func surveyed(_ key: ResponseKey, index: Int = 0) throws -> SurveyedFile {
        let name = ResponseFileName(digest: ResponseKeyDigest(key), index: index)
        let status = try fileSystem.status(of: directory.path(of: name))
        return SurveyedFile(name: name, time: status.time, length: status.allocatedLength)
    }

    @Test func `A file that was replaced since the survey stays`() async throws {
        let store = folder.store()
        let changes = ResponseFileChanges(directory, tickets: StoreTickets())
        let (key, other) = (try SampleResponse.key(1), try SampleResponse.key(2))
        for key in [key, other] { await store.store(SampleResponse.response(1), for: key) }
        let files = [try surveyed(key), try surveyed(other)]
        await store.store(SampleResponse.response(1, version: 1), for: key)
        let path = directory.path(of: files[0].name)
        try fileSystem.setTime(of: path, to: files[0].time + 1)

        #expect(changes.remove(files, until: .max) == files[1].length)

        #expect(await store.responses(for: key).count == 1)
        #expect(await store.responses(for: other).isEmpty)
    }

    @Test func `All variants of a key are removed with its first file`() async throws {
        let store = folder.store()
        let changes = ResponseFileChanges(directory, tickets: StoreTickets())
        let (key, other) = (try SampleResponse.key(1), try SampleResponse.key(2))
        for accept in ["a", "b", "c"] { await store.store(SampleResponse.response(1, vary: accept), for: key) }
        await store.store(SampleResponse.response(2), for: other)
        #expect(changes.remove([try surveyed(key)], until: 1) > 0)
        #expect(folder.files.count == 1)
        #expect(await store.responses(for: other).count == 1)
    }
}

@Suite struct ResponseSpaceBudgetTests {
    @Test(
        arguments: [
            // Before the first survey, one is made soon; each process then has a hundredth of the limit, or a sixteenth of
            // the rest.
            (found: nil, written: [10], expected: [.soon]),
            (found: nil, written: [10, 10], expected: [.soon, .none]),
            (found: nil, written: [10, 1000], expected: [.soon, .none]),
            (found: nil, written: [10, 2000], expected: [.soon, .now]),
            (found: 100_000, written: [1000, 1], expected: [.none, .soon]),
            (found: 100_000, written: [1001, 999, 1], expected: [.soon, .none, .now]),
            (found: 20_000, written: [5000, 1, 5000], expected: [.none, .soon, .now]),
            (found: 0, written: [6250], expected: [.none]), (found: 0, written: [6251], expected: [.soon]),
            (found: 0, written: [12_501], expected: [.now]), (found: 0, written: [100_000], expected: [.now]),
            (found: 0, written: [100_001, 10], expected: [.out, .none]),
        ] as [(found: Int?, written: [Int], expected: [ResponseSpaceBudget.Urgency])])
    func `A write needs room now, soon, or not, or does not fit`(
        found: Int?, written: [Int], expected: [ResponseSpaceBudget.Urgency]
    ) {
        var budget = ResponseSpaceBudget(limit: 100_000)
        if let found {
            let before = budget.beginSurvey()
            let fits = budget.endSurvey(found: found, before: before, room: 0)
            #expect(fits)
        }
        var urgencies: [ResponseSpaceBudget.Urgency] = []
        for count in written { urgencies.append(budget.write(count)) }
        #expect(urgencies == expected)
    }

    @Test(
        arguments: [(0, 0, nil), (98_000, 1000, nil), (98_001, 1000, 95_000), (100_000, 0, 96_000)]
            as [(
                Int, Int, Int?
            )])
    func `A survey removes files down to four hundredths below the limit`(found: Int, room: Int, target: Int?) {
        let budget = ResponseSpaceBudget(limit: 100_000)
        #expect(budget.target(found: found, room: room) == target)
    }

    @Test func `Bytes that are written during a survey count after it`() {
        var budget = ResponseSpaceBudget(limit: 100_000)
        _ = budget.write(500)
        let before = budget.beginSurvey()
        _ = budget.write(700)
        let fits = budget.endSurvey(found: 99_000, before: before, room: 100)
        #expect(fits)
        #expect(budget.written == 800)
        #expect(budget.found == 99_000)
        let fitsMore = budget.endSurvey(found: 99_950, before: 0, room: 100)
        #expect(!fitsMore)
    }

    @Test func `A write that waited for the survey of another is counted, if it fits`() {
        var budget = ResponseSpaceBudget(limit: 100_000)
        let fitsUnmeasured = budget.fitsNow(10)
        _ = budget.write(3000)
        _ = budget.endSurvey(found: 96_000, before: budget.beginSurvey(), room: 1000)
        let fits = [500, 500, 1].map { budget.fitsNow($0) }
        #expect(!fitsUnmeasured)
        #expect(fits == [true, true, false])
        #expect(budget.written == 2000)
    }

    @Test func `Bodies that are being received take at most half of the limit`() {
        var budget = ResponseSpaceBudget(limit: 1000)
        var admitted = [300, 200, 1].map { budget.admit($0) }
        budget.release(300)
        admitted.append(budget.admit(300))
        #expect(admitted == [true, true, false, true])
        #expect(budget.incoming == 500)
        var empty = ResponseSpaceBudget(limit: 0)
        let isAdmitted = empty.admit(1)
        #expect(!isAdmitted)
    }
}
