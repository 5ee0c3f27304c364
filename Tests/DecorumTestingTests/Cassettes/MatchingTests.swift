import Decorum
import DecorumArchive
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

@Suite struct MatchingTests {
    @Test(arguments: [
        ("HTTP://Example.COM:80", "http://example.com/"),
        ("https://example.com:443/a#part", "https://example.com/a"),
        ("https://example.com/%7Euser/%c3%a4", "https://example.com/~user/%C3%A4"),
        ("https://example.com/a b", "https://example.com/a%20b"),
        ("https://example.com/ä", "https://example.com/%C3%A4"),
        ("https://example.com/?b=2&a=1", "https://example.com/?a=1&b=2"),
        ("https://example.com?a=1", "https://example.com/?a=1"),
        ("https://example.com/?q=a+b", "https://example.com/?q=a%20b"),
        ("https://[::1]:443/", "https://[::1]/"),
    ])
    func `URLs that mean the same are the same`(one: String, other: String) {
        #expect(URLKey.key(of: one, ignoring: SecretNames([])) == URLKey.key(of: other, ignoring: SecretNames([])))
    }

    @Test(arguments: [
        ("https://example.com/a", "https://example.com/A"), ("http://example.com/", "https://example.com/"),
        ("https://example.com:8443/", "https://example.com/"),
        ("https://example.com/?a=1&a=2", "https://example.com/?a=2&a=1"),
        ("https://example.com/a%2Fb", "https://example.com/a/b"),
        ("https://example.com/?a=1%262", "https://example.com/?a=1&2"),
        ("https://example.com/a", "https://example.com/a/"), ("https://[::1]:8080/", "https://[::1]/"),
    ])
    func `URLs that mean different things differ`(one: String, other: String) {
        #expect(URLKey.key(of: one, ignoring: SecretNames([])) != URLKey.key(of: other, ignoring: SecretNames([])))
    }

    @Test(arguments: [
        ("http://127.0.0.1:40617/items?b=2&a=1", "http://127.0.0.1:45555/items?a=1&b=2", true),
        ("https://a.example", "http://b.example/", true), ("https://a.example?q=1", "http://b.example:81/?q=1", true),
        ("https://a.example//b/C", "https://c.example//b/C", true),
        ("https://a.example//b/C", "https://c.example//b/c", false),
        ("https://a.example/items?a=1", "https://a.example/items?a=2", false),
    ])
    func `Paths and queries are compared whatever the origins`(one: String, other: String, areSame: Bool) {
        let rule = MatchingRule.pathAndQuery
        let keys = [one, other].map { rule.key(RecordedRequest(method: "GET", url: $0)) }
        #expect((keys[0] == keys[1]) == areSame)
    }

    /// A URL that is its own key is found without making the key, and a fragment, which does not count, prevents that.
    @Test(arguments: ["ab%2F&=?/#:@[] +Ää~\"", "aabb&&=?/"])
    func `A key is its own key, with and without a fragment`(alphabet: String) {
        let generator = SeededGenerator(seed: 4)
        let alphabet = Array(alphabet.unicodeScalars)
        for _ in 0..<3000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<(generator.next() % 20) {
                text.append(alphabet[Int(generator.next() % UInt64(alphabet.count))])
            }
            let url = "http://example.com/" + String(text)
            let key = URLKey.key(of: url, ignoring: SecretNames([]))
            #expect(URLKey.key(of: String(decoding: key, as: UTF8.self), ignoring: SecretNames([])) == key)
            #expect(URLKey.key(of: url + "#fragment", ignoring: SecretNames([])) == key, "\(url)")
        }
    }

    @Test(
        arguments: [
            (#"{"a": 1, "b": [1.0, 2e0]}"#, #"{"b":[1,2],"a":1}"#, "application/json", true),
            (#"{"a": 1}"#, #"{"a": 1.5}"#, "application/json", false),
            (#"{"a": "1"}"#, #"{"a": 1}"#, "application/json", false),
            (#"[1,2]"#, #"[2,1]"#, "application/json", false),
            (#"{"a": 1, "a": 2}"#, #"{"a": 2, "a": 1}"#, "application/json", false),
            (#"{"id": 12345678901234567890}"#, #"{"id": 12345678901234567891}"#, "application/json", false),
            (#"{"a": "\u00e4"}"#, #"{"a":"ä"}"#, nil, true),
            ("a=1&b=2", "b=2&a=1", "application/x-www-form-urlencoded", true),
            ("a=1&a=2", "a=2&a=1", "application/x-www-form-urlencoded", false),
            ("a=x+y", "a=x%20y", "application/x-www-form-urlencoded; charset=utf-8", true),
            ("a=1&b=2", "b=2&a=1", "text/plain", false),
            ("{not json", "{ not json", "application/json", false),
        ] as [(String, String, String?, Bool)])
    func `Bodies go by their meaning`(one: String, other: String, mediaType: String?, isSame: Bool) {
        let keys = [one, other].map { BodyKey.key(of: Data($0.utf8), mediaType: mediaType, ignoring: .none) }
        #expect((keys[0] == keys[1]) == isSame)
    }

    @Test func `A multipart body goes without its boundary`() {
        func key(_ boundary: String, _ value: String) -> [UInt8] {
            let body =
                "--\(boundary)\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\(value)\r\n--\(boundary)--\r\n"
            return BodyKey.key(
                of: Data(body.utf8), mediaType: "multipart/form-data; boundary=\"\(boundary)\"", ignoring: .none)
        }
        #expect(key("abc", "1") == key("x--yz", "1"))
        #expect(key("abc", "1") != key("abc", "2"))
    }

    @Test func `A boundary that no multipart body may have is not sought`() {
        // Byte by byte, and at each place the boundary, this takes hours.
        let body = Data(String(repeating: "-", count: 4 << 20).utf8)
        for length in [69, 100_000] {
            let mediaType = "multipart/form-data; boundary=" + String(repeating: "-", count: length) + "x"
            let key = BodyKey.key(of: body, mediaType: mediaType, ignoring: .none)
            #expect(key.suffix(body.count).elementsEqual(body))
        }
    }

    @Test(arguments: [
        ("--ab\r\n", "--cd\r\n", true), ("x --ab\r\n", "x --cd\r\n", false), ("--abc\r\n", "--cdc\r\n", false),
        ("--ab", "--cd", true), ("--ab--", "--cd--", true), ("a\n--ab \n", "a\n--cd \n", true),
    ])
    func `Only a line can be a delimiter`(one: String, other: String, isSame: Bool) {
        func key(_ body: String, _ boundary: String) -> [UInt8] {
            BodyKey.key(
                of: Data(body.utf8), mediaType: "Multipart/Mixed; charset=x; Boundary=\(boundary)", ignoring: .none)
        }
        #expect((key(one, "ab") == key(other, "cd")) == isSame)
    }

    func index(_ requests: [RecordedRequest], _ rules: CassetteRules = CassetteRules()) -> PlaybackIndex {
        PlaybackIndex(requests.map { RecordedRequest(method: $0.method, url: $0.url) }, rules: rules)
    }

    static func post(_ body: String) -> RecordedRequest {
        RecordedRequest(method: "POST", url: "https://example.com/", body: RecordedBody(Data(body.utf8)))
    }

    @Test func `Repeats are played once each, in their order`() throws {
        let recorded = ["a", "b", "a", "a"].map(Self.post)
        var index = index(recorded)
        let findings = try ["a", "b", "a", "a", "a", "c"].map { body in
            try index.take(Self.post(body)) { recorded[$0] }
        }
        #expect(
            findings == [
                .interaction(0), .interaction(1), .interaction(2), .interaction(3), .played([0, 2, 3]), .nothing,
            ])
        #expect(index.played == [0, 1, 2, 3])
    }

    @Test func `The last one can be played for ever`() throws {
        let recorded = ["a", "a"].map(Self.post)
        var index = index(recorded, CassetteRules(repeats: .last))
        let findings = try (0..<4).map { _ in try index.take(Self.post("a")) { recorded[$0] } }
        #expect(findings == [.interaction(0), .interaction(1), .interaction(1), .interaction(1)])
    }

    @Test func `A strict order lets nothing pass before its turn`() throws {
        let recorded = ["a", "b", "c"].map(Self.post)
        var index = index(recorded, CassetteRules(order: .strict))
        #expect(try index.take(Self.post("b")) { recorded[$0] } == .nothing)
        #expect(try index.take(Self.post("a")) { recorded[$0] } == .interaction(0))
        #expect(try index.take(Self.post("c")) { recorded[$0] } == .nothing)
        #expect(try index.take(Self.post("b")) { recorded[$0] } == .interaction(1))
        #expect(try index.take(Self.post("c")) { recorded[$0] } == .interaction(2))
    }

    @Test func `Each interaction is decoded once, whatever the number of requests`() throws {
        let recorded = (0..<2000).map { Self.post("\($0)") }
        var index = index(recorded)
        var count = 0
        for body in 0..<2000 {
            let finding = try index.take(Self.post("\(body)")) {
                count += 1
                return recorded[$0]
            }
            #expect(finding == .interaction(body))
        }
        #expect(count == 2000)
    }

    static func get(_ path: String) -> RecordedRequest {
        RecordedRequest(method: "GET", url: "https://example.com" + path)
    }

    @Test(arguments: [
        ("/bot__secret__/me", "/bot123/me", true), ("/bot__secret__/me", "/bot/me", false),
        ("/bot__secret__/me", "/bot1/2/me", false), ("/bot__secret__/me", "/bot1/you", false),
        ("/a?q=__secret__&r=1", "/a?q=x=&r=1", true), ("/a?q=__secret__&r=1", "/a?q=x&r=2", false),
        ("/a?q=__secret__", "/a?q=x&r=1", false), ("/__secret__-__secret__/", "/a-b-c/", true),
        ("/__secret__-__secret__/", "/ab/", false), ("/__secret__", "/", false), ("/__secret__/x", "/x", false),
    ])
    func `A placeholder stands for one part of a URL`(recorded: String, live: String, isFound: Bool) throws {
        var index = index([Self.get(recorded)])
        #expect(try index.take(Self.get(live)) { _ in Self.get(recorded) } == (isFound ? .interaction(0) : .nothing))
    }

    @Test func `An equal request is played before one that differs in a secret, and those in their order`() throws {
        let recorded = ["/__secret__/x", "/b/x", "/a__secret__/x", "/__secret__/x"].map(Self.get)
        var index = index(recorded)
        let findings = try ["/b/x", "/ab/x", "/ab/x", "/ab/x", "/ab/x"].map { path in
            try index.take(Self.get(path)) { recorded[$0] }
        }
        #expect(findings == [.interaction(1), .interaction(0), .interaction(2), .interaction(3), .played([0, 3])])
    }

    @Test func `Many placeholders are not searched one by one`() throws {
        // All compared with each other, these take minutes.
        let recorded = (0..<4_000).map { Self.get("/bot__secret__/\($0)") }
        var index = index(recorded)
        let found = try (0..<4_000).count { number in
            try index.take(Self.get("/bot12345/\(number)")) { recorded[$0] } == .interaction(number)
        }
        #expect(found == 4_000)
    }

    @Test func `Rules of one's own, fields and ignored parts`() throws {
        let rules = CassetteRules(matching: [
            .method, .url(ignoring: "ts"), .body(ignoring: "**.nonce"), .header(.accept),
            MatchingRule("tenant") { String($0.url.count { $0 == "t" }) },
        ])
        var recorded = RecordedRequest(
            method: "POST", url: "https://example.com/?ts=1", fields: [.accept: "text/plain"],
            body: RecordedBody(Data(#"{"nonce": 1, "a": [{"nonce": 2, "b": 3}]}"#.utf8)))
        var live = recorded
        live.url = "https://example.com/?ts=2"
        live.body.bytes = Data(#"{"nonce": 7, "a": [{"nonce": 8, "b": 3}]}"#.utf8)
        var index = index([recorded], rules)
        #expect(try index.take(live) { _ in recorded } == .interaction(0))

        live.fields[.accept] = "text/html"
        #expect(try index.take(live) { _ in recorded } == .nothing)
        recorded.fields = [:]
    }
}
