import Decorum
import DecorumArchive
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct ArchivedCassetteTests {
    let folder = TemporaryFolder()
    let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_795_168_800))

    func run(_ mode: CassetteMode, _ paths: [String], answer: String = "") async throws -> [String] {
        let cassette = try Cassette(at: folder.path("feed.har"), mode: mode, clock: clock)
        let stub = StubConnection { request in
            Response(
                status: .ok, fields: [.contentType: "text/plain"],
                body: Body(Data((answer + (request.head.path ?? "")).utf8)))
        }
        let connection = CassetteConnection(cassette, recording: stub)
        var texts: [String] = []
        for path in paths {
            texts.append(try await connection.send(.get("https://example.com" + path)).body.text(upTo: 1 << 10))
        }
        try await cassette.finish()
        return texts
    }

    @Test func `A cassette whose name ends in har is recorded as an archive, and replayed`() async throws {
        _ = try await run(.once, ["/a", "/b?access_token=SuperSecretValue1"])
        let archive = try HAR(Data(try folder.text("feed.har").utf8))
        #expect(archive.version == "1.2")
        #expect(archive.entries.map(\.request.method) == ["GET", "GET"])
        #expect(archive.entries.map(\.startedAt) == [clock.date, clock.date])
        #expect(!(try folder.text("feed.har")).contains("SuperSecretValue1"))
        #expect(
            try await run(.replay, ["/b?access_token=AnotherSecret22", "/a"]).map { $0.prefix(2) } == ["/b", "/a"])
        let before = try folder.text("feed.har")
        clock.advance(by: .seconds(100_000))
        _ = try await run(.rewrite, ["/a", "/b?access_token=SuperSecretValue3"])
        #expect(try folder.text("feed.har") == before)
    }

    @Test func `Appending leaves what another tool wrote as it is`() async throws {
        let entry =
            #"{"pageref": "p", "startedDateTime": "2026-11-20T10:00:00.000Z", "time": 12.5, "request": {"method": "GET", "url": "https://example.com/a", "httpVersion": "h2", "headers": []}, "response": {"status": 200, "statusText": "", "httpVersion": "h2", "headers": [{"name": "content-encoding", "value": "gzip"}], "content": {"size": 3, "mimeType": "text/plain", "text": "old"}}, "timings": {"send": 1, "wait": 11.5, "receive": 0}, "_initiator": "script"}"#
        try folder.write(
            #"{"log": {"version": "1.2", "creator": {"name": "Browser", "version": "9"}, "pages": [{"id": "p", "title": "Page", "startedDateTime": "2026-11-20T10:00:00.000Z"}], "entries": [\#(entry)]}}"#,
            to: "feed.har")
        #expect(try await run(.append, ["/a", "/b"], answer: "new") == ["old", "new/b"])
        let archive = try HAR(Data(try folder.text("feed.har").utf8))
        #expect(archive.creator.name == "Browser")
        #expect(archive.json["log"]?["pages"]?.array?.compactMap { $0["title"]?.string } == ["Page"])
        #expect(archive.entries.map(\.request.url) == ["https://example.com/a", "https://example.com/b"])
        #expect(archive.entries[0].timings.wait == 11.5)
        #expect(try folder.text("feed.har").contains(#""_initiator": "script""#))
    }

    @Test func `Any cassette is exported, without secrets`() throws {
        let entry =
            #"{"request": {"method": "GET", "url": "https://example.com/a?access_token=SuperSecretValue1", "headers": {"Cookie": "sid=SuperSecretValue2"}}, "response": {"status": 200, "headers": {"Set-Cookie": "b=; Expires=Wed, 21 Oct 2026 07:28:00 GMT"}, "text": "one"}}"#
        try folder.write(#"{"cassette": 1, "interactions": [\#(entry)]}"#, to: "feed.json")
        let archive = try Cassette(at: folder.path("feed.json"), mode: .replay).archive()
        let text = String(decoding: archive.document(), as: UTF8.self)
        #expect(!text.contains("SuperSecret"))
        #expect(archive.entries[0].request.cookies.map(\.name) == ["sid"])
        #expect(archive.entries[0].request.queryString.map(\.name) == ["access_token"])
        #expect(archive.entries[0].response.cookies.map(\.expires) == ["2026-10-21T07:28:00.000Z"])
        #expect(archive.entries[0].response.content.text == "one")
    }

    @Test func `Coded content is exported without its coding and its secrets`() throws {
        let coded = "H4sIAAAAAAACA6tWSkxOTi0uji/Jz07NU7JSCi4tSC0KTk0uSi0JS8wpTTVUqgUAVUAOmSQAAAA="
        let entry =
            #"{"request": {"method": "GET", "url": "https://example.com/a"}, "response": {"status": 200, "headers": {"Content-Type": "application/json", "Content-Encoding": "gzip"}, "base64": "\#(coded)"}}"#
        try folder.write(#"{"cassette": 1, "interactions": [\#(entry)]}"#, to: "feed.json")

        for content in [CassetteRules.Content.decoded, .coded] {
            var rules = CassetteRules()
            rules.content = content
            let archive = try Cassette(at: folder.path("feed.json"), mode: .replay, rules: rules).archive()
            let text = try #require(archive.entries[0].response.content.text)
            #expect(text.hasPrefix(#"{"access_token":"#))
            #expect(!text.contains("SuperSecretValue1"))
            #expect(!archive.entries[0].response.headers.contains { $0.name == "Content-Encoding" })
            #expect(!String(decoding: archive.document(), as: UTF8.self).contains(coded))
        }
    }

    @Test func `Coded content is archived as readers expect it, and read back as it was`() throws {
        let coded = try #require(Data(base64Encoded: "H4sIAAAAAAACA8vIBACsKpPYAgAAAA=="))
        let interactions = [
            Interaction(
                request: RecordedRequest(method: "GET", url: "https://example.com/käse#top"),
                response: RecordedResponse(
                    status: 200, fields: [.contentEncoding: "gzip", .contentType: "text/plain"],
                    body: RecordedBody(coded))),
            Interaction(
                request: RecordedRequest(method: "GET", url: "https://example.com/"),
                response: RecordedResponse(
                    status: 200, fields: [.contentEncoding: "br"], body: RecordedBody(Data([1, 2, 0xFF])))),
        ]

        let archive = HAR(interactions)

        #expect(archive.entries[0].response.content.text == "hi")
        #expect(archive.entries[0].response.content.size == 2)
        #expect(archive.entries[0].response.bodySize == coded.count)
        #expect(archive.entries[0].request.url == "https://example.com/k%C3%A4se")
        #expect(archive.entries[1].response.content.text == "AQL/")
        #expect(try ImportedCassette(archive.document(), named: "feed.har").interactions == interactions)
    }

    @Test func `A change in an archive counts for more than the original that it was made from`() throws {
        let coded = try #require(Data(base64Encoded: "H4sIAAAAAAACA8vIBACsKpPYAgAAAA=="))
        var archive = HAR([
            Interaction(
                request: RecordedRequest(method: "GET", url: "https://example.com/#top"),
                response: RecordedResponse(
                    status: 200, fields: [.contentEncoding: "gzip", .contentType: "text/plain"],
                    body: RecordedBody(coded)))
        ])
        archive.entries[0].response.content.text = "ho"
        archive.entries[0].request.url = "https://example.com/other"

        let read = try ImportedCassette(archive.document(), named: "feed.har").decodingContent().interactions[0]

        #expect(read.response?.body.bytes == Data("ho".utf8))
        #expect(read.request.url == "https://example.com/other")
    }

    @Test(arguments: ["-5e3", "99999", "1000"])
    func `An exchange whose status no response can have is left out, and the others are played`(status: String) throws {
        let entry =
            #"{"request": {"method": "GET", "url": "https://example.com/a"}, "response": {"status": \#(status)}}"#
        try folder.write(#"{"log": {"entries": [\#(entry)]}}"#, to: "feed.har")
        let cassette = try Cassette(at: folder.path("feed.har"), mode: .replay)
        // A negative one stands for an exchange that failed, and what is too large for nothing.
        #expect(try cassette.interactions().map { $0.response == nil } == (status == "-5e3" ? [true] : []))
    }

    @Test(arguments: [
        (polly, "Polly.js"), (polly.replacing("Polly.JS", with: "Replay/1.0"), "Replay"),
        (polly.replacing("Polly.JS", with: "x").replacing("200", with: "1000"), "left out"),
    ])
    func `An archive that its tool could not read again is not recorded on`(archive: String, reason: String)
        async throws
    {
        try folder.write(archive, to: "feed.har")
        for mode in [CassetteMode.append, .rewrite] {
            let error = await #expect(throws: CassetteError.self) { try await run(mode, ["/b"]) }
            #expect(error?.reason.contains(reason) == true)
        }
        #expect(try folder.text("feed.har") == archive)
        #expect(throws: Never.self) { try Cassette(at: folder.path("feed.har"), mode: .replay) }
    }

    private static let polly =
        #"{"log": {"creator": {"name": "Polly.JS"}, "entries": [{"_id": "a", "_order": 0, "request": {"url": "https://example.com/a"}, "response": {"status": 200}}]}}"#

    @Test func `Interactions of any kind survive as an archive, and from there as a cassette`() throws {
        let generator = SeededGenerator(seed: 11)
        for _ in 0..<200 {
            var draw = Draw(generator: generator)
            let interactions = (0..<draw.number(5)).map { _ in draw.interaction() }
            let archive = HAR(interactions).document()
            let imported = try ImportedCassette(archive, named: "feed.har")
            #expect(imported.interactions == interactions)
            #expect(HAR(imported.interactions).document() == archive)
        }
    }
}

/// Draws interactions, the odd ones too.
private struct Draw {
    let generator: SeededGenerator

    func number(_ bound: Int) -> Int { Int(generator.next() % UInt64(bound)) }

    func one<Element>(of elements: [Element]) -> Element { elements[number(elements.count)] }

    func isTrue() -> Bool { number(2) == 0 }

    func text(_ alphabet: String, upTo count: Int) -> String {
        let characters = Array(alphabet)
        return String((0..<number(count + 1)).map { _ in one(of: characters) })
    }

    func bytes() -> Data {
        isTrue()
            ? Data((0..<number(40)).map { _ in UInt8(truncatingIfNeeded: number(256)) })
            : Data(text("aä\"\\\n\t{}[]1 \u{0}🙂", upTo: 40).utf8)
    }

    func fields() -> HTTPFields {
        var fields = HTTPFields()
        let names: [HTTPField.Name] = [.contentType, .setCookie, .vary, .location, .cookie]
        for _ in 0..<number(4) {
            let name = one(of: names)
            let value =
                name == .contentType
                ? one(of: ["text/plain", "text/html; charset=latin1", "image/png"]) : text("a=;, \"/", upTo: 12)
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }

    func body() -> RecordedBody {
        RecordedBody(bytes(), exactness: one(of: [.exact, .exact, .reserialized, .lossy]))
    }

    mutating func interaction() -> Interaction {
        let request = RecordedRequest(
            method: one(of: ["GET", "POST", "QUERY"]), url: "https://example.com/" + text("a/?&=%20+ä#", upTo: 12),
            fields: fields(), body: body(), trailers: isTrue() ? [:] : fields())
        let date = isTrue() ? nil : Date(timeIntervalSince1970: Double(number(2_000_000_000)))
        let stage = one(of: [RecordedFailure.Stage.connect, .head, .body])
        let failure = RecordedFailure(kind: one(of: ["timedOut", "abandoned", "cancelled", "my own"]), stage: stage)
        guard number(4) > 0 else { return Interaction(request: request, failure: failure, recordedAt: date) }
        var response = RecordedResponse(
            status: 200 + number(400), reason: one(of: ["", "Fine"]), fields: fields(), body: body(),
            trailers: isTrue() ? [:] : fields(), coding: one(of: [nil, "gzip"]))
        if isTrue() {
            response.informational = [.init(status: 103, fields: fields())]
        }
        var rest = response.body.bytes.count
        while rest > 0, isTrue() {
            let length = 1 + number(rest)
            response.chunks.append(.init(pause: number(1000), length: length))
            rest -= length
        }
        return Interaction(
            request: request, response: response, failure: number(4) == 0 ? failure : nil, recordedAt: date)
    }
}
