import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The hosts that ask to be reached over https alone (RFC 6797).
@Suite(.timeLimit(.minutes(2))) struct StrictTransportTests {
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_700_000_000))
    private let folder = FileManager.default.temporaryDirectory.appending(
        path: "hosts-\(UInt64.random(in: 0 ... .max))")

    @Test(arguments: [
        ("max-age=31536000", 31_536_000, false), ("MAX-AGE=\"60\" ; includeSubDomains", 60, true),
        (";;max-age=0;", 0, false), ("max-age=60; preload; a=\"b;c=\\\"d\"; includesubdomains", 60, true),
        ("max-age=99999999999999999999999", Int.max, false), (" includeSubDomains ;max-age = 5", 5, true),
    ])
    func `A field states a time and a scope`(row: (value: String, age: Int, covers: Bool)) {
        let expected = StrictTransportField(maximumAge: row.age, includesSubdomains: row.covers)
        #expect(StrictTransportField(row.value) == expected)
    }

    @Test(arguments: [
        "", "includeSubDomains", "max-age", "max-age=", "max-age=-1", "max-age=x", "max-age=1; max-age=2",
        "max-age=1; includeSubDomains; includeSubDomains", "max-age=\"1", "max-age=1.5",
    ])
    func `A field without a valid time is ignored`(value: String) {
        #expect(StrictTransportField(value) == nil)
    }

    @Test func `Of several fields the first counts`() {
        var fields = HTTPFields()
        for value in ["max-age=1", "max-age=2"] {
            fields.append(HTTPField(name: .strictTransportSecurity, value: value))
        }
        #expect(StrictTransportField(fields)?.maximumAge == 1)
    }

    private func server(
        _ value: String, source: ResponseMetadata.Source = .network, url: String? = nil
    ) -> StubConnection {
        StubConnection { _ in
            var response = Response(status: .ok, fields: [.strictTransportSecurity: value])
            response.metadata.source = source
            if let url { response.metadata.url = URL(string: url) }
            return response
        }
    }

    private func upgraded(_ url: String, knowing hosts: StrictTransportHosts) async throws -> String {
        let stub = StubConnection(Response(status: .ok))
        _ = try await stub.upgradingToHTTPS(remembering: hosts, clock: clock).send(.get(url))
        let head = try #require(stub.requests.first?.head)
        return "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")"
    }

    @Test func `A host that has asked over https is reached over https, until its time ends`() async throws {
        let hosts = StrictTransportHosts()
        let connection = server("max-age=60").upgradingToHTTPS(remembering: hosts, clock: clock)
        _ = try await connection.send(.get("https://a.example/"))
        #expect(try await upgraded("http://a.example/x?y", knowing: hosts) == "https://a.example/x?y")
        #expect(try await upgraded("http://a.example:80/", knowing: hosts) == "https://a.example/")
        #expect(try await upgraded("http://A.example.:8080/", knowing: hosts) == "https://a.example.:8080/")
        #expect(try await upgraded("http://sub.a.example/", knowing: hosts) == "http://sub.a.example/")
        #expect(try await upgraded("http://b.example/", knowing: hosts) == "http://b.example/")

        clock.advance(by: .seconds(60))
        #expect(try await upgraded("http://a.example/", knowing: hosts) == "http://a.example/")
    }

    @Test func `A host may ask for all below it, and take its wish back`() async throws {
        let hosts = StrictTransportHosts()
        _ = try await server("max-age=60; includeSubDomains").upgradingToHTTPS(remembering: hosts, clock: clock)
            .send(.get("https://example.com/"))
        #expect(try await upgraded("http://a.b.example.com/", knowing: hosts) == "https://a.b.example.com/")
        #expect(try await upgraded("http://notexample.com/", knowing: hosts) == "http://notexample.com/")

        _ = try await server("max-age=0").upgradingToHTTPS(remembering: hosts, clock: clock)
            .send(.get("https://a.b.example.com/"))
        #expect(try await upgraded("http://a.b.example.com/", knowing: hosts) == "https://a.b.example.com/")
        _ = try await server("max-age=0").upgradingToHTTPS(remembering: hosts, clock: clock)
            .send(.get("http://example.com/"))
        #expect(hosts.count == 0 && hosts.description == "0 hosts")
    }

    @Test(arguments: [
        ("http://a.example/", ResponseMetadata.Source.network, nil), ("https://127.0.0.1/", .network, nil),
        ("https://[::1]/", .network, nil), ("https://0x7f.1/", .network, nil), ("https://a.example/", .cache, nil),
        ("https://a.example/", .cassette, nil), ("https://a.example/", .network, "https://b.example/"),
    ])
    func `Nothing is learnt over http, from an address, from a store, or from another origin`(
        row: (url: String, source: ResponseMetadata.Source, answering: String?)
    ) async throws {
        let hosts = StrictTransportHosts()
        _ = try await server("max-age=60", source: row.source, url: row.answering)
            .upgradingToHTTPS(remembering: hosts, clock: clock).send(.get(row.url))
        #expect(hosts.count == 0)
    }

    @Test func `Preload data counts for ever, and an answer does not remove it`() async throws {
        let list = "# list\n.example.com\nexact.example\n\n127.0.0.1\n.bad host\nold.example \"20200101 00:00:00\"\n"
        let hosts = StrictTransportHosts(preloading: list)
        _ = try await server("max-age=0").upgradingToHTTPS(remembering: hosts, clock: clock)
            .send(.get("https://example.com/"))
        for host in ["example.com", "a.example.com", "exact.example"] {
            #expect(hosts.contains(host, at: clock.date), "\(host)")
        }
        for host in ["a.exact.example", "127.0.0.1", "old.example", "com"] {
            #expect(!hosts.contains(host, at: clock.date), "\(host)")
        }
        #expect(hosts.count == 0)
    }

    @Test func `Hosts survive the end of the process, in the form of curl`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "hosts")
        let hosts = StrictTransportHosts(file: PrivateFile(file))
        hosts.learn(
            StrictTransportField(maximumAge: 86_400, includesSubdomains: true), from: "b.example", at: clock.date)
        hosts.learn(StrictTransportField(maximumAge: 60), from: "a.example", at: clock.date)
        await hosts.waitUntilSaved()

        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text.hasSuffix("\na.example \"20231114 22:14:20\"\n.b.example \"20231115 22:13:20\"\n"))
        let again = StrictTransportHosts(file: PrivateFile(file))
        #expect(again.count == 2 && again.contains("x.b.example", at: clock.date) && again.fileError == nil)

        again.removeAll()
        await again.waitUntilSaved()
        #expect(StrictTransportHosts(file: PrivateFile(file)).count == 0)
        try FileManager.default.setAttributes([.posixPermissions: 0o606], ofItemAtPath: file.path)
        #expect((StrictTransportHosts(file: PrivateFile(file)).fileError as? PrivateFileError)?.reason == .notPrivate)
    }

    @Test func `A host without an end keeps it when another is learnt`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = PrivateFile(folder.appending(path: "hosts"))
        try file.replace(with: Data("a.example \"unlimited\"\n".utf8))
        let hosts = StrictTransportHosts(file: file)
        hosts.learn(StrictTransportField(maximumAge: 60), from: "b.example", at: clock.date)
        await hosts.waitUntilSaved()
        #expect(StrictTransportHosts(file: file).contains("a.example", at: clock.date))
    }

    @Test func `The memory is bounded, and the host whose time ends first goes`() {
        let hosts = StrictTransportHosts(limit: 10)
        hosts.learn(StrictTransportField(maximumAge: .max), from: "kept.example", at: clock.date)
        for number in 1...1000 {
            hosts.learn(StrictTransportField(maximumAge: number), from: "h\(number).example", at: clock.date)
        }
        #expect(hosts.count == 10 && hosts.contains("kept.example", at: clock.date))
        #expect(hosts.contains("h1000.example", at: clock.date) && !hosts.contains("h5.example", at: clock.date))
        hosts.learn(StrictTransportField(maximumAge: 60), from: String(repeating: "a", count: 300), at: clock.date)
        #expect(!hosts.contains(String(repeating: "a.", count: 5000) + "b", at: clock.date))
    }

    @Test func `Random files give valid hosts alone`() {
        let generator = SeededGenerator(seed: 6797)
        let pieces = [
            ".", "a.example", " ", "\"", "20271231 23:59:59", "unlimited", "\n", "#", "\r", "é", "20270230 00:00:00",
            "9",
        ]
        var found = 0
        for _ in 0..<3000 {
            let text = (0..<30).map { _ in pieces[Int(generator.next() % UInt64(pieces.count))] }.joined()
            let hosts = StrictTransportHosts(preloading: text)
            found += hosts.contains("a.example", at: clock.date) ? 1 : 0
            #expect(!hosts.contains("b.test", at: clock.date))
            _ = StrictTransportField(text)
        }
        #expect(found > 100)
    }
}
