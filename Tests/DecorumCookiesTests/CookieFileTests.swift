import DecorumCookies
import DecorumTesting
import Foundation
import Testing

/// The file of a jar.
@Suite(.timeLimit(.minutes(2))) struct CookieFileTests {
    private let folder = FileManager.default.temporaryDirectory.appending(
        path: "cookies-\(UInt64.random(in: 0 ... .max))")
    private let clock = VirtualClock()

    private var file: URL { folder.appending(path: "jar/cookies.json") }

    private func jar(of principal: Principal? = nil, session: Bool = false) -> CookieJar {
        CookieJar(
            file: PrivateFile(file), of: principal, keepingSessionCookies: session, suffixes: .conservative,
            clock: clock)
    }

    private func fill(_ jar: CookieJar, of principal: Principal? = nil) throws -> URL {
        let place = try #require(URL(string: "https://a.example.com/x/y"))
        for cookie in [
            "host=1; Max-Age=600; HttpOnly", "domain=2; Domain=example.com; Max-Age=600; Secure; SameSite=Lax",
            "session=3",
            "=nameless; Max-Age=600; Path=/", "__Host-h=\"é\"; Secure; Path=/; Max-Age=600",
        ] {
            let kept = try #require(SetCookie(cookie))
            #expect(jar.set(kept, from: place, of: principal) == nil)
        }
        return place
    }

    @Test(arguments: [false, true])
    func `Cookies with an end, or on request all, survive the end of the process in a private file`(
        session: Bool
    ) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = jar(session: session)
        let place = try fill(first)
        await first.waitUntilSaved()

        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600 && first.fileError == nil)
        let again = jar(session: session)
        #expect(again.cookies(for: place) == first.cookies(for: place).filter { session || $0.expires != nil })
        #expect(again.count == (session ? 5 : 4))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "jar").path).count == 1)

        clock.advance(by: .seconds(600))
        #expect(jar(session: session).count == (session ? 1 : 0))
    }

    @Test func `The file has the cookies of one principal, and none after the user has signed out`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let (ada, bob) = (Principal("ada"), Principal("bob"))
        let first = jar(of: ada)
        let place = try fill(first, of: ada)
        first.set(SetCookie(name: "bob", value: "geheim"), from: place, of: bob)
        await first.waitUntilSaved()
        #expect(try !String(contentsOf: file, encoding: .utf8).contains("geheim"))
        #expect(jar(of: ada).allCookies(of: ada).count == 4 && jar(of: ada).allCookies(of: bob).isEmpty)

        // As a process leaves it that is killed while it writes.
        try FileManager.default.copyItem(
            at: file, to: file.deletingLastPathComponent().appending(path: ".cookies.json.17"))
        try await first.signOut(ada)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "jar").path).count == 1)
        #expect(jar(of: ada).count == 0)
        #expect(try !String(contentsOf: file, encoding: .utf8).contains("nameless"))
    }

    @Test func `A file that others can read, a link, and a damaged or a huge one count as empty and are told of`()
        async throws
    {
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = jar()
        _ = try fill(first)
        await first.waitUntilSaved()
        let good = try Data(contentsOf: file)

        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
        #expect((jar().fileError as? PrivateFileError)?.reason == .notPrivate && jar().count == 0)

        try FileManager.default.removeItem(at: file)
        let other = folder.appending(path: "other")
        try PrivateFile(other).replace(with: good)
        try FileManager.default.createSymbolicLink(at: file, withDestinationURL: other)
        #expect((jar().fileError as? PrivateFileError)?.reason == .notPrivate && jar().count == 0)

        try PrivateFile(file).replace(with: good.dropLast(9))
        #expect(jar().fileError != nil && jar().count == 0)
        try PrivateFile(file).replace(with: Data(repeating: 0x20, count: (16 << 20) + 1))
        #expect((jar().fileError as? PrivateFileError)?.reason == .tooLarge)
        try PrivateFile(file).replace(with: good)
        #expect(jar().fileError == nil && jar().count == 4)
    }

    @Test func `Cookies that no server could have set are left out`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        func record(_ changes: [String: any Sendable]) -> [String: any Sendable] {
            let usual: [String: any Sendable] = [
                "name": "n", "value": "v", "domain": "a.example.com", "hostOnly": true, "path": "/",
                "expires": 1_700_000_600,
                "secure": false, "httpOnly": false,
            ]
            return usual.merging(changes) { $1 }
        }
        let records = [
            record(["name": "kept"]), record(["value": "a;b"]), record(["value": "a\r\nX: y"]), record(["name": "a=b"]),
            record(["domain": "A.example.com"]), record(["domain": ""]), record(["path": "x"]),
            record(["path": "/\n"]), record(["domain": "com", "hostOnly": false]),
            record(["domain": "127.0.0.1", "hostOnly": false]), record(["expires": 1]),
            record(["name": "", "value": ""]),
            record(["value": String(repeating: "x", count: 4096)]),
            record(["name": "long", "expires": 9_999_999_999_999]),
        ]
        let content: [String: any Sendable] = ["version": 1, "cookies": records]
        try PrivateFile(file).replace(with: JSONSerialization.data(withJSONObject: content))
        let jar = jar()
        #expect(jar.fileError == nil && jar.allCookies().map(\.name) == ["kept", "long"])
        #expect(jar.allCookies().last?.expires == clock.date.addingTimeInterval(400 * 86_400))
    }

    @Test func `Random damage gives cookies or an error`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = jar()
        _ = try fill(first)
        await first.waitUntilSaved()
        let good = [UInt8](try Data(contentsOf: file))
        let generator = SeededGenerator(seed: 1)
        var errors = 0
        for _ in 0..<400 {
            var bytes = good
            for _ in 0...Int(generator.next() % 3) {
                let place = Int(generator.next() % UInt64(bytes.count))
                switch generator.next() % 3 {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: generator.next())
                case 1: bytes.remove(at: place)
                default: bytes.insert(UInt8(ascii: "\""), at: place)
                }
            }
            try PrivateFile(file).replace(with: Data(bytes))
            let jar = jar()
            errors += jar.fileError == nil ? 0 : 1
            #expect(jar.count <= 5)
            #expect(jar.allCookies().allSatisfy { !$0.value.utf8.contains { $0 < 0x20 || $0 == 0x3B } })
        }
        #expect(errors > 50 && errors < 400)
    }

    @Test func `A directory that cannot be written leaves the cookies in memory, with an error`() async throws {
        let (ada, bob) = (Principal("ada"), Principal("bob"))
        let blocked = CookieJar(
            file: PrivateFile(URL(filePath: "/dev/null/cookies.json")), of: ada, suffixes: .conservative, clock: clock)
        let place = try fill(blocked, of: ada)
        await blocked.waitUntilSaved()
        #expect(blocked.fileError != nil && blocked.cookies(for: place, of: ada).count == 5)
        // The file has no cookie of another user, so that signing out of that user does not fail.
        try await blocked.signOut(bob)
        await #expect(throws: PrivateFileError.self) { try await blocked.signOut(ada) }
        #expect(blocked.count == 0)
    }
}
