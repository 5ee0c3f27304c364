#if CassetteImport
import Decorum
import DecorumCassetteImport
import DecorumTesting
import Foundation
import Testing

/// Content that VCR for R wrote in a file beside the cassette.
@Suite(.timeLimit(.minutes(3))) struct WrittenFileTests {
    private let folder: TemporaryFolder
    private let cassettes: URL

    init() throws {
        folder = try TemporaryFolder()
        cassettes = folder.url.appending(path: "tests/fixtures")
        try FileManager.default.createDirectory(at: cassettes, withIntermediateDirectories: true)
        let files = folder.url.appending(path: "tests/files")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        try Data("content".utf8).write(to: files.appending(path: "a.json"))
        try Data("beside".utf8).write(to: cassettes.appending(path: "b.json"))
        try Data("secret".utf8).write(to: folder.url.appending(path: "c.json"))
        try FileManager.default.createSymbolicLink(
            at: files.appending(path: "link.json"), withDestinationURL: folder.url.appending(path: "c.json"))
    }

    @Test(arguments: [
        ("../files/a.json", "content"), ("b.json", "beside"), ("/home/me/project/tests/files/a.json", "content"),
        ("../../tests/files/a.json", "content"),
    ])
    func `The file is read from the folder around the cassette's`(path: String, expected: String) throws {
        let imported = try read("file: yes", "string: \(path)")

        #expect(imported.interactions[0].response?.body == RecordedBody(Data(expected.utf8)))
        #expect(imported.warnings == [])
    }

    @Test(arguments: ["../files/none.json", "../../c.json", "/etc/hosts", "../files/link.json", "../files", "a\\0b"])
    func `A file that is absent or elsewhere is missing content`(path: String) throws {
        let imported = try read("file: yes", "string: \"\(path)\"")

        #expect(imported.interactions[0].response?.body == RecordedBody(exactness: .lossy))
        #expect(imported.warnings.map(\.kind) == [.missingBody])
        #expect(imported.warnings[0].line == 10)
    }

    @Test(arguments: [("file: no", "../files/a.json"), ("file: false", "x"), ("encoding: UTF-8", "b.json")])
    func `Without the mark, the text is the content`(mark: String, text: String) throws {
        let imported = try read(mark, "string: \(text)")

        #expect(imported.interactions[0].response?.body.bytes == Data(text.utf8))
    }

    @Test func `JSON has the mark as a Boolean`() throws {
        let document =
            #"{"http_interactions": [{"request": {"uri": "https://a.example/"}, "response": {"status": {"status_code": 200}, "body": {"file": true, "string": "../files/a.json"}}}]}"#

        let imported = try ImportedCassette(Data(document.utf8), named: "feed.json", folder: cassettes, formats: .known)

        #expect(imported.interactions[0].response?.body.bytes == Data("content".utf8))
    }

    private func read(_ mark: String, _ string: String) throws -> ImportedCassette {
        try read(mark, string, folder: cassettes)
    }

    private func read(_ mark: String, _ string: String, folder: URL?) throws -> ImportedCassette {
        try ImportedCassette(Data(Self.document(mark, string).utf8), named: "feed.yml", folder: folder, formats: .known)
    }

    private static func document(_ mark: String, _ string: String) -> String {
        """
        http_interactions:
        - request:
            method: get
            uri: https://a.example/
          response:
            status:
              status_code: 200
            body:
              \(mark)
              \(string)
          recorded_with: vcr/1.2.0
        """
    }
}
#endif
