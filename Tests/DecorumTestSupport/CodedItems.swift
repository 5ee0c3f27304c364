public import Decorum
public import Foundation

/// `Fixtures/content-codings`: one content in each coding, as other programs made it.
public enum CodedItems: Sendable {
    /// Each file with the codings that it has, in the order in which they were applied.
    public static let all: [(file: String, codings: [String])] = [
        ("items.gz", ["gzip"]), ("items.gz", ["x-gzip"]), ("items.header.gz", ["gzip"]),
        ("items.members.gz", ["gzip"]), ("items.zlib", ["deflate"]), ("items.deflate", ["deflate"]),
        ("items.br", ["br"]), ("items.zst", ["zstd"]), ("items.frames.zst", ["zstd"]),
        ("items.gz.br", ["gzip", "br"]),
    ]

    /// The content of each file.
    public static func content() throws -> Data { try data("items.json") }

    /// The coded content.
    public static func data(_ file: String) throws -> Data { try Fixtures.data("content-codings/\(file)") }
}

extension ContentDecoder {
    /// Decodes content that comes in pieces of a size.
    public static func decode(
        _ data: Data, inPiecesOf size: Int, from codings: [String], limits: ContentDecodingLimits = .standard
    ) throws(ContentCodingError) -> Data {
        let decoder = try ContentDecoder(codings.map { ContentCoding($0) }, limits: limits)
        var content = Data()
        var rest = data
        while !rest.isEmpty {
            decoder.feed(rest.prefix(size))
            rest = rest.dropFirst(size)
            while let part = try decoder.next() { content.append(part) }
        }
        try decoder.finish()
        return content
    }
}
