#if CommandLine
import ArgumentParser
import Decorum
import DecorumArchive
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumCommand

struct RecordingTests {
    static let token = "ghp_" + "abcdefghijklmnopqrstuvwxyzABCDEF0123"

    static func interaction(_ path: String, status: Int = 200, json: String) -> Interaction {
        Interaction(
            request: RecordedRequest(method: "GET", url: "https://api.example.com\(path)"),
            response: RecordedResponse(
                status: status, fields: [.contentType: "application/json"], body: RecordedBody(Data(json.utf8))))
    }

    /// An archive with interactions as they are, also with secrets.
    static func archive(_ interactions: Interaction...) -> String {
        String(decoding: HAR(interactions).document(), as: UTF8.self)
    }

    /// Writes an archive, and opens it.
    static func file(_ name: String, _ interactions: [Interaction], in folder: URL) throws -> RecordingFile {
        let path = folder.appending(path: name).path
        try HAR(interactions).document().write(to: URL(filePath: path))
        return try RecordingFile(at: path, rules: .reading())
    }

    #if CassetteImport
    /// Contents in a coding that this package does not decode, in which a secret would not be found.
    static let coded = ["by-hand/nock/chunks.json", "by-hand/nock/objects.json"]

    @Test func `A recording of any format is converted to a cassette, an archive, and back without a loss`()
        async throws
    {
        let root = Fixtures.url("cassettes")
        let names = try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted().filter { name in
            !name.hasPrefix("generate/") && ["json", "har", "yaml", "yml", "zz"].contains { name.hasSuffix(".\($0)") }
        }
        #expect(names.count == 71)
        try await withFolder { folder in
            for (number, name) in names.enumerated() {
                let paths = ["a.json", "b.har", "c.json"].map { folder.appending(path: "\(number)\($0)").path }
                let isRefused = Self.coded.contains(name) || name.hasPrefix("by-hand/refused/")
                do {
                    var last = try RecordingFile(at: root.appending(path: name).path, rules: .reading())
                    let requests = last.requests
                    for path in paths {
                        try last.write(last.interactions, to: path, by: .quiet())
                        last = try RecordingFile(at: path, rules: .reading())
                        #expect(last.requests == requests, "\(name)")
                    }
                    let documents = try [paths[0], paths[2]].map { try Data(contentsOf: URL(filePath: $0)) }
                    #expect(documents[0] == documents[1] && !isRefused, "\(name)")
                } catch { #expect(CommandStatus(of: error) == .badInput && isRefused, "\(name): \(error)") }
            }
        }
    }
    #endif

    @Test(arguments: ["vcr-ruby/texts.yml", "nock/requests.json"])
    func `A recording of another tool is refused with the trait that reads it`(name: String) throws {
        let path = Fixtures.url("cassettes/\(name)").path
        let error = #expect(throws: CassetteImportError.self) { try RecordingFile(at: path, rules: CassetteRules()) }
        let words = error.flatMap { CommandFailure.text(of: $0) }
        #expect(words?.hasSuffix("; build this with the trait `CassetteImport`.") == true)
    }

    @Test func `A hostile archive ends with the status of bad input, and moves no cursor`() async throws {
        var interaction = Self.interaction("/1\u{1B}[2J\r\n9  GET https://b.example/", json: "{}")
        interaction.response?.fields[.contentType] = "text/\u{7}html"
        interaction.response?.reason = "\u{1B}]0;title\u{7}"
        let nested = #"{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":["#
        let files = [
            "control.har": Self.archive(interaction), "deep.har": nested + String(repeating: "[", count: 200_000),
            "wide.har": nested + String(repeating: "{},", count: 300_000) + "{}]}}",
        ]
        let run = try await CommandRun(["cassette", "inspect", "control.har"], files: files)
        #expect(run.status == 0 && run.output.split(separator: "\n").count == 2)
        #expect((run.output + run.talk).utf8.allSatisfy { $0 >= 0x20 || $0 == 0x0A })

        let huge = run.folder.appending(path: "huge.har")
        #expect(FileManager.default.createFile(atPath: huge.path, contents: nil))
        try FileHandle(forWritingTo: huge).truncate(atOffset: 1 << 32)
        for name in ["deep.har", "wide.har", "huge.har"] {
            for words in [["inspect"], ["status"], ["merge", "control.har", "--output", "b.json"]] {
                let arguments = ["cassette", words[0], run.folder.appending(path: name).path] + words.dropFirst()
                let other = try await CommandRun(arguments, files: ["control.har": Self.archive(interaction)])
                #expect(other.status == (words == ["status"] ? 1 : 65), "\(arguments): \(other.talk)")
            }
        }
    }

    @Test func `Redacting replaces what is named, and once more changes nothing`() async throws {
        try await withFolder { folder in
            var secret = Self.interaction("/a?pin=k3y-of-ada&page=2", json: #"{"user":{"pin":"w0rd-of-ada"},"n":1}"#)
            secret.request.fields[.cookie] = "sid=c00kie-of-ada"
            _ = try Self.file("a.har", [secret], in: folder)
            let paths = ["a.har", "b.json", "c.json"].map { folder.appending(path: $0).path }
            for (source, path) in zip(paths, paths[1...]) {
                let options = ["--query", "pin", "--json", "user.pin", "--output", path, "--quiet"]
                try CassetteRedactCommand.parse([source] + options).run()
            }
            let texts = try paths[1...].map { try String(contentsOfFile: $0, encoding: .utf8) }
            #expect(!texts[0].contains("-of-ada") && texts[0].contains("page=2") && texts[0] == texts[1])
        }
    }

    @Test func `A file that would hold a secret is not written`() async throws {
        try await withFolder { folder in
            let source = try Self.file("a.har", [Self.interaction("/a", json: #"{"t":"\#(Self.token)"}"#)], in: folder)
            #expect(source.secrets.count == 1)
            let path = folder.appending(path: "b.json").path
            let failure = #expect(throws: CommandFailure.self) {
                try source.write(source.interactions, to: path, by: .quiet())
            }
            #expect(failure?.status == .refused && failure?.text?.contains(Self.token) == false)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `A file in the place of another leaves no old content beside it`() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "a.json").path
            var image = Self.interaction("/image", json: "")
            image.response?.fields[.contentType] = "image/png"
            image.response?.body.bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 * 7) })
            let first = try Self.file("a.har", [image], in: folder)
            try first.write(first.interactions, to: path, by: .quiet())
            let beside = folder.appending(path: "a.tape").path
            #expect(try FileManager.default.contentsOfDirectory(atPath: beside).count == 1)

            let second = try Self.file("b.har", [Self.interaction("/text", json: "{}")], in: folder)
            try second.write(second.interactions, to: path, by: .quiet("--force"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: beside).isEmpty)
        }
    }

    @Test func `A union has each interaction as often as the recording that has it most often`() async throws {
        try await withFolder { folder in
            let (one, two) = (Self.interaction("/1", json: "{}"), Self.interaction("/2", json: #"{"a":1}"#))
            let other = Self.interaction("/2", json: #"{"a":2}"#)
            let files = try [[one, two], [two, two], [other, one]].enumerated().map { number, interactions in
                try Self.file("\(number).har", interactions, in: folder)
            }
            let union = try files[0].union(with: Array(files[1...]))
            #expect(union.map(\.request.url.last) == ["1", "2", "2", "2"])
            #expect(union.compactMap(\.response?.body.bytes).filter { $0 == Data(#"{"a":2}"#.utf8) }.count == 1)
        }
    }

    @Test func `A recorded request is sent anew without credentials, and not at all with another secret`() async throws
    {
        try await withFolder { folder in
            var plain = Self.interaction("/1?page=2", json: "{}")
            plain.request.fields = [.authorization: "Bearer abc", .contentLength: "3", .accept: "text/plain"]
            var secret = Self.interaction("/2", json: "{}")
            (secret.request.method, secret.request.fields) = ("POST", [.contentType: "application/json"])
            secret.request.body.bytes = Data(#"{"password":"s3cretS3cret"}"#.utf8)
            let queried = Self.interaction("/1?access_token=s3cretS3cret", json: "{}")
            let named = Self.interaction("/\(Self.token)", json: "{}")
            let file = try Self.file("a.har", [plain, queried, secret, named], in: folder)
            let request = try #require(try file.requests(to: Origin("http://127.0.0.1:81"))[0])
            #expect(request.head.path == "/1?page=2" && request.head.authority == "127.0.0.1:81")
            #expect(request.head.headerFields == [.accept: "text/plain"])

            let path = folder.appending(path: "b.json").path
            try file.write(Array(file.interactions[...2]), to: path, by: .quiet())
            for file in [file, try RecordingFile(at: path, rules: .reading())] {
                #expect(try file.requests(to: nil).dropFirst().allSatisfy { $0 == nil })
            }
        }
    }
}

extension ConsoleOptions {
    static func quiet(_ options: String...) throws -> Self { try parse(["--quiet"] + options) }
}
#endif
