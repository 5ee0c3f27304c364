#if CassetteImport
import DecorumTestSupport
import Foundation
import Testing

/// Cassettes of other recorders, with what an independent reader finds in them.
///
/// They are in `Fixtures/cassettes`, and in a folder beside the checkout if it exists.
enum ForeignCassettes {
    struct File: Sendable, CustomTestStringConvertible {
        let url: URL
        let name: String
        /// Whether the file cannot be read; it then has no interactions.
        let isRefused: Bool
        let interactions: [Exchange]

        var testDescription: String { name }
    }

    struct Exchange: Decodable, Sendable {
        let method: String
        let url: String
        let status: Int
        /// Whether the exchange failed; nil if only its status tells that.
        let failed: Bool?
        let reqHeaders: [[String]]?
        let respHeaders: [[String]]?
        let reqLen: Int?
        let reqSHA: String?
        let respLen: Int?
        let respSHA: String?
    }

    /// The folders that have cassettes.
    static let folders = [Fixtures.url("cassettes"), Fixtures.shared("cassettes")].compactMap(\.self)

    static let files: [File] = folders.flatMap { folder in (try? files(in: folder)) ?? [] }

    static func files(in folder: URL) throws -> [File] {
        let lines = try Data(contentsOf: folder.appending(path: "EXPECTED.jsonl")).split(separator: 0x0A)
        return try lines.map { line in
            let expectation = try JSONDecoder().decode(Line.self, from: line)
            return File(
                url: folder.appending(path: expectation.file), name: expectation.file,
                isRefused: expectation.expect != nil, interactions: expectation.interactions ?? [])
        }
    }

    private struct Line: Decodable {
        let file: String
        let expect: String?
        let interactions: [Exchange]?
    }
}
#endif
