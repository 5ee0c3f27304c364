import Decorum
import DecorumTesting
import Foundation
import Synchronization
import Testing

/// A small file for one user, which is replaced as a whole.
@Suite(.timeLimit(.minutes(1))) struct PrivateFileTests {
    private let folder = FileManager.default.temporaryDirectory.appending(
        path: "private-\(UInt64.random(in: 0 ... .max))")

    @Test func `Content is written whole, for the user alone, and read up to a limit`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = PrivateFile(folder.appending(path: "a/b.txt"))
        #expect(try file.contents(upTo: 10) == nil)
        for size in [0, 1, 200_000, 5] {
            let data = Data(repeating: 7, count: size)
            try file.replace(with: data)
            #expect(try file.contents(upTo: 200_000) == data)
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: file.url.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let error = #expect(throws: PrivateFileError.self) { try file.contents(upTo: 4) }
        #expect(error?.reason == .tooLarge)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "a").path) == ["b.txt"])
    }

    @Test func `A directory in the place of the file is neither read nor replaced`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let place = folder.appending(path: "taken")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let file = PrivateFile(place)
        let error = #expect(throws: PrivateFileError.self) { try file.contents(upTo: 10) }
        #expect(error?.reason == .notPrivate)
        #expect(throws: PrivateFileError.self) { try file.replace(with: Data()) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["taken"])
    }

    @Test func `Content that an ended process has left is removed, and that of a living one stays`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = PrivateFile(folder.appending(path: "a.json"))
        let others = [".a.json.x", ".b.json.7", ".a.json.7.8"]
        func names() throws -> Set<String> { Set(try FileManager.default.contentsOfDirectory(atPath: folder.path)) }
        func plant(_ names: [String]) throws {
            for name in names { try Data("secret".utf8).write(to: folder.appending(path: name)) }
        }
        try file.replace(with: Data("1".utf8))
        try plant(others + [".a.json.1", ".a.json.2"])
        let writing = try FileHandle(forReadingFrom: folder.appending(path: ".a.json.1"))
        #expect(flock(writing.fileDescriptor, LOCK_EX | LOCK_NB) == 0)

        #expect(try file.contents(upTo: 1) == Data("1".utf8))
        #expect(try names() == Set(others + ["a.json", ".a.json.1"]))
        try plant([".a.json.2"])
        try file.replace(with: Data("2".utf8))
        #expect(try names() == Set(others + ["a.json", ".a.json.1"]))

        try writing.close()
        #expect(try file.contents(upTo: 1) == Data("2".utf8))
        #expect(try names() == Set(others + ["a.json"]))
    }

    @Test func `Content that another writes at the same time stays until it is in its place`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appending(path: "shared")
        try await withThrowingTaskGroup { group in
            for number in UInt8(0)..<4 {
                group.addTask { for _ in 0..<300 { try PrivateFile(url).replace(with: Data([number])) } }
            }
            try await group.waitForAll()
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["shared"])
    }

    private final class Count: Sendable {
        let value = Atomic(0)
    }

    @Test func `Many changes at the same time end with the last content`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = PrivateFile(folder.appending(path: "count"))
        let count = Count()
        await withTaskGroup { group in
            for _ in 0..<200 {
                group.addTask {
                    count.value.add(1, ordering: .sequentiallyConsistent)
                    file.update { Data("\(count.value.load(ordering: .sequentiallyConsistent))".utf8) }
                }
            }
        }
        await file.waitUntilWritten()
        #expect(try file.contents(upTo: 10) == Data("200".utf8) && file.error == nil)
    }

    @Test func `An error of writing is told of until a writing succeeds`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let place = folder.appending(path: "late")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data().write(to: place)
        let file = PrivateFile(place.appending(path: "file"))
        file.update { Data("x".utf8) }
        await file.waitUntilWritten()
        #expect(file.error?.shortDescription == "system")

        try FileManager.default.removeItem(at: place)
        file.update { Data("y".utf8) }
        await file.waitUntilWritten()
        #expect(try file.error == nil && file.contents(upTo: 1) == Data("y".utf8))
    }
}
