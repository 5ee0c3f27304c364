#if Signing
import Decorum
import DecorumTestSupport
import Foundation

@testable import DecorumSigning

/// The rows of `Fixtures/signing/aws.json`, with what is expected of them.
struct AWSExamples: Decodable {
    /// A place with its variables, files and answers; and either the keys, or the kind and parts of the error.
    struct Place: Decodable {
        struct Answer: Decodable {
            let status: Int
            let body: String
        }

        let note, place: String
        let profile, kind: String?
        let environment, files: [String: String]?
        let answers: [Answer]?
        let requests, keys, error: [String]?
        let expiry: Double?

        var source: MachineCredentials.Place {
            let places: [MachineCredentials.Place] = [.environment, .webIdentity, .container, .instance]
            return places.first { "\($0)" == place } ?? .profile(profile)
        }
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

    let presigned: String
    let places: [Place]
    let commands: [Command]
    let requests: [SignedRequest]
    let chunks: [Chunks]

    init() throws { self = try JSONDecoder().decode(Self.self, from: Fixtures.data("signing/aws.json")) }
}

/// A folder with files and programs, which is removed at the end.
final class FileFolder: Sendable {
    private static let large = String(repeating: "#", count: 2 << 20)

    let url = FileManager.default.temporaryDirectory.appending(path: "aws-\(UInt64.random(in: 0 ... .max))")

    init(_ files: [String: String]) throws {
        try FileManager.default.createDirectory(at: url.appending(path: ".aws"), withIntermediateDirectories: true)
        for (name, text) in files {
            // A character that ASCII lacks becomes a byte that UTF-8 lacks.
            try filled(text).data(using: .isoLatin1)?.write(to: url.appending(path: name))
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o700], ofItemAtPath: url.appending(path: name).path)
        }
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// A text with the path of the folder, and with much content, in place of their marks.
    func filled(_ text: String) -> String {
        text.replacing("{folder}", with: url.path).replacing("{large}", with: Self.large)
    }
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
