import DecorumTesting
import Foundation
import Testing

@testable import DecorumAuthentication

@Suite(.timeLimit(.minutes(3))) struct FileTokenStoreTests {
    private let folder = TokenFolder()

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func reason(_ work: () async throws -> Void) async throws -> TokenStoreError.Reason? {
        try await #require(throws: TokenStoreError.self) { try await work() }.reason
    }

    @Test func `The directory and all files are the user's alone`() async throws {
        let directory = folder.url.appending(path: "new")
        let store = try FileTokenStore(directory: directory)
        #expect(try await store.replace(nil, with: Token("a")))
        try await store.exclusively {}
        #expect(try mode(directory.path) == 0o700)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        #expect(names == ["token", "token.lock", "token.refresh"])
        for name in names { #expect(try mode(directory.appending(path: name).path) == 0o600) }
    }

    @Test(arguments: [Duration(attoseconds: .max), Duration(attoseconds: .min)])
    func `A wait for the lock may have any length`(duration: Duration) async throws {
        let clock = VirtualClock()
        let store = try FileTokenStore(
            directory: folder.url, refreshWait: duration, clock: clock)
        try await store.exclusively {}
    }

    @Test func `A directory that others can reach is refused, also later`() async throws {
        let store = try FileTokenStore(directory: folder.url)
        for mode in [0o755, 0o710, 0o701, 0o770] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.url.path)
            #expect(try await reason { _ = try FileTokenStore(directory: folder.url) } == .isReadableByOthers)
            #expect(try await reason { _ = try await store.token() } == .isReadableByOthers)
            #expect(try await reason { _ = try await store.replace(nil, with: Token("a")) } == .isReadableByOthers)
        }
    }

    @Test func `Links and files in the place of the directory are refused`() async throws {
        let link = folder.url.appending(path: "link")
        let file = folder.url.appending(path: "file")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder.url)
        try Data().write(to: file)
        for url in [link, file] {
            #expect(try await reason { _ = try FileTokenStore(directory: url) } == .isNoDirectory)
        }
    }

    @Test(.enabled(if: getuid() == 0, "only the superuser can give a directory to another user"))
    func `A directory of another user is refused`() async throws {
        let other = folder.url.appending(path: "other")
        try FileManager.default.createDirectory(
            at: other, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try FileManager.default.setAttributes([.ownerAccountID: 65534], ofItemAtPath: other.path)
        #expect(try await reason { _ = try FileTokenStore(directory: other) } == .isOfAnotherUser)
    }

    @Test func `A link or a readable file in the place of the token is refused`() async throws {
        let store = try FileTokenStore(directory: folder.url)
        let file = folder.url.appending(path: "token")
        try Data("{}".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
        #expect(try await reason { _ = try await store.token() } == .unsafeFile)
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createSymbolicLink(at: file, withDestinationURL: URL(filePath: "/etc/passwd"))
        #expect(try await reason { _ = try await store.token() } == .unsafeFile)
    }

    @Test(arguments: ["", ".", "..", "a/b", ".hidden", "a b", "ä", "token.new", "token.lock"])
    func `A name that leads elsewhere is refused`(name: String) async throws {
        #expect(try await reason { _ = try FileTokenStore(directory: folder.url, name: name) } == .invalidName)
    }

    @Test func `Names that differ in case only have tokens of their own`() async throws {
        for name in ["user", "User", "USER"] {
            let store = try FileTokenStore(directory: folder.url, name: name)
            #expect(try await store.replace(nil, with: Token(name)))
        }
        for name in ["user", "User", "USER"] {
            #expect(try await FileTokenStore(directory: folder.url, name: name).token()?.accessToken == name)
        }
    }

    @Test func `A damaged file is an error, and signing in replaces it`() async throws {
        let store = try FileTokenStore(directory: folder.url)
        let file = folder.url.appending(path: "token")
        for content in ["", "{", "null", String(repeating: "x", count: Token.storedFormLimit + 10)] {
            try Data(content.utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            await #expect(throws: InvalidTokenError.self) { try await store.token() }
        }
        #expect(try await store.replace(nil, with: Token("a")))
        #expect(try await store.token()?.accessToken == "a")
    }

    @Test func `A write that another process left unfinished is removed by the next one, a removal and an opening`()
        async throws
    {
        let store = try FileTokenStore(directory: folder.url)
        let unfinished = folder.url.appending(path: "token.new")
        func isThere() -> Bool { FileManager.default.fileExists(atPath: unfinished.path) }
        try Data("half".utf8).write(to: unfinished)
        #expect(try await store.token() == nil)
        #expect(try await store.replace(nil, with: Token("a")))
        #expect(try await store.token()?.accessToken == "a" && !isThere())

        try Data("half".utf8).write(to: unfinished)
        #expect(try await store.replace(store.token(), with: nil))
        #expect(!isThere())

        // A process that still writes has the lock of changes.
        try Data("half".utf8).write(to: unfinished)
        let lock = try FileHandle(forReadingFrom: folder.url.appending(path: "token.lock"))
        #expect(flock(lock.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
        _ = try FileTokenStore(directory: folder.url)
        #expect(isThere())
        try lock.close()
        _ = try FileTokenStore(directory: folder.url)
        #expect(!isThere())
    }

    @Test func `The wait for another process has an end`() async throws {
        let clock = VirtualClock()
        let store = try FileTokenStore(directory: folder.url, refreshWait: .seconds(2), clock: clock)
        let other = try FileTokenStore(directory: folder.url)
        let gate = Gate()
        async let work: Void = other.exclusively { try await gate.wait() }
        try await gate.waitForWaiting(1)
        let waiting = Task { try await store.exclusively {} }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(3))
        #expect(try await reason { try await waiting.value } == .isLocked)
        gate.open()
        try await work
        try await store.exclusively {}
    }

    @Test(arguments: [false, true])
    func `A change, and a removal between two looks, are found where the system does not tell them`(
        isRemoved: Bool
    ) async throws {
        let clock = VirtualClock()
        let store = try FileTokenStore(directory: folder.url, clock: clock)
        // A directory that is not there cannot be watched.
        try FileManager.default.removeItem(at: folder.url)
        var changes = store.changes().makeAsyncIterator()
        try await clock.waitForSleepers()
        let other = try FileTokenStore(directory: folder.url)
        let token = try Token("a")
        #expect(try await (isRemoved ? store : other).replace(nil, with: token))
        if isRemoved { #expect(try await other.replace(token, with: nil)) }
        clock.advance(by: .seconds(1))
        #expect(await changes.next() == .some(isRemoved ? nil : token))
    }

    @Test func `Changes are found after the directory was removed and made anew`() async throws {
        let clock = VirtualClock()
        let store = try FileTokenStore(directory: folder.url, clock: clock)
        var changes = store.changes().makeAsyncIterator()
        #expect(try await store.replace(nil, with: Token("a")))
        #expect(await changes.next()??.accessToken == "a")
        try FileManager.default.removeItem(at: folder.url)
        #expect(await changes.next() == .some(nil))
        try await clock.waitForSleepers()
        let other = try FileTokenStore(directory: folder.url)
        #expect(try await other.replace(nil, with: Token("b")))
        clock.advance(by: .seconds(1))
        #expect(await changes.next()??.accessToken == "b")
    }
}
