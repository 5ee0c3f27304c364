#if Signing
import Decorum
import DecorumTestSupport
import Foundation

@testable import DecorumSigning

/// Documents, files and requests in `Fixtures/signing/aws.json`, and what is expected of them.
struct AWSExamples: Decodable {
    struct Mistake: Decodable {
        let text, place: String
    }

    struct Command: Decodable {
        let line: String
        let words: [String]?
    }

    struct SignedRequest: Decodable {
        let method, target, body, signature: String
        let fields: [String: String]
    }

    struct Chunks: Decodable {
        let checksum: String?
        let seed, trailer: String
        let signatures: [String]
    }

    let json, xml, refusal, config, credentials, program, presigned: String
    let refusedURIs, failingCommands: [String]
    let mistakes: [Mistake]
    let commands: [Command]
    let requests: [SignedRequest]
    let chunks: [Chunks]

    init() throws { self = try JSONDecoder().decode(Self.self, from: Fixtures.data("signing/aws.json")) }
}

/// A folder with the files of AWS, which is removed at the end.
final class FileFolder: Sendable {
    private let url = FileManager.default.temporaryDirectory.appending(path: "aws-\(UInt64.random(in: 0 ... .max))")

    init(config: String = "", _ files: [String: String] = [:]) throws {
        try FileManager.default.createDirectory(at: url.appending(path: ".aws"), withIntermediateDirectories: true)
        for (name, text) in files { try write(Data(text.utf8), to: name) }
        try write(Data(config.replacing("{folder}", with: url.path).utf8), to: ".aws/config")
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(of name: String) -> String { url.appending(path: name).path }

    func write(_ data: Data, to name: String) throws { try data.write(to: url.appending(path: name)) }
}

extension Body {
    /// Content in pieces, which can be read once.
    static func once(_ pieces: [Data]) -> Body {
        let chunks = AsyncStream<Data> { continuation in
            for piece in pieces { continuation.yield(piece) }
            continuation.finish()
        }
        return Body(chunks: chunks, length: pieces.reduce(0) { $0 + Int64($1.count) })
    }
}
#endif
