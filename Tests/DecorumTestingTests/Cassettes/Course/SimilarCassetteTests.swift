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

    private func hint(_ name: String, beside source: String?, isNamed: Bool = false) throws -> String? {
        SimilarCassette.hint(for: try file(name, beside: source), isNamed: isNamed)
    }

    private static let similar = "readsFeed.json in the same folder is similar"

    @Test(arguments: [nil, "", "func other() {}", "func \\"])
    func `A file that the source of the tests does not name is similar`(source: String?) throws {
        #expect(try hint("readsFeeds.json", beside: source) == Self.similar)
    }

    @Test(arguments: [
        "@Test(.cassette) func readsFeed() async throws {", "    try await withCassette(\"readsFeed\") { _ in",
        "func `readsFeed`() {",
    ])
    func `A file that the source of the tests names is that of another test`(source: String) throws {
        #expect(try hint("readsFeeds.json", beside: "import Testing\n" + source) == nil)
    }

    @Test func `A name that a test gives may be misspelled for that of a cassette which other tests name`() throws {
        let source = "@Test(.cassette(\"readsFeed\")) func a() {}\n@Test(.cassette(\"readFeed\")) func b() {}"
        #expect(try hint("readFeed.json", beside: source, isNamed: true) == Self.similar)
        #expect(try hint("readsFeedOfToday.json", beside: source, isNamed: true) == nil)
        #expect(try hint("readFeed.json", beside: "@Test(.cassette) func readsFeed() {}", isNamed: true) == nil)
    }

    @Test func `The only file that the tests do not name may be that of a renamed test`() throws {
        let words = "readsFeed.json in the same folder is named by no test in FeedTests.swift"
        #expect(try hint("news.json", beside: nil) == nil)
        #expect(try hint("news.json", beside: "@Test(.cassette) func news() {}") == words)
        let other = try file("other.json", beside: "@Test(.cassette) func news() {}")
        try Data("{}".utf8).write(to: other)
        #expect(try hint("news.json", beside: "@Test(.cassette) func news() {}") == nil)
    }

    @Test func `A new case of a test that builds its names is no renamed test`() throws {
        let source = "try await withCassette(\"readsFeed-\\(page)\") { _ in #expect(a == b, \"\\(a)\") }"
        // No file has a name that is built so, so the test itself may have another name now.
        #expect(try hint("readsFeed-2.json", beside: source, isNamed: true) == Self.similar)
        try Data("{}".utf8).write(to: try file("readsFeed-1.json", beside: source))
        #expect(try hint("readsFeed-2.json", beside: source, isNamed: true) == nil)
    }

    @Test func `A file whose name a test builds is that of another test`() throws {
        let source = "func readsFeed() {}\nfunc other() { withCassette(\"case-\\(page)\") }"
        try Data("{}".utf8).write(to: try file("case-1.json", beside: source))
        #expect(try hint("case1.json", beside: source) == nil)
        #expect(try hint("news.json", beside: source) == nil)
    }

    @Test(
        arguments: [
            ("page-\\(number)", "page-12", true), ("page-\\(number)", "pages-12", false),
            ("\\(language) feed", "de-feed", true), ("a-\\(x)-\\(y)-z", "a-1-z", true), ("a-\\(x)-z", "a-z", false),
            ("page-\\(names[", "page-one", true), ("\\(error)", "page-1", nil), ("\\(a), \\(b)", "page-1", nil),
            ("page-1", "page-1", nil),
        ] as [(String, String, Bool?)])
    func `A name that a test builds is known by its fixed parts`(text: String, name: String, matches: Bool?) {
        #expect(InterpolatedName(text[...])?.matches(name) == matches)
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
