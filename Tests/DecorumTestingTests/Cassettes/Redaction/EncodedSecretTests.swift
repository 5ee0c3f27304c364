import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// Base64 of a text with a secret that the recording knows from another place.
@Suite struct EncodedSecretTests {
    private static let token = "t0psecret-token-value"
    private static let placeholder = "__token-1__"

    let folder = TemporaryFolder()

    private static func encoded(_ name: String, _ token: String, isPadded: Bool) -> String {
        let text = Data("\(name):\(token)".utf8).base64EncodedString()
        return isPadded ? text : text.replacing("=", with: "")
    }

    /// Logs in, and sends Base64 of a name and a token in JSON, in a field, in a form and in text.
    ///
    /// The token is the one of the login, unless there is another one.
    private func session(
        _ connection: some Connection, _ name: String, isPadded: Bool, token other: String? = nil
    ) async throws {
        let login = try await connection.send(.get("https://api.example.com/login")).body.text(upTo: 1000)
        let answer = try JSONDecoder().decode([String: String].self, from: Data(login.utf8))
        let token = try #require(answer["access_token"])
        let coded = Self.encoded(name, other ?? token, isPadded: isPadded)
        let note = try #require(HTTPField.Name("X-Note"))
        func post(_ content: String, _ mediaType: String) async throws {
            var fields: HTTPFields = [.contentType: mediaType]
            fields[note] = coded
            _ = try await connection.send(
                .post("https://api.example.com/proof", fields: fields, body: Body(Data(content.utf8))))
        }
        try await post(#"{"proof":"\#(coded)"}"#, "application/json")
        try await post("proof=\(PercentCoding.encode(coded))&a=1", "application/x-www-form-urlencoded")
        try await post("I am \(coded)!", "text/plain")
    }

    @Test(arguments: ["u", "us", "use"], [true, false])
    func `It is replaced within Base64, and the flow replays with any token`(
        name: String, isPadded: Bool
    ) async throws {
        let recording = try Cassette(at: folder.path("a.json"), mode: .append, rules: .silent)
        let stub = StubConnection { request in
            guard request.head.method == .get else { return Response(status: .ok) }
            return Response(
                status: .ok, fields: [.contentType: "application/json"],
                body: Body(Data(#"{"access_token":"\#(Self.token)"}"#.utf8)))
        }
        try await session(CassetteConnection(recording, recording: stub), name, isPadded: isPadded)
        try await recording.finish()

        // A word of whole groups does not tell whether it would be padded.
        func unpadded(_ text: String) -> String { text.replacing("%3D", with: "").replacing("=", with: "") }
        let written = Self.encoded(name, Self.placeholder, isPadded: false)
        let text = try folder.text("a.json")
        #expect(!text.contains(Self.token))
        #expect(!text.contains(Self.encoded(name, Self.token, isPadded: false)))
        let file = try Cassette(at: folder.path("a.json"), mode: .replay, rules: .silent)
        let requests = try file.interactions().map(\.request).filter { $0.method == "POST" }
        let contents = Set(requests.map { unpadded(String(decoding: $0.body.bytes, as: UTF8.self)) })
        #expect(contents.contains { $0.contains(#""\#(written)""#) }, "\(contents)")
        #expect(contents.contains("proof\(written)&a1"), "\(contents)")
        #expect(contents.contains("I am \(written)!"), "\(contents)")
        let note = try #require(HTTPField.Name("X-Note"))
        #expect(requests.map { unpadded($0.fields[note] ?? "") } == [written, written, written])

        let tokens: [String?] = [nil, Self.token, "an0ther-token"]
        for token in tokens {
            let replaying = try Cassette(at: folder.path("a.json"), mode: .replay, rules: .silent)
            try await session(CassetteConnection(replaying), name, isPadded: isPadded, token: token)
            try await replaying.finish()
        }
    }

    @Test(arguments: [("ann", "Redacted1AAAAAAA"), ("bob", "Redacted2AAAAAAA")])
    func `A placeholder within Base64 chooses its recording`(name: String, placeholder: String) async throws {
        let interactions = [("ann", "Redacted1AAAAAAA"), ("bob", "Redacted2AAAAAAA")].map { name, placeholder in
            let coded = Self.encoded(name, placeholder, isPadded: true)
            let request = #"{"method": "POST", "url": "https://example.com/me", "text": "\#(coded)"}"#
            return #"{"request": \#(request), "response": {"status": 200, "text": "\#(name)"}}"#
        }
        try folder.write(
            #"{"cassette": 1, "interactions": [\#(interactions.joined(separator: ",\n"))]}"#, to: "a.json")
        let cassette = try Cassette(at: folder.path("a.json"), mode: .replay, rules: CassetteRules(unused: .allow))
        let content = Data(Self.encoded(name, placeholder, isPadded: true).utf8)
        let response = try await CassetteConnection(cassette)
            .send(.post("https://example.com/me", body: Body(content)))
        #expect(try await response.body.text(upTo: 100) == name)
    }

    @Test func `Binary content with Base64 of a secret is not written`() async throws {
        let content = Data([0, 1, 0xFF]) + Data(Self.encoded("user", Self.token, isPadded: true).utf8) + Data([0])
        let cassette = try Cassette(at: folder.path("a.json"), mode: .append, rules: .silent)
        let stub = StubConnection(
            Response(status: .ok, fields: [.contentType: "application/octet-stream"], body: Body(content)))
        _ = try await CassetteConnection(cassette, recording: stub)
            .send(.get("https://example.com/", fields: [.authorization: "Bearer \(Self.token)"]))
        let error = await #expect(throws: SecretFoundError.self) { try await cassette.finish() }
        #expect(error?.findings.map(\.kind) == [.knownSecret])
    }
}

/// Content in which not all bytes are UTF-8.
@Suite struct OtherEncodingTests {
    let folder = TemporaryFolder()

    /// The text in ISO 8859-1.
    static func latin(_ text: String) -> Data { Data(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }) }

    /// Everything that stands in the cassette and in the files beside it.
    func record(_ request: Request, _ response: Response = Response(status: .ok)) async throws -> Data {
        let cassette = try Cassette(at: folder.path("feed.json"), mode: .append)
        _ = try await CassetteConnection(cassette, recording: StubConnection(response)).send(request)
        try await cassette.finish()
        return try cassette.written(in: folder)
    }

    @Test(arguments: [
        (
            "application/x-www-form-urlencoded; charset=iso-8859-1", "user=José&password=hunter2&a=b",
            "password=__password-1__&a=b"
        ),
        ("application/json", #"{"user":"José","password":"hunter2"}"#, #""password":"__password-1__"}"#),
        (
            "application/soap+xml; charset=iso-8859-1", "<a>José<password>hunter2</password></a>",
            "<password>__password-1__<"
        ),
        ("text/html; charset=iso-8859-1", #"<p>José<a href="/x?password=hunter2">"#, #"/x?password=__password-1__""#),
        ("application/json", "{\"password\":\"hunter2\",\"user\":\"José\0\"}", #""password":"__password-1__""#),
        ("text/plain; charset=windows-1252", "José: https://a.example/?password=hunter2", "/?password=__password-1__"),
    ])
    func `A byte that is not UTF-8 hides no secret`(mediaType: String, text: String, expected: String) async throws {
        let content = Self.latin(text)
        let request = try Request.post(
            "https://example.com/", fields: [.contentType: mediaType], body: Body(content))
        _ = try await record(
            request, Response(status: .ok, fields: [.contentType: mediaType], body: Body(content)))

        let replaying = try Cassette(at: folder.path("feed.json"), mode: .replay)
        let interaction = try #require(try replaying.interactions().first)
        for bytes in [interaction.request.body.bytes, try #require(interaction.response).body.bytes] {
            #expect(bytes.firstRange(of: Data("hunter2".utf8)) == nil)
            #expect(bytes.firstRange(of: Data(expected.utf8)) != nil)
            #expect(bytes.contains(0xE9))
        }
        let other = Self.latin(text.replacing("hunter2", with: "correct-horse"))
        _ = try await CassetteConnection(replaying).send(
            .post("https://example.com/", fields: [.contentType: mediaType], body: Body(other)))
        try await replaying.finish()
    }

    @Test func `Binary content with a secret that is known from elsewhere is not written`() async throws {
        let token = "opaque-value-of-no-shape"
        let request = try Request.get("https://example.com/", fields: [.authorization: "Bearer \(token)"])
        let content = Data([0, 1, 0xFF]) + Data(token.utf8) + Data([0])
        let error = await #expect(throws: SecretFoundError.self) {
            try await record(
                request, Response(status: .ok, fields: [.contentType: "application/protobuf"], body: Body(content)))
        }
        #expect(error?.findings.map(\.kind) == [.knownSecret])
        #expect(error?.description.contains(token) == false)
        #expect(!FileManager.default.fileExists(atPath: folder.path("feed.json")))

        var rules = CassetteRules()
        rules.allowedSecrets = [.text(token)]
        let allowed = try Cassette(at: folder.path("feed.json"), mode: .append, rules: rules)
        let stub = StubConnection(Response(status: .ok, body: Body(content)))
        _ = try await CassetteConnection(allowed, recording: stub).send(request)
        try await allowed.finish()
        #expect(try allowed.interactions().isEmpty)
        #expect(FileManager.default.fileExists(atPath: folder.path("feed.json")))
    }

    @Test(arguments: [String.Encoding.utf16, .utf16LittleEndian, .utf32BigEndian])
    func `Content in a wide encoding is not written if it holds a secret`(encoding: String.Encoding) async throws {
        for text in [#"{"user":"me","password":"hunter2"}"#, #"{"a":"ghp_x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"}"#] {
            let content = try #require(text.data(using: encoding))
            await #expect(throws: SecretFoundError.self) {
                try await record(
                    try .get("https://example.com/"),
                    Response(status: .ok, fields: [.contentType: "application/json"], body: Body(content)))
            }
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path("feed.json")))

        let harmless = try #require(#"{"user":"me"}"#.data(using: encoding))
        _ = try await record(
            try .get("https://example.com/"),
            Response(status: .ok, fields: [.contentType: "application/json"], body: Body(harmless)))
        let replaying = try Cassette(at: folder.path("feed.json"), mode: .replay)
        #expect(try replaying.interactions().first?.response?.body.bytes == harmless)
    }
}

extension Cassette {
    fileprivate func written(in folder: TemporaryFolder) throws -> Data {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.url.path)
        return names.reduce(Data()) { $0 + (FileManager.default.contents(atPath: folder.path($1)) ?? Data()) }
    }
}

struct EncodedWordTests {
    private static let texts = [
        "user:token", "user:token1", "user:token12", "user:tok\u{E9}n", "a?b>c~d??e>>f~~", #"{"user":"me","proof":1}"#,
    ]

    /// The spellings of the word for a text: in each alphabet, with and without padding, and percent-encoded.
    private static func spellings(of text: String) -> Set<String> {
        let padded = Data(text.utf8).base64EncodedString()
        let plain = padded.replacing("=", with: "")
        let forURLs = plain.replacing("+", with: "-").replacing("/", with: "_")
        return [padded, plain, forURLs, PercentCoding.encode(padded)]
    }

    private static func words(of text: String) -> [String] {
        EncodedWord.all(in: Array(text.utf8)).map { String(decoding: $0.text, as: UTF8.self) }
    }

    @Test(arguments: texts) func `A word is found in each spelling, and is written in the same one`(text: String) {
        for spelling in Self.spellings(of: text) {
            let place = Array("a=\(spelling)&b".utf8)
            #expect(Self.words(of: "a=\(spelling)&b") == [text], "\(spelling)")
            let written = EncodedWord.replacing(in: place) { $0.encoding($0.text) }
            #expect(written == place, "\(spelling)")
        }
    }

    @Test(arguments: ["%22", "Basic%20", "%3a", #""Proof:\n"#, #"\t"#, #"\u000a"#, "100%:", #"\"#, "%"])
    func `The letters of an escape in front of a word belong to none`(start: String) {
        #expect(Self.words(of: start + "dXNlcjp0b2tlbjEy") == ["user:token12"], "\(start)")
    }

    @Test func `Padding follows the length of another text`() throws {
        let longer = Array("user:longer-token".utf8)
        func written(_ word: String) -> String? {
            EncodedWord.replacing(in: Array(word.utf8)) { $0.encoding(longer) }
                .map { String(decoding: $0, as: UTF8.self) }
        }
        let plain = "dXNlcjpsb25nZXItdG9rZW4"
        #expect(written("dXNlcjp0b2tlbg==") == plain + "=")
        #expect(written("dXNlcjp0b2tlbg%3D%3D") == plain + "%3D")
        #expect(written("dXNlcjp0b2tlbg") == plain)
        #expect(written("dXNlcjp0b2tlbjEy") == plain + "=")
    }

    @Test(arguments: [
        ("/v1/dXNlcjp0b2tlbjEy/x", ["user:token12"]), ("/v1/dXNlcjp0b2tlbjEy", ["user:token12"]),
        (#"{"a":"dXNlcjp0b2tlbg==","b":"bWU6c2VjcmV0"}"#, ["user:token", "me:secret"]),
        ("name=a+dXNlcjp0b2tlbg==", ["user:token"]), ("dXNlcjph", []), ("AAECAwQFBgcICQoLDA0ODw==", []),
        ("5f4dcc3b5aa765d61d8327deb882cf990", []), ("", []),
    ])
    func `Words are found between other characters, and not in random bytes`(text: String, words: [String]) {
        #expect(Self.words(of: text) == words)
    }
}

@Suite struct NeedleSearchTests {
    func matches(_ needles: [String], _ text: String) -> [Int] {
        var search = NeedleSearch()
        for (tag, needle) in needles.enumerated() { search.insert(Array(needle.utf8), tag: tag) }
        return search.matches(in: Array(text.utf8)).map(\.tag)
    }

    @Test func `Of two needles at one place the longer is found, without overlapping ones`() {
        #expect(matches(["abcdefgh", "abcdefghij"], "abcdefghij abcdefghi") == [1, 0])
        #expect(matches(["abcdefgh", "fghijklm"], "abcdefghijklm fghijklm") == [0, 1])
        #expect(matches(["short", "abcdefgh"], "short abcdefgh") == [1])
        #expect(matches(["aaaaaaaa"], "aaaaaaaaaaaaaaaa") == [0, 0])
        #expect(matches([], "abcdefgh") == [])
    }

    @Test func `Needles with the same start are distinguished by their rest`() {
        // Comparing each with all others would take minutes.
        let tokens = (0..<5_000).map {
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.\(String($0 + 1_000_000_000, radix: 36))\($0)"
        }
        #expect(matches(tokens, tokens.joined(separator: " ")) == Array(tokens.indices))
    }

    @Test func `Random needles are found at the places that a naive search finds`() {
        let generator = SeededGenerator(seed: 9)
        func word(_ length: UInt64) -> String {
            String((0..<length).map { _ in "abc".randomElement(using: generator) })
        }
        for _ in 0..<300 {
            let needles = (0..<6).map { _ in word(8 + generator.next() % 6) }
            let text = word(30) + needles[0] + word(10) + needles[3]
            var expected: [Int] = []
            var rest = text[...]
            while !rest.isEmpty {
                let found = needles.indices.filter { rest.hasPrefix(needles[$0]) }.max {
                    (needles[$0].count, $1) < (needles[$1].count, $0)
                }
                if let found { expected.append(found) }
                rest = rest.dropFirst(found.map { needles[$0].count } ?? 1)
            }
            #expect(matches(needles, text) == expected)
        }
    }
}

extension String {
    fileprivate func randomElement(using generator: SeededGenerator) -> Character {
        self[index(startIndex, offsetBy: Int(generator.next() % UInt64(count)))]
    }
}
