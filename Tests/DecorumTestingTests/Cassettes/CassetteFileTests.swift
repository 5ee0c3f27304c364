import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Files that are damaged, hostile, or cannot be written.
@Suite struct CassetteFileTests {
    let folder = TemporaryFolder()

    static let whole = #"""
        {"cassette": 1, "interactions": [
        {"request": {"method": "GET", "url": "https://example.com/"},
         "response": {"status": 200, "headers": {"A": ["1", "2"]}, "json": [1, {"a": "b\n"}], "chunks": [[0, 3]]}}
        ]}
        """#

    func interactions(_ text: String) throws -> [Interaction] {
        try folder.write(text, to: "a.json")
        return try Cassette(at: folder.path("a.json"), mode: .replay).interactions()
    }

    @Test(arguments: [
        (
            #"{"cassette": 2, "interactions": []}"#, "line 1",
            "its version is 2: a later version of Decorum has written it, so update the package"
        ),
        (#"{"cassette": 0, "interactions": []}"#, "line 1", "its version is not 1, the only one that is known"),
        (#"{"cassette": 1.5, "interactions": []}"#, "line 1", "its version is not 1, the only one that is known"),
        (#"{"cassette": 1}"#, "line 1", "no list of interactions"),
        (#"{"cassette": 1, "interactions": [], "interactions": []}"#, "line 1", "occurs twice"),
        (#"{"cassette": 1, "interactions": [] } x"#, "line 1", "text after the end"),
        (
            "{\"cassette\": 1, \"interactions\": [\n{\"request\": {\"method\": \"GET\"}}]}", "line 2",
            "it has no `url`"
        ),
        (
            "{\"cassette\": 1, \"interactions\": [\n{\"request\": {\"method\": \"GET\", \"url\": \"/\"}}]}", "line 2",
            "neither a `response` nor an `error`"
        ),
    ])
    func `An invalid file throws an error with the place and the cause`(text: String, place: String, reason: String) {
        let error = #expect(throws: CassetteError.self) { try interactions(text) }
        #expect(error?.place.contains(place) == true)
        #expect(error?.reason.contains(reason) == true)
        #expect(error?.description.contains("a.json") == true)
    }

    @Test(arguments: [
        (#""status": 200, "base64": "%%%""#, "base64 is not valid"),
        (#""status": 200, "text": "a", "json": 1"#, "content twice"),
        (#""status": 200, "status": 201"#, "occurs twice"),
        (#""status": 200, "headers": {"A": "1", "a": "2"}"#, "twice; use a list"),
        (#""status": 200, "headers": {"A B": "1"}"#, "name of a field"),
        (#""status": 200, "headers": {"A": "1\n2"}"#, "value of a field"),
        (#""status": "200""#, "whole number"), (#""code": 200"#, "it has no `status`"),
        (#""status": 20"#, "its status is not a number from 100 to 999"),
        (#""status": 200, "json": 1, "layout": "odd""#, "layout is unknown"),
        (#""status": 200, "file": "../secret""#, "not in the folder a.tape"),
        (#""status": 200, "file": "a.tape/../../secret""#, "not in the folder a.tape"),
        (#""status": 200, "file": "/etc/passwd""#, "not in the folder a.tape"),
        (#""status": 200, "file": "a.tape/missing.png""#, "file a.tape/missing.png"),
        (#""status": 200, "chunks": [[1]]"#, "two numbers"), (#""status": 200, "chunks": [[-1, 2]]"#, "two numbers"),
        (#""status": 200, "text": ["a", 1]"#, "string is expected"),
        (#""status": 200, "charset": "x", "text": "a""#, "charset"),
    ])
    func `An invalid interaction throws an error with its place and the cause`(members: String, reason: String) {
        let error = #expect(throws: CassetteError.self) {
            try interactions(
                "{\"cassette\": 1, \"interactions\": [\n{\"request\": {\"method\": \"GET\", \"url\": \"/\"}, \"response\": {\(members)}}]}"
            )
        }
        #expect(error?.reason.contains(reason) == true)
        #expect(error?.place.contains("interactions[0]") == true)
    }

    @Test func `A link that leads out of the folder is not followed`() throws {
        try folder.write("secret", to: "secret")
        try FileManager.default.createDirectory(
            at: folder.url.appending(path: "a.tape"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            at: folder.url.appending(path: "a.tape/x.bin"), withDestinationURL: folder.url.appending(path: "secret"))
        let error = #expect(throws: CassetteError.self) {
            try interactions(
                #"{"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "/"}, "response": {"status": 200, "file": "a.tape/x.bin"}}]}"#
            )
        }
        #expect(error?.reason.contains("leads out") == true)
    }

    @Test func `Every truncation is an error, and no change of a byte is a crash`() throws {
        let bytes = Array(Self.whole.utf8)
        for count in 12..<bytes.count {
            #expect(throws: CassetteError.self) {
                try interactions(String(decoding: bytes.prefix(count), as: UTF8.self))
            }
        }
        let generator = SeededGenerator(seed: 9)
        var failures = 0
        for _ in 0..<1500 {
            var changed = bytes
            let index = 12 + Int(generator.next() % UInt64(bytes.count - 12))
            changed[index] = UInt8(truncatingIfNeeded: generator.next())
            try Data(changed).write(to: folder.url.appending(path: "a.json"))
            do {
                _ = try Cassette(at: folder.path("a.json"), mode: .replay).interactions()
            } catch is CassetteError {
                failures += 1
            }
        }
        #expect(failures > 300)
    }

    @Test func `A file that is too large is refused before it is read`() throws {
        let path = folder.path("large.json")
        #expect(FileManager.default.createFile(atPath: path, contents: Data("{\"cassette\"".utf8)))
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.truncate(atOffset: 300_000_000)
        try handle.close()
        let error = #expect(throws: CassetteError.self) { try Cassette(at: path, mode: .replay) }
        #expect(error?.reason.contains("300000000 bytes") == true)
    }

    @Test func `A folder in the place of the file is an error, and a link to a file is followed`() throws {
        let place = folder.path("place.json")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        let error = #expect(throws: CassetteError.self) { try Cassette(at: place, mode: .replay) }
        #expect(error?.reason == "it cannot be read from the disk")
        try folder.write(Self.whole, to: "whole.json")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("link.json"), withDestinationPath: folder.path("whole.json"))
        #expect(try Cassette(at: folder.path("link.json"), mode: .replay).interactions().count == 1)
    }

    @Test(arguments: ["", "\n  \n"]) func `An empty file is refused`(text: String) throws {
        try folder.write(text, to: "empty.json")
        for mode in [CassetteMode.replay, .append, .rewrite, .verify] {
            let error = #expect(throws: CassetteError.self) {
                try Cassette(at: folder.path("empty.json"), mode: mode)
            }
            #expect(error?.reason.hasPrefix("it is empty; restore the file from version control, or ") == true)
            #expect(error?.file.contains("empty.json") == true)
        }
        #expect(try folder.text("empty.json") == text)
    }

    /// A cassette with a file beside it.
    private func recordImage(_ byte: UInt8, path: String = "/", _ mode: CassetteMode = .once) async throws {
        let image = Response(
            status: .ok, fields: [.contentType: "image/png"], body: Body(Data(repeating: byte, count: 10_000)))
        try await record(path, image, mode)
    }

    private func record(_ path: String, _ response: Response, _ mode: CassetteMode) async throws {
        let cassette = try Cassette(at: folder.path("a.json"), mode: mode)
        _ = try await CassetteConnection(cassette, recording: StubConnection(response))
            .send(.get("https://example.com\(path)")).body.data(upTo: 1 << 20)
        try await cassette.finish()
    }

    /// All files and what they hold.
    private func contents() throws -> [String: Data] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.url.path)
        return Dictionary(
            paths.compactMap { path in FileManager.default.contents(atPath: folder.path(path)).map { (path, $0) } },
            uniquingKeysWith: { first, _ in first })
    }

    @Test(
        .enabled(if: getuid() != 0, "the superuser may write everywhere"), arguments: [CassetteMode.append, .rewrite])
    func `A folder that may not be written leaves everything as it is`(mode: CassetteMode) async throws {
        try await recordImage(1)
        let before = try contents()
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder.url.path)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.url.path) }
        await #expect(throws: CassetteError.self) { try await record("/b", Response(status: .ok), mode) }
        #expect(try contents() == before)
    }

    @Test(arguments: [CassetteMode.append, .rewrite])
    func `A secret that is found leaves the file that was there, and those beside it, as they were`(
        mode: CassetteMode
    ) async throws {
        try await recordImage(1)
        let before = try contents()
        #expect(before.count == 2)
        let secret = Response(status: .ok, body: Body(Data("ghp_x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o".utf8)))
        await #expect(throws: SecretFoundError.self) { try await record("/b", secret, mode) }
        #expect(try contents() == before)
    }

    @Test(arguments: [CassetteMode.append, .rewrite])
    func `A file beside the cassette that cannot be written leaves the cassette as it was`(
        mode: CassetteMode
    ) async throws {
        try await record("/a", Response(status: .ok, body: "a"), .once)
        try folder.write("I am a file", to: "a.tape")
        let before = try contents()
        let error = await #expect(throws: CassetteError.self) { try await recordImage(2, path: "/b", mode) }
        #expect(error?.reason.contains("cannot be written") == true)
        #expect(try contents() == before)
    }

    @Test(arguments: ["lost", "damaged"])
    func `Recording anew mends a cassette of which a file is lost or damaged`(state: String) async throws {
        try await recordImage(1)
        let before = try contents()
        let file = folder.path(try #require(before.keys.first { $0.hasPrefix("a.tape/") }))
        func spoil() throws {
            if state == "lost" {
                try FileManager.default.removeItem(atPath: file)
            } else {
                try Data("other".utf8).write(to: URL(filePath: file))
            }
        }
        try spoil()
        try await recordImage(1, .rewrite)
        #expect(try contents() == before)

        try spoil()
        try await recordImage(2, .rewrite)
        let after = try contents()
        #expect(after.count == 2)
        #expect(after.values.contains(Data(repeating: 2, count: 10_000)))
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test func `Recording anew mends an interaction that cannot be read`() async throws {
        try folder.write(
            """
            {"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "https://example.com/"},
            "response": {"status": 200, "status": 201, "base64": "%%%"}}]}
            """, to: "a.json")
        try await record("/", Response(status: .ok, body: "new"), .rewrite)
        #expect(try interactionsAsRecorded().map(\.response?.body.bytes) == [Data("new".utf8)])
    }

    private func interactionsAsRecorded() throws -> [Interaction] {
        try Cassette(at: folder.path("a.json"), mode: .replay).interactions()
    }

    @Test func `Recording anew removes no file outside of the folder of the cassette`() async throws {
        try folder.write("keep me", to: "other")
        try folder.write(
            """
            {"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "https://example.com/"},
            "response": {"status": 200, "file": "a.tape/../other"}}]}
            """, to: "a.json")
        try await record("/", Response(status: .ok, body: "new"), .rewrite)
        #expect(try folder.text("other") == "keep me")
        #expect(try folder.text("a.json").contains("new"))
    }

    @Test(arguments: ["", "{\"cassette\": 1,\n"]) func `The marks of a merge are told with their line`(start: String)
        throws
    {
        try folder.write(
            start + "<<<<<<< HEAD\n  \"interactions\": [\n=======\n  \"interactions\": []\n>>>>>>> main\n}",
            to: "a.json")
        let error = #expect(throws: CassetteError.self) { try Cassette(at: folder.path("a.json"), mode: .replay) }
        #expect(error?.place == "line \(start.isEmpty ? 1 : 2)")
        #expect(error?.reason.hasPrefix("a merge has left a conflict there") == true)
        #expect(error?.reason.hasSuffix("or delete the file and record it again") == true)
    }

    @Test func `A folder that cannot be made is told in words`() async throws {
        try folder.write("x", to: "file")
        let cassette = try Cassette(at: folder.path("file/a.json"), mode: .once)
        _ = try await CassetteConnection(cassette, recording: StubConnection(Response(status: .ok)))
            .send(.get("https://example.com/"))
        let error = await #expect(throws: CassetteError.self) { try await cassette.finish() }
        #expect(error?.reason.hasPrefix("it cannot be written, because ") == true)
        #expect(error?.reason.contains("error ") == false, "\(error?.reason ?? "")")
    }

    /// The error of a file whose request has two lines, beginning with line 3, and whose response has two, beginning with
    /// line 5.
    private func faultOfFile(request: String, response: String) throws -> CassetteError? {
        try folder.write(
            """
            {"cassette": 1,
            "interactions": [{
            "request": {"method": "GET",
            \(request)},
            "response": {"headers": {},
            \(response)}}
            ]}
            """, to: "a.json")
        return #expect(throws: CassetteError.self) {
            try Cassette(at: folder.path("a.json"), mode: .replay).interactions()
        }
    }

    @Test(arguments: [
        (#""status": 200, "text": "a"#, "a string does not end on its line, so a quotation mark may be missing"),
        ("\"status\": 200, \"text\": \"a\tb\"", "a string has a control character"),
        (#""status": 200,"#, "a string is expected"), (#""status": 200, text: "a""#, "a string is expected"),
    ])
    func `A file that is no JSON is told with the remedy`(members: String, reason: String) throws {
        let error = try faultOfFile(request: #""url": "/""#, response: members)
        #expect(error?.reason == reason + "; restore the file from version control, or delete it and record it again")
        #expect(error?.place == "line 6")
    }

    @Test func `A message with more fields than any has is refused with its line`() throws {
        // HTTPTypes ends the process at 65,535 fields.
        func lists(of count: Int) -> [String] {
            let values = Array(repeating: #""b""#, count: count).joined(separator: ",")
            let members = (0..<count).map { #""a\#($0)":"b""# }.joined(separator: ",")
            return [#"{"a":[\#(values)]}"#, "{\(members)}"]
        }
        for fields in lists(of: 65_535) {
            let errors = [
                try faultOfFile(request: #""url": "/", "headers": \#(fields)"#, response: #""status": 200"#),
                try faultOfFile(request: #""url": "/", "trailers": \#(fields)"#, response: #""status": 200"#),
                try faultOfFile(request: #""url": "/""#, response: #""status": 200, "trailers": \#(fields)"#),
                try faultOfFile(
                    request: #""url": "/""#,
                    response: #""status": 200, "interim": [{"status": 103, "headers": \#(fields)}]"#),
            ]
            for (error, line) in zip(errors, [4, 4, 6, 6]) {
                #expect(error?.reason == "a message has more than 1000 fields")
                #expect(error?.place == "line \(line), interactions[0]")
            }
        }
        for fields in lists(of: 1000) {
            try folder.write(
                #"{"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "/", "headers": \#(fields)}, "response": {"status": 200}}]}"#,
                to: "a.json")
            let interactions = try Cassette(at: folder.path("a.json"), mode: .replay).interactions()
            #expect(interactions.map(\.request.fields.count) == [1000])
        }
    }

    @Test func `Members of a later version are read, and an invalid day is refused`() throws {
        func file(_ day: String) -> String {
            """
            {"cassette": 1, "interactions": [
            {"request": {"method": "GET", "url": "/", "weight": 1},
            "response": {"status": 200, "server": "a", "quick response": true}, "at": "\(day)", "mood": 1, "comments": []}]}
            """
        }
        try folder.write(file("2026-11-24"), to: "a.json")
        #expect(try Cassette(at: folder.path("a.json"), mode: .replay).interactions().count == 1)
        try folder.write(file("2026-13-24"), to: "a.json")
        let error = #expect(throws: CassetteError.self) {
            try Cassette(at: folder.path("a.json"), mode: .replay).interactions()
        }
        #expect(error?.reason == "its day is not a valid date")
        #expect(error?.place.hasPrefix("line 3") == true)
    }

    @Test func `A content file that was edited is told with the remedy`() throws {
        try FileManager.default.createDirectory(
            at: folder.url.appending(path: "a.tape"), withIntermediateDirectories: true)
        try folder.write("edited", to: "a.tape/0123456789abcdef.bin")
        let error = try faultOfFile(
            request: #""url": "/""#, response: #""status": 200, "file": "a.tape/0123456789abcdef.bin""#)
        #expect(error?.reason.contains("no longer the checksum of its content; restore the file from ") == true)
    }
}
