import Decorum
import DecorumArchive
import Foundation
import HTTPTypes
import Testing

@Suite struct HARTests {
    @Test func `Deviations of real tools from the format are accepted`() throws {
        let archive = try HAR(
            Data([0xEF, 0xBB, 0xBF])
                + Data(
                    #"""
                    {"log": {"creator": {"name": "x", "version": 1.5}, "pages": [{"id": "p", "pageTimings": null}, 7], "entries": [
                    {"startedDateTime": "2026-11-20T10:00:00.123456789+01:00", "time": 1.25, "connection": 443, "cache": null,
                     "request": {"method": "GET", "url": "https://a.example/", "httpVersion": "", "headersSize": 12.0, "cookies": null,
                      "headers": [{"name": ":authority", "value": "a"}, {"name": "a", "value": ["b", 1]}, {"value": "c"}, ["d", "e"], ["f"]]},
                     "response": {"status": 200.0, "redirectURL": null, "cookies": [{"name": "a", "value": "b", "expires": null}],
                      "content": {"text": "x"}}, "timings": {"wait": -1.0, "send": null}},
                    {"request": {"url": "https://a.example/", "postData": {"text": null, "params": null}}, "response": null},
                    {"time": -1, "request": {"url": "x", "headers": {"a": "b"}}, "response": {"status": -1, "_failureText": "lost"}}]}}
                    """#.utf8))

        #expect(archive.creator.version == "1.5")
        #expect(archive.json["log"]?["pages"]?.array?.compactMap { $0["id"]?.string } == ["p"])
        let first = archive.entries[0]
        #expect(first.startedAt.map { ($0.timeIntervalSince1970 * 1000).rounded() } == 1_795_165_200_123)
        #expect(first.time == 1.25)
        #expect(first.connection == "443")
        #expect(first.request.headersSize == 12)
        #expect(first.request.headers.map(\.name) == [":authority", "a", "a", "d"])
        #expect(first.request.headers.map(\.value) == ["a", "b", "1", "e"])
        #expect(first.response.status == 200)
        #expect(first.response.cookies.map(\.expires) == [nil])
        #expect(first.response.content.size == nil)
        #expect(archive.entries[1].request.method == "GET")
        #expect(archive.entries[1].response.status == 0)
        #expect(archive.entries[2].request.headers == [HAR.Field("a", "b")])
        #expect(archive.entries[2].response.failure == "lost")
    }

    @Test(
        arguments: [
            ("", nil, 1), ("{\n\"log\":}", nil, 2), ("[]", "$", nil), ("{}", "$.log", nil),
            ("{\"log\": {}}", "$.log.entries", nil),
            ("{\"log\": {\"entries\": [1]}}", "$.log.entries[0]", nil),
            ("{\"log\": {\"entries\": [{}]}}", "$.log.entries[0].request", nil),
            ("{\"log\": {\"entries\": [{\"request\": {}}]}}", "$.log.entries[0].request.url", nil),
        ] as [(String, String?, Int?)])
    func `An invalid archive is refused, with the place of the error`(document: String, path: String?, line: Int?) {
        let error = #expect(throws: HARFormatError.self) { try HAR(Data(document.utf8)) }

        #expect(error?.path == path)
        #expect(error?.line == line)
    }

    @Test func `An archive has all members that the format requires`() throws {
        var fields: HTTPFields = [.contentType: "text/plain", .location: "/b"]
        fields.append(HTTPField(name: .setCookie, value: "a=1; Path=/x; Domain=a.example; Secure; HttpOnly"))
        let archive = HAR(
            entries: [
                HAR.Entry(
                    request: HAR.Request(
                        method: "POST", url: "https://a.example/?q=a%20b&c#f", fields: [.contentType: "x/y"],
                        content: Data([0xFF])),
                    response: HAR.Response(status: 302, reason: "Found", fields: fields, content: Data("hallo".utf8)),
                    startedAt: Date(timeIntervalSince1970: -0.001), timings: HAR.Timings(dns: 1, wait: 2.5))
            ])

        let document = archive.document()

        let object = try #require(try JSONSerialization.jsonObject(with: document) as? [String: Any])
        let log = try #require(object["log"] as? [String: Any])
        #expect(log["version"] as? String == "1.2")
        #expect((log["creator"] as? [String: Any])?["name"] as? String == "Decorum")
        let entry = try #require((log["entries"] as? [[String: Any]])?.first)
        #expect(entry["startedDateTime"] as? String == "1969-12-31T23:59:59.999Z")
        #expect(entry["time"] as? Double == 3.5)
        #expect(entry["cache"] is [String: Any])
        let timings = try #require(entry["timings"] as? [String: Any])
        #expect(["blocked", "dns", "connect", "send", "wait", "receive", "ssl"].allSatisfy { timings[$0] is NSNumber })
        let request = try #require(entry["request"] as? [String: Any])
        for name in ["method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"] {
            #expect(request[name] != nil, "\(name)")
        }
        #expect(request["postData"] as? [String: String] == ["mimeType": "x/y", "text": "/w==", "encoding": "base64"])
        #expect((request["queryString"] as? [[String: String]])?.map { $0["value"] } == ["a b", ""])
        let response = try #require(entry["response"] as? [String: Any])
        for name in [
            "status", "statusText", "httpVersion", "cookies", "headers", "redirectURL", "headersSize", "bodySize",
        ] {
            #expect(response[name] != nil, "\(name)")
        }
        let content = try #require(response["content"] as? [String: Any])
        #expect(content["size"] as? Int == 5)
        #expect(content["text"] as? String == "hallo")
        #expect(try HAR(document).document() == document)
    }

    @Test(arguments: [
        ("https://a.example/käse?q=a b&c=\"<>#top", "https://a.example/k%C3%A4se?q=a%20b&c=%22%3C%3E"),
        ("https://a.example/a%20b?c=d|e#", "https://a.example/a%20b?c=d|e"),
    ])
    func `A URL is written as browsers compare it`(url: String, written: String) {
        #expect(HAR.Request(method: "GET", url: url, fields: [:]).url == written)
    }

    @Test(arguments: [
        (
            #"{"log":{"entries":[{"request":{"url":"x","postData":{"text":"","params":[],"_file":"a.bin"}},"response":{"status":-1,"content":{"size":-1},"bodySize":-54}}]}}"#,
            [#""_file": "a.bin""#, #""size": 0"#, #""bodySize": -1"#]
        ),
        (
            #"{"log":{"entries":[{"_order":1.50,"request":{"url":"x"},"response":{"status":0,"_a":[1e400]}}],"_b":{"c":"\u00e4"}}}"#,
            [#""_order": 1.50"#, "1e400", #""c": "ä""#]
        ),
        (
            #"{"log":{"entries":[{"request":{"url":"x","postData":{"mimeType":"a/b","text":"/wA=","encoding":"base64"}}}]}}"#,
            [#""text": "/wA=""#, #""encoding": "base64""#]
        ),
    ])
    func `What other tools write is kept, and written as the format wants it`(document: String, parts: [String]) throws
    {
        let archive = try HAR(Data(document.utf8))
        let text = String(decoding: archive.document(), as: UTF8.self)
        for part in parts { #expect(text.contains(part), "\(text)") }
        #expect(!text.contains("-54"))
        #expect(try HAR(archive.document()).document() == archive.document())
    }

    @Test(
        arguments: [
            ("2026-11-20T10:00:00Z", 1_795_168_800.0), ("2026-11-20T10:00:00.5Z", 1_795_168_800.5),
            ("2026-11-20", 1_795_132_800),
            ("2026-11-20T10:00:00", 1_795_168_800), ("2026-11-20T10:00:00-07:00", 1_795_194_000),
            ("2026-11-20T10:00Z", 1_795_168_800),
            ("2026-11-20T10:00:00+0100", 1_795_165_200), ("2026-11-20 10:00:00", 1_795_168_800), ("", nil),
            ("2026-02-30", nil),
            ("2026-13-01", nil), ("yesterday", nil), ("2026-11-20T25:00:00Z", nil), ("2026-11-20T10:00:00x", nil),
        ] as [(String, Double?)])
    func `Dates in many formats are read`(text: String, expected: Double?) throws {
        let document = #"{"log": {"entries": [{"startedDateTime": "\#(text)", "request": {"url": "x"}}]}}"#

        #expect(try HAR(Data(document.utf8)).entries[0].startedAt?.timeIntervalSince1970 == expected)
    }

    @Test func `Damaged archives are read or refused`() throws {
        let whole = try #require(
            HAR(entries: [
                HAR.Entry(
                    request: HAR.Request(method: "GET", url: "x", fields: [.cookie: "a=b"]),
                    response: HAR.Response(status: 200, fields: [:], content: Data("x".utf8)))
            ]).document() as Data?)
        var refused = 0
        for index in whole.indices {
            var damaged = whole
            damaged[index] ^= 0x5A
            for document in [damaged, whole.prefix(index)] {
                do { _ = try HAR(document) } catch { refused += error is HARFormatError ? 1 : 0 }
            }
        }
        #expect(refused > whole.count)
    }
}
