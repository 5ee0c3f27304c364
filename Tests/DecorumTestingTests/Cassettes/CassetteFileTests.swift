import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Files that are damaged, hostile, or cannot be written.
@Suite struct CassetteFileTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

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
        (#"{"cassette": 2, "interactions": []}"#, "line 1", "version is not 1"),
        (#"{"cassette": 1}"#, "line 1", "no list of interactions"),
        (#"{"cassette": 1, "interactions": [], "interactions": []}"#, "line 1", "two lists"),
        (#"{"cassette": 1, "interactions": [] } x"#, "line 1", "more behind the end"),
        (
            "{\"cassette\": 1, \"interactions\": [\n{\"request\": {\"method\": \"GET\"}}]}", "line 2",
            "no method, or no URL"
        ),
        (
            "{\"cassette\": 1, \"interactions\": [\n{\"request\": {\"method\": \"GET\", \"url\": \"/\"}}]}", "line 2",
            "nothing that answers"
        ),
    ])
    func `A file that is none says where and why`(text: String, place: String, reason: String) {
        let error = #expect(throws: CassetteError.self) { try interactions(text) }
        #expect(error?.place.contains(place) == true)
        #expect(error?.reason.contains(reason) == true)
        #expect(error?.description.contains("a.json") == true)
    }

    @Test(arguments: [
        (#""status": 200, "base64": "%%%""#, "base64 is not valid"),
        (#""status": 200, "text": "a", "json": 1"#, "content twice"),
        (#""status": 200, "status": 201"#, "stands there twice"),
        (#""status": 200, "headers": {"A": "1", "a": "2"}"#, "twice; use a list"),
        (#""status": 200, "headers": {"A B": "1"}"#, "name of a field"),
        (#""status": 200, "headers": {"A": "1\n2"}"#, "value of a field"),
        (#""status": 20"#, "status"), (#""status": "200""#, "whole number"),
        (#""status": 200, "json": 1, "layout": "odd""#, "layout is unknown"),
        (#""status": 200, "file": "../secret""#, "not in the folder a.tape"),
        (#""status": 200, "file": "a.tape/../../secret""#, "not in the folder a.tape"),
        (#""status": 200, "file": "/etc/passwd""#, "not in the folder a.tape"),
        (#""status": 200, "file": "a.tape/missing.png""#, "file a.tape/missing.png"),
        (#""status": 200, "chunks": [[1]]"#, "two numbers"), (#""status": 200, "chunks": [[-1, 2]]"#, "two numbers"),
        (#""status": 200, "text": ["a", 1]"#, "string is expected"),
        (#""status": 200, "charset": "x", "text": "a""#, "charset"),
    ])
    func `An interaction that is none says which and why`(members: String, reason: String) {
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

    @Test func `Deep nesting is refused`() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: CassetteError.self) {
            try interactions(#"{"cassette": 1, "interactions": [{"request": {"json": "# + deep)
        }
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

    @Test func `An empty file is refused`() throws {
        try folder.write("", to: "empty.json")
        #expect(throws: (any Error).self) { try Cassette(at: folder.path("empty.json"), mode: .replay) }
    }

    @Test func `A missing file is an error where it has to be there`() {
        for mode in [CassetteMode.replay, .verify] {
            let error = #expect(throws: CassetteError.self) { try Cassette(at: folder.path("none.json"), mode: mode) }
            #expect(error?.reason.contains("CASSETTE=once") == true)
        }
    }

    @Test(.enabled(if: getuid() != 0, "the superuser may write everywhere"))
    func `A folder that may not be written leaves everything as it is`() async throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder.url.path)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.url.path) }
        let cassette = try Cassette(at: folder.path("a.json"), mode: .append)
        _ = try await CassetteConnection(cassette, recording: StubConnection(Response(status: .ok)))
            .send(.get("https://example.com/"))
        #expect(throws: CassetteError.self) { try cassette.finish() }
    }

    @Test func `A path that cannot be a folder is a clear error`() async throws {
        try folder.write("I am a file", to: "file")
        let cassette = try Cassette(at: folder.path("file/a.json"), mode: .append)
        _ = try await CassetteConnection(cassette, recording: StubConnection(Response(status: .ok)))
            .send(.get("https://example.com/"))
        let error = #expect(throws: CassetteError.self) { try cassette.finish() }
        #expect(error?.reason.contains("cannot be") == true)
        #expect(try folder.text("file") == "I am a file")
    }

    @Test func `A mode that does not exist is an error`() throws {
        #expect(throws: CassetteModeError.self) { try CassetteMode.current(in: ["CASSETTE": "playback"]) }
        #expect(try CassetteMode.current(in: ["CASSETTE": "verify", "CI": "true"]) == .verify)
        #expect(try CassetteMode.current(in: ["CI": "true"]) == .replay)
        #expect(try CassetteMode.current(in: ["CI": "false"]) == .once)
        #expect(try CassetteMode.current(in: [:]) == .once)
    }
}
