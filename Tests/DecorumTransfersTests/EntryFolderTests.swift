import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTransfers

@Suite(.timeLimit(.minutes(3))) struct EntryFolderTests {
    private let space = DownloadFolder()
    private let server = KeyedServer()

    private var outbox: Outbox { server.connection().outbox(in: space.outbox, clock: VirtualClock()) }

    private static func change(_ url: URL, _ change: (inout Data) throws -> Void) throws {
        var data = try Data(contentsOf: url)
        try change(&data)
        try data.write(to: url)
    }

    /// What is wrong with the first of two entries: with its head or its content, and the head of the other.
    private static let faults: KeyValuePairs<String, @Sendable (URL, URL, URL) throws -> Void> = [
        "damaged head": { head, _, _ in try change(head) { $0[$0.count - 20] ^= 1 } },
        "empty head": { head, _, _ in try change(head) { $0 = Data() } },
        "head of a later version": { head, _, _ in
            try change(head) { $0.replace(Data("record 1".utf8), with: Data("record 2".utf8)) }
        },
        "linked head": { head, _, _ in
            let target = head.appendingPathExtension("target")
            try FileManager.default.moveItem(at: head, to: target)
            try FileManager.default.createSymbolicLink(at: head, withDestinationURL: target)
        },
        "pipe as head": { head, _, _ in
            try FileManager.default.removeItem(at: head)
            #expect(unsafe mkfifo(head.path, 0o600) == 0)
        },
        "socket as head": { head, _, _ in
            try FileManager.default.removeItem(at: head)
            #expect(unsafe mknod(head.path, S_IFSOCK | 0o600, 0) == 0)
        },
        "damaged end, which may have been a refusal": { head, _, _ in
            try Data("nonsense".utf8).write(to: head.deletingPathExtension().appendingPathExtension("end"))
        },
        "head open to others": { head, _, _ in #expect(unsafe chmod(head.path, 0o640) == 0) },
        "head of another entry": { head, _, other in try change(head) { $0 = try Data(contentsOf: other) } },
        "head of another user": { head, _, _ in
            var record = try #require(RecordForm.decode(EntryRecord.self, from: Data(contentsOf: head)))
            record.principal = "somebody"
            try change(head) { $0 = try RecordForm.encode(record) }
        },
        "no content": { _, body, _ in try FileManager.default.removeItem(at: body) },
        "damaged content": { _, body, _ in try change(body) { $0[0] ^= 1 } },
        "longer content": { _, body, _ in try change(body) { $0.append(0) } },
        "content with two names": { _, body, _ in
            try FileManager.default.linkItem(at: body, to: body.appendingPathExtension("second"))
        },
    ]

    @Test(arguments: faults.map(\.key))
    func `A bad entry is set aside with an error, and the next of its lane is sent`(fault: String) async throws {
        let (bad, good) = (try await outbox.add("bad"), try await outbox.add("good"))
        func file(_ id: OutboxEntry.ID, _ part: String) -> URL {
            space.outbox.appending(path: "none/\(id.rawValue).\(part)")
        }
        let apply = try #require(Self.faults.first { $0.key == fault }).value
        try apply(file(bad, "request"), file(bad, "body"), file(good, "request"))

        let outbox = outbox
        outbox.start()
        #expect(await outbox.updates().ended.map(\.id) == [good] && server.executed == ["good"])
        let aside = try await outbox.asideFiles()
        #expect(aside.allSatisfy(bad.isName))
        let error = OutboxError(.setAside(try #require(aside.first)))
        await #expect(throws: error) { try await outbox.result(of: bad) }
        #expect(try await outbox.result(of: good)?.state == .finished)
        // A damaged end is told, too.
        try Data("nonsense".utf8).write(to: file(good, "end"))
        await #expect(throws: OutboxError.self) { try await outbox.result(of: good) }
        // A sign-out removes them too.
        try await outbox.sender.remove(for: nil)
        #expect(space.files.isEmpty)
    }

    @Test(arguments: ["link", "open to others", "of another user"])
    func `A folder that is not this user's alone is refused`(kind: String) async throws {
        let (files, target) = (FileManager.default, space.url.appending(path: "target"))
        let place = kind == "link" ? target : space.outbox
        try files.createDirectory(at: place, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        switch kind {
        case "link": try files.createSymbolicLink(at: space.outbox, withDestinationURL: target)
        case "open to others": #expect(unsafe chmod(space.outbox.path, 0o750) == 0)
        default:
            guard geteuid() == 0 else { try Test.cancel("Only root can give folders away.") }
            #expect(unsafe chown(space.outbox.path, 65_534, 65_534) == 0)
        }
        // With a slash at its end, a system would follow the link.
        for folder in [space.outbox, URL(filePath: space.outbox.path + "/", directoryHint: .isDirectory)] {
            let outbox = server.connection().outbox(in: folder, clock: VirtualClock())
            await #expect(throws: PrivateFileError(.notPrivate)) { try await outbox.add("one") }
            outbox.start()
            #expect(await soon { outbox.error is PrivateFileError })
            await outbox.stop()
        }
        #expect(try files.contentsOfDirectory(atPath: place.path).isEmpty)
    }

    #if os(Linux)
    @Test func `A folder that is full or cannot be written refuses a request, and keeps what it has accepted`()
        async throws
    {
        let mount = space.url.path
        guard unsafe Glibc.mount("tmpfs", mount, "tmpfs", 0, "size=128k,mode=700") == 0 else {
            try Test.cancel("Only root can mount a small disk.")
        }
        defer { unsafe umount2(mount, Int32(MNT_DETACH)) }
        let outbox = outbox
        var accepted: [String] = []
        await #expect(throws: PrivateFileError(.system(ENOSPC))) {
            while true {
                let text = "\(accepted.count) " + String(repeating: "x", count: 10_000)
                try await outbox.add(text)
                accepted.append(text)
            }
        }
        #expect(space.files.count == accepted.count * 2)

        #expect(unsafe Glibc.mount("tmpfs", mount, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
        await #expect(throws: PrivateFileError(.system(EROFS))) { try await outbox.add("one") }

        #expect(unsafe Glibc.mount("tmpfs", mount, "tmpfs", UInt(MS_REMOUNT), "size=256k") == 0)
        outbox.start()
        _ = await outbox.updates().ended
        #expect(server.executed == accepted)
    }
    #endif

    @Test func `A crash between two steps loses and repeats nothing, and foreign files are set aside`() async throws {
        let folder = EntryFolder(space.outbox, of: nil)
        /// Adds the end, as if its request was not removed yet.
        func end(_ id: OutboxEntry.ID) throws -> EntryRecord {
            var record = try #require(try folder.read(id, "request"))
            record.result = OutboxResult(state: .finished, response: HTTPResponse(status: .created), date: Date())
            try folder.files.write(RecordForm.encode(record), to: id.rawValue + ".end")
            return record
        }
        let first = try await outbox.add("one")
        // All is for this user alone.
        for path in ["", "none"] + space.files {
            let facts = try FileManager.default.attributesOfItem(atPath: space.outbox.appending(path: path).path)
            #expect(facts[.posixPermissions] as? Int == (path.contains("/") ? 0o600 : 0o700), "\(path)")
        }
        // Both make room together, so that the request is not sent again.
        var record = try end(first)
        (record.result, record.length) = (nil, 0)
        let id = try await folder.accept(record, .empty, within: OutboxLimits(count: 1))
        #expect(space.files == ["none/\(id.rawValue).request"])

        _ = try end(id)
        // The content has its name, and the head has none; files that were being written; and foreign ones.
        let orphans = ["\(OutboxEntry.ID(9, id.key).rawValue).body", ".\(id.key)", ".\(id.rawValue).request.1"]
        for name in orphans + ["nonsense.request", String(repeating: "n", count: 200) + ".body", "notes.txt"] {
            try folder.files.write(Data("x".utf8), to: name)
        }
        let outbox = outbox
        outbox.start()
        let next = try await outbox.add("two")
        #expect(await soon { server.executed == ["two"] })
        #expect(try await outbox.result(of: id)?.response?.status == .created && next.sequence > id.sequence)
        await outbox.stop()
        let names = space.files.map { $0.split(separator: ".").last }
        #expect(names == ["end", "end", "aside", "aside", "txt"])
    }
}
