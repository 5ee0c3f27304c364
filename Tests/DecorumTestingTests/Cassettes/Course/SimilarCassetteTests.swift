import Foundation
import Testing

@testable import DecorumTesting

/// The files that an error names beside a cassette: one of a similar name, and one with the same content.
@Suite struct SimilarCassetteTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func file(_ name: String, beside source: String?) throws -> URL {
        let cassettes = folder.url.appending(path: "Cassettes/FeedTests")
        try FileManager.default.createDirectory(at: cassettes, withIntermediateDirectories: true)
        try Data("{}".utf8).write(to: cassettes.appending(path: "readsFeed.json"))
        if let source { try Data(source.utf8).write(to: folder.url.appending(path: "FeedTests.swift")) }
        return cassettes.appending(path: name)
    }

    @Test(arguments: [nil, "", "func other() {}", "func \\"])
    func `A file that the source of the tests does not name is similar`(source: String?) throws {
        #expect(SimilarCassette.name(like: try file("readsFeeds.json", beside: source)) == "readsFeed.json")
    }

    @Test(arguments: [
        "@Test(.cassette) func readsFeed() async throws {", "    try await withCassette(\"readsFeed\") { _ in",
        "func `readsFeed`() {",
    ])
    func `A file that the source of the tests names is that of another test`(source: String) throws {
        #expect(SimilarCassette.name(like: try file("readsFeeds.json", beside: "import Testing\n" + source)) == nil)
    }

    @Test func `A test's name in words is that of its file`() {
        let names = NamedCassettes.names(in: "@Test func `Reads a page (2)`() throws { _ = \"a b\" + \"\"")
        #expect(names == ["Reads-a-page--2-", "a-b"])
    }

    @Test func `A file with the same bytes is found, and no file of another extension`() throws {
        let file = try file("copy.json", beside: nil)
        #expect(EqualCassette.name(of: file) == nil)
        try Data("{}".utf8).write(to: file)
        #expect(EqualCassette.name(of: file) == "readsFeed.json")
        try Data("[]".utf8).write(to: file)
        #expect(EqualCassette.name(of: file) == nil)
        let other = file.deletingPathExtension().appendingPathExtension("har")
        try Data("{}".utf8).write(to: other)
        #expect(EqualCassette.name(of: other) == nil)
    }
}
