import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.serialized, .timeLimit(.minutes(3))) struct ServedCassetteTests {
    let folder = TemporaryFolder()

    func cassette(_ interactions: String, rules: CassetteRules = CassetteRules()) throws -> Cassette {
        try folder.write(#"{"cassette": 1, "interactions": [\#(interactions)]}"#, to: "feed.json")
        return try Cassette(at: folder.path("feed.json"), mode: .replay, rules: rules)
    }

    static func entry(
        _ url: String, method: String = "GET", request: String = "", response: String = #""text": "one""#
    ) -> String {
        #"{"request": {"method": "\#(method)", "url": "\#(url)"\#(request)}, "response": {"status": 200, \#(response)}}"#
    }

    @Test(arguments: Transport.allCases)
    func `A request finds what was recorded of any origin, each once`(transport: Transport) async throws {
        let cassette = try cassette(
            [
                Self.entry("https://b.example.com/a", response: #""text": "first""#),
                Self.entry("https://a.example.com:8443/a?x=1&y=2", response: #""text": "query""#),
                Self.entry("https://a.example.com:8443/a", response: #""text": "second""#),
            ].joined(separator: ","))
        let origin = try LoopbackOrigin(playing: cassette)
        defer { origin.stop() }
        let connection = transport.connection

        func text(_ path: String) async throws -> String {
            let response = try await connection.send(.get(origin.url + path))
            #expect(response.status == .ok)
            return try await response.body.text(upTo: 1 << 10)
        }
        #expect(try await text("/a") == "first")
        #expect(try await text("/a") == "second")
        #expect(try await text("/a?y=2&x=1") == "query")
        try await cassette.finish()
    }

    @Test(arguments: Transport.allCases)
    func `Bodies are matched, and fields and reasons are played`(transport: Transport) async throws {
        let recorded = #""reason": "Fine", "headers": {"X-Kind": ["a", "b"], "Content-Length": "999"}, "text": "yes""#
        let cassette = try cassette(
            Self.entry(
                "https://example.com/search", method: "POST",
                request: #", "headers": {"Content-Type": "application/json"}, "json": {"q": 1, "page": 2}"#,
                response: recorded))
        let origin = try LoopbackOrigin(playing: cassette)
        defer { origin.stop() }

        let response = try await transport.connection.send(
            .post(
                origin.url + "/search", fields: [.contentType: "application/json"],
                body: Body(Data(#"{"page":2,"q":1.0}"#.utf8))))
        #expect(response.status.code == 200)
        #expect(response.head.headerFields[.init("X-Kind")!] == "a, b")
        #expect(try await response.body.text(upTo: 100) == "yes")
        try await cassette.finish()
    }

    @Test(arguments: Transport.allCases)
    func `A miss is a bad gateway that says why, without secrets`(transport: Transport) async throws {
        let cassette = try cassette(Self.entry("https://example.com/a?page=1"))
        let origin = try LoopbackOrigin(playing: cassette)
        defer { origin.stop() }
        let response = try await transport.connection.send(
            .get(origin.url + "/a?page=2&access_token=SuperSecretValue1&note=" + CassetteMissTests.token))
        #expect(response.status == .badGateway)
        let text = try await response.body.text(upTo: 1 << 12)
        #expect(text.contains("closest: interaction 1"))
        #expect(text.contains("https://example.com/a?page=2"))
        #expect(!text.contains(CassetteMissTests.token.prefix(12)))
        #expect(!text.contains("SuperSecretValue1"))
        #expect(cassette.unplayed == [0])
    }

    @Test(arguments: Transport.allCases)
    func `Recorded failures are broken connections`(transport: Transport) async throws {
        let failed = #"""
            {"request": {"method": "GET", "url": "https://example.com/head"}, "error": {"kind": "timedOut"}}
            """#
        let broken =
            #"{"request": {"method": "GET", "url": "https://example.com/body"}, "#
            + #""response": {"status": 200, "text": "half"}, "error": {"kind": "connectionLost", "after": "body"}}"#
        let cassette = try cassette("\(failed),\(broken)")
        let origin = try LoopbackOrigin(playing: cassette)
        defer { origin.stop() }
        let connection = transport.connection

        await #expect(throws: TransportError.self) { try await connection.send(.get(origin.url + "/head")) }
        let response = try await connection.send(.get(origin.url + "/body"))
        #expect(response.status == .ok)
        var reader = try await response.body.open()
        await #expect(throws: TransportError.self) { while try await reader.next() != nil {} }
        try await cassette.finish()
    }

    @Test func `Chunks stay apart, and the rules decide on pauses`() async throws {
        let clock = VirtualClock()
        try folder.write(
            #"{"cassette": 1, "interactions": [\#(Self.entry("https://example.com/events", response: #""headers": {"Content-Type": "text/event-stream"}, "text": ["data: one", "", "data: two", "", ""], "chunks": [[0, 11], [250, 11]]"#))]}"#,
            to: "events.json")
        let cassette = try Cassette(
            at: folder.path("events.json"), mode: .replay, rules: CassetteRules(timing: .recorded), clock: clock)
        let origin = try LoopbackOrigin(playing: cassette)
        defer { origin.stop() }
        let client = try RawClient(port: origin.port)
        defer { client.close() }

        try await client.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
        let before = try await client.receive(until: "b\r\ndata: one\n\n\r\n")
        #expect(!before.contains("two"))
        try await clock.waitForSleepers()
        #expect(clock.pendingSleeps == [.milliseconds(250)])
        clock.advance(by: .milliseconds(250))
        let after = try await client.receive(until: "0\r\n\r\n")
        #expect(after.contains("b\r\ndata: two\n\n\r\n"))
    }

    @Test func `HEAD and 304 have no content, whatever length they tell`() async throws {
        let head = Self.entry(
            "https://example.com/a", method: "HEAD", response: #""headers": {"Content-Length": "12"}"#)
        let cached =
            #"{"request": {"method": "GET", "url": "https://example.com/b"}, "response": {"status": 304, "headers": {"ETag": "\"1\""}}}"#
        let cassette = try cassette("\(head),\(cached)")
        let origin = try LoopbackOrigin(playing: cassette)
        defer { origin.stop() }
        let client = try RawClient(port: origin.port)
        defer { client.close() }

        try await client.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive(until: "\r\n\r\n").contains("Content-Length: 12\r\n"))
        try await client.send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 304"))
        #expect(cassette.unplayed == [])
    }
}

/// The clients with which the origin is asked.
enum Transport: CaseIterable, Sendable {
    case session
    /// libcurl on Linux.
    case system

    var connection: any Connection {
        switch self {
        case .session: URLSessionConnection()
        case .system: SystemConnection()
        }
    }
}
