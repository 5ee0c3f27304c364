import DecorumTestSupport
import Foundation
import Testing

/// Cassettes of other recorders that are beside the checkout, with what an independent reader finds in them.
enum SharedCassettes {
    struct File: Decodable, Sendable, CustomTestStringConvertible {
        let file: String
        let expect: String?
        let interactions: [Exchange]?

        var testDescription: String { file }
    }

    struct Exchange: Decodable, Sendable {
        let method: String
        let url: String
        let status: Int
        let reqHeaders: [[String]]?
        let respHeaders: [[String]]?
        let reqLen: Int?
        let reqSHA: String?
        let respLen: Int?
        let respSHA: String?
        let respCompare: String?
        let note: String?
    }

    /// The folder; nil if absent.
    static let folder: URL? = Fixtures.shared("cassettes/EXPECTED.jsonl")?.deletingLastPathComponent()

    static let files: [File] = {
        guard let folder, let lines = try? Data(contentsOf: folder.appending(path: "EXPECTED.jsonl")) else { return [] }
        return lines.split(separator: 0x0A).compactMap { try? JSONDecoder().decode(File.self, from: $0) }
    }()
}
