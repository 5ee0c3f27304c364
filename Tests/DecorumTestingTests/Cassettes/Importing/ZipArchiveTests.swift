import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(3))) struct ZipArchiveTests {
    private let whole: Data

    init() throws {
        whole = try CodedItems.data("items.har.zip")
    }

    @Test func `An HTTP archive in a zip archive is read with the content beside it`() throws {
        let imported = try ImportedCassette(whole, named: "items.har.zip")

        #expect(imported.interactions.map(\.request.url) == ["https://api.example.com/items"])
        #expect(imported.interactions[0].response?.body.bytes == (try CodedItems.content()))
        #expect(imported.warnings == [])
    }

    @Test func `A cassette plays a zip archive, and does not record on it`() async throws {
        let folder = try TemporaryFolder()
        try whole.write(to: folder.url.appending(path: "items.har.zip"))
        let cassette = try Cassette(at: folder.path("items.har.zip"), mode: .replay)

        let response = try await CassetteConnection(cassette).send(.get("https://api.example.com/items"))

        #expect(try await response.body.data(upTo: 1 << 20) == (try CodedItems.content()))
        try await cassette.finish()
        let error = #expect(throws: CassetteError.self) {
            try Cassette(at: folder.path("items.har.zip"), mode: .append)
        }
        #expect(error?.reason.contains("HAR that is not plain JSON, which is only replayed") == true)
    }

    @Test func `Content that the zip archive does not have is missing`() throws {
        let renamed = try renaming("items.json", to: "atems.json")
        let imported = try ImportedCassette(renamed, named: "items.har.zip")

        #expect(imported.interactions[0].response?.body.bytes.isEmpty == true)
        #expect(imported.warnings.map(\.kind) == [.missingBody])
    }

    @Test func `A zip archive without one recording is refused`() throws {
        let renamed = try renaming("har.har", to: "har.hat")
        let error = #expect(throws: CassetteImportError.self) { try ImportedCassette(renamed, named: "x.zip") }
        #expect(error?.reason.contains("several files") == true)
    }

    @Test func `Every truncation is an error, and damage of the content is found`() throws {
        for count in stride(from: 0, to: whole.count - "a comment".utf8.count, by: 37) {
            #expect(throws: CassetteImportError.self) { try ImportedCassette(whole.prefix(count), named: "x") }
        }
        let content = try CodedItems.content()
        var dice = SeededDice(seed: 4)
        for _ in 0..<200 {
            var damaged = whole
            damaged[Int.random(in: 0..<whole.count, using: &dice)] ^= UInt8(1 << Int.random(in: 0..<8, using: &dice))
            guard let imported = try? ImportedCassette(damaged, named: "x") else { continue }
            for body in imported.interactions.compactMap(\.response?.body.bytes) {
                #expect(body.isEmpty || body == content)
            }
        }
    }

    /// The archive with another name in its list of files, which is at its end.
    private func renaming(_ name: String, to other: String) throws -> Data {
        let place = try #require(whole.range(of: Data(name.utf8), options: .backwards))
        return whole.replacingSubrange(place, with: Data(other.utf8))
    }
}

extension Data {
    fileprivate func replacingSubrange(_ range: Range<Int>, with other: Data) -> Data {
        self[..<range.lowerBound] + other + self[range.upperBound...]
    }
}
