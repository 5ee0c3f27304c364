#if CassetteImport
import Decorum
import DecorumArchive
import DecorumCassetteImport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Small files that would take the memory, the time or the process of their reader.
@Suite(.serialized) struct ImportLimitTests {
    /// 3,151 bytes of YAML with 256 aliases of a list of 256 fields.
    static let aliases: String = {
        let list = Array(repeating: "a", count: 256).joined(separator: ",")
        let repeats = Array(repeating: "*x", count: 255).joined(separator: ",")
        return """
            http_interactions:
            - request: {method: get, uri: 'https://a.example/', headers: {A: [&x [\(list)],\(repeats)]}}
              response: {status: {code: 200}}
            """
    }()

    /// Messages with 70,000 fields, in each format and each place that has some.
    static let messages: [(name: String, document: String)] = {
        let many = 70_000
        let pairs = Array(repeating: #"{"name":"a","value":"b"}"#, count: many).joined(separator: ",")
        let values = Array(repeating: #""b""#, count: many).joined(separator: ",")
        let raw = Array(repeating: #""a","b""#, count: many).joined(separator: ",")
        let tuples = Array(repeating: #"["a","b"]"#, count: many).joined(separator: ",")
        let cookies = (0..<many).map { "c\($0)=1" }.joined(separator: ", ")
        let lines = Array(repeating: "b", count: many).joined(separator: #"\n"#)
        func har(_ request: String = "", _ response: String = "", _ entry: String = "", creator: String = "x") -> String
        {
            #"{"log":{"creator":{"name":"\#(creator)"},"entries":[{\#(entry)"request":{\#(request)"url":"https://a.example/"},"#
                + #""response":{\#(response)"status":200}}]}}"#
        }
        func dvr(_ request: String, _ response: String) -> String {
            #"{"name":"x","interactions":[{"request":{"url":"https://a.example/"\#(request)},"response":{"status":200\#(response)}}]}"#
        }
        return [
            ("aliases of YAML", aliases), ("a request of HAR", har(#""headers":[\#(pairs)],"#)),
            ("a response of HAR", har("", #""headers":[\#(pairs)],"#)),
            ("an object of HAR", har(#""headers":{"a":[\#(values)]},"#)),
            ("lines in one value of HAR", har(#""headers":[{"name":"a","value":"\#(lines)"}],"#)),
            (
                "joined cookies of Safari",
                har("", #""headers":[{"name":"Set-Cookie","value":"\#(cookies)"}],"#, creator: "WebKit")
            ),
            ("trailers of an archive of ours", har("", "", #""_cassette":{"trailers":[\#(tuples)]},"#)),
            ("trailers of a request of ours", har("", "", #""_cassette":{"requestTrailers":[\#(tuples)]},"#)),
            ("an interim response of ours", har("", "", #""_cassette":{"informational":[[103,[\#(tuples)]]]},"#)),
            ("a request of DVR", dvr(#","headers":{"a":[\#(values)]}"#, "")),
            ("a response of DVR", dvr("", #","headers":{"a":[\#(values)]}"#)),
            (
                "vcrpy",
                #"{"version":1,"interactions":[{"request":{"uri":"https://a.example/","headers":{"a":[\#(values)]}},"response":{"status":{"code":200}}}]}"#
            ),
            (
                "trailers of go-vcr",
                #"{"version":2,"interactions":[{"request":{"url":"https://a.example/"},"response":{"code":200,"trailer":{"a":[\#(values)]}}}]}"#
            ),
            (
                "joined cookies of undici",
                #"[{"snapshot":{"request":{"url":"https://a.example/"},"responses":[{"statusCode":200,"headers":{"set-cookie":"\#(cookies)"}}]}}]"#
            ),
            (
                "raw fields of nock",
                #"[{"scope":"https://a.example:443","path":"/","status":200,"rawHeaders":[\#(raw)]}]"#
            ),
            (
                "betamax",
                #"{"recorded_with":"betamax/0.8","http_interactions":[{"request":{"uri":"https://a.example/","headers":{"a":[\#(values)]}},"response":{"status":{"code":200}}}]}"#
            ),
        ]
    }()

    @Test(arguments: messages.map(\.name))
    func `A message with too many fields is refused where it stands`(name: String) throws {
        let document = try #require(Self.messages.first { $0.name == name }?.document)

        let error = #expect(throws: CassetteImportError.self) {
            try ImportedCassette(Data(document.utf8), named: "feed", formats: .known)
        }

        #expect(error?.reason == "a message has more than 1000 fields")
        #expect(error?.line != nil)
        #expect(error?.place?.hasPrefix("$") == true)
    }

    @Test func `As many fields as the limit allows are read, and the limit is the caller's`() throws {
        let values = Array(repeating: #""b""#, count: 1001).joined(separator: ",")
        let document = Data(
            #"{"name":"x","interactions":[{"request":{"url":"https://a.example/","headers":{"a":[\#(values)]}},"response":{}}]}"#
                .utf8)

        #expect(throws: CassetteImportError.self) { try ImportedCassette(document, named: "feed", formats: .known) }
        let imported = try ImportedCassette(
            document, named: "feed", formats: .known, limits: ImportLimits(fieldCount: 1001))

        #expect(imported.interactions[0].request.fields.count == 1001)
    }

    @Test func `A cassette of VCR for R is refused where its files have more than half a gigabyte`() throws {
        let folder = try TemporaryFolder()
        try Data().write(to: folder.url.appending(path: "a.bin"))
        let handle = try FileHandle(forWritingTo: folder.url.appending(path: "a.bin"))
        // What was never written takes no space on the disk.
        try handle.truncate(atOffset: 200 << 20)
        try handle.close()
        let exchange =
            "- {request: {uri: x}, response: {status: {code: 200}, body: {file: yes, string: a.bin}}}\n"
        try folder.write("http_interactions:\n" + String(repeating: exchange, count: 3), to: "feed.yml")

        var rules = CassetteRules()
        rules.formats = .known
        let error = #expect(throws: CassetteImportError.self) {
            try Cassette(at: folder.path("feed.yml"), mode: .replay, rules: rules)
        }

        #expect(error?.reason == "its contents have more than 536870912 bytes once their encodings are undone")
        #expect(error?.place == "$.http_interactions[2].response.body.string, line 4")
    }
}
#endif
