import Decorum
import DecorumArchive
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Losses on the way from and to files of other tools, which are listed when they happen.
@Suite(.timeLimit(.minutes(3))) struct ImportLossTests {
    @Test(arguments: [
        (
            #"{"http_interactions": [{"request": {"uri": "x"}, "response": {"status": {"code": 200}, "body": "\ud83d!"}}]}"#,
            "$.http_interactions[0].response.body"
        ),
        (
            "http_interactions:\n- request: {uri: x}\n  response: {status: {code: 200}, body: \"\\uDE00!\"}\n",
            "$.http_interactions[0].response.body"
        ),
        (
            #"{"version": 1, "interactions": [{"request": {"uri": "x"}, "response": {"status": {"code": 200}, "body": {"string": "\ud83d\ud83d\ude00"}}}]}"#,
            "$.interactions[0].response.body.string"
        ),
        (
            #"{"log": {"entries": [{"request": {"url": "x"}, "response": {"status": 200, "content": {"text": "\ud83d!"}}}]}}"#,
            "$.log.entries[0].response.content.text"
        ),
        (#"[{"scope": "https://a.example", "path": "/", "response": {"a": ["\udead"]}}]"#, "$[0].response.a[0]"),
    ])
    func `Half of a surrogate pair is listed with its place`(document: String, path: String) throws {
        let imported = try ImportedCassette(Data(document.utf8), named: "feed")

        let warning = try #require(imported.warnings.first { $0.kind == .loneSurrogate })
        #expect(warning.place.hasPrefix(path + ", line "))
        #expect(imported.exactness > .exact)
        #expect(imported.interactions[0].response?.body.bytes.range(of: Data("\u{FFFD}".utf8)) != nil)
    }

    @Test(arguments: [#""\ud83d\ude00""#, #""\\ud83d""#, #""\u00e9\ufffd""#, #""😀""#])
    func `Whole pairs and other escapes are not listed`(body: String) throws {
        let document =
            #"{"version": 1, "interactions": [{"request": {"uri": "x"}, "response": {"status": {"code": 200}, "body": {"string": \#(body)}}}]}"#

        #expect(try ImportedCassette(Data(document.utf8), named: "feed").warnings == [])
    }

    @Test func `A failure without words is listed, and is a failure when it is played`() async throws {
        let document =
            #"{"log": {"entries": [{"request": {"method": "GET", "url": "https://a.example/"}, "response": {"status": 0}}]}}"#
        let imported = try ImportedCassette(Data(document.utf8), named: "feed")

        #expect(imported.interactions[0].failure?.kind == "other")
        #expect(imported.interactions[0].response == nil)
        #expect(imported.warnings.map(\.kind) == [.failure])

        let folder = try TemporaryFolder()
        try folder.write(document, to: "feed.har")
        let cassette = try Cassette(at: folder.path("feed.har"), mode: .replay)
        let error = await #expect(throws: TransportError.self) {
            try await CassetteConnection(cassette).send(.get("https://a.example/"))
        }
        #expect(error?.code == .other && error?.stage == .head)
        try await cassette.finish()
    }

    static let losses: [(String, Interaction, [ExportLoss.Kind])] = {
        let dated = Date(timeIntervalSince1970: 1_795_168_800)
        let plain = RecordedRequest(method: "GET", url: "https://a.example/")
        let fine = RecordedResponse(status: 200, body: RecordedBody(Data("a".utf8)))
        func changed(_ change: (inout RecordedResponse) -> Void) -> Interaction {
            var response = fine
            change(&response)
            return Interaction(request: plain, response: response, recordedAt: dated)
        }
        let failed = RecordedFailure(kind: "timedOut", stage: .head)
        return [
            ("nothing", Interaction(request: plain, response: fine, recordedAt: dated), []),
            ("a failure", Interaction(request: plain, failure: failed, recordedAt: dated), [.failure]),
            (
                "a broken body", Interaction(request: plain, response: fine, failure: failed, recordedAt: dated),
                [.failure]
            ),
            ("no date", Interaction(request: plain, response: fine), [.date]),
            (
                "a fragment",
                Interaction(
                    request: RecordedRequest(method: "GET", url: "https://a.example/#b"), response: fine,
                    recordedAt: dated),
                [.url]
            ),
            (
                "bytes of a request",
                Interaction(
                    request: RecordedRequest(
                        method: "PUT", url: "https://a.example/", body: RecordedBody(Data([0xFF]))), response: fine,
                    recordedAt: dated), [.body]
            ),
            (
                "trailers of a request",
                Interaction(
                    request: RecordedRequest(method: "PUT", url: "https://a.example/", trailers: [.eTag: "x"]),
                    response: fine, recordedAt: dated), [.trailers]
            ),
            ("trailers", changed { $0.trailers = [.eTag: "x"] }, [.trailers]),
            ("an interim response", changed { $0.informational = [.init(status: 103)] }, [.informational]),
            ("chunks", changed { $0.chunks = [.init(pause: 5, length: 1)] }, [.timing]),
            ("a lossy body", changed { $0.body.exactness = .lossy }, [.body]),
            (
                "an unknown coding",
                changed {
                    $0.fields[.contentEncoding] = "unheard-of"
                    $0.body.bytes = Data([0xFF])
                }, [.contentCoding]
            ),
        ]
    }()

    @Test(arguments: losses.indices)
    func `An archive lists what it has no place for, and restores it here`(index: Int) throws {
        let (name, interaction, kinds) = Self.losses[index]
        var found: [ExportLoss] = []

        let archive = HAR([Self.losses[0].1, interaction]) { found.append($0) }

        #expect(found.map(\.kind) == kinds, "\(name)")
        #expect(found.allSatisfy { $0.interaction == 2 && $0.isRestored })
        #expect(archive == HAR([Self.losses[0].1, interaction]))
        #expect(try ImportedCassette(archive.document(), named: "feed.har").interactions[1] == interaction)
    }

    @Test func `A field that is no text is listed, and is not restored`() throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .server, value: [0x61, 0xFF] as [UInt8]))
        let interaction = Interaction(
            request: RecordedRequest(method: "GET", url: "https://a.example/", fields: fields),
            response: RecordedResponse(status: 200, fields: fields), recordedAt: .now)
        var found: [ExportLoss] = []

        let archive = HAR([interaction]) { found.append($0) }

        #expect(found.map(\.kind) == [.field, .field])
        #expect(found.allSatisfy { !$0.isRestored })
        #expect(
            found.map(\.description) == [
                "interaction 1: The field Server of the request is not UTF-8.",
                "interaction 1: The field Server of the response is not UTF-8.",
            ])
        let restored = try ImportedCassette(archive.document(), named: "feed.har").interactions[0]
        #expect(restored.request.fields == [.server: "a\u{FFFD}"])
        #expect(restored.response?.fields == [.server: "a\u{FFFD}"])
    }

    @Test func `A coded body is listed`() throws {
        let coded = try Data(repeatElement(0x61, count: 100)).coded(.gzip)
        let response = RecordedResponse(status: 200, fields: [.contentEncoding: "gzip"], body: RecordedBody(coded))
        let request = RecordedRequest(method: "GET", url: "https://a.example/")
        var found: [ExportLoss] = []

        _ = HAR([Interaction(request: request, response: response, recordedAt: .now)]) { found.append($0) }

        #expect(found.map(\.kind) == [.contentCoding])
        #expect(found[0].description.hasPrefix("interaction 1: The content is written without its coding"))
    }
}
