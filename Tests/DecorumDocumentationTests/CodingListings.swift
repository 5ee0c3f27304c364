import Decorum
import DecorumTesting
import Foundation
import Testing

@Suite struct CodingListings {
    struct Item: Decodable {}

    func decompressing() async throws {
        let connection = SystemConnection()
            .caching(in: MemoryResponseStore())
            .decompressing()
        let response = try await connection.send(.get("https://api.example.com/items"))
        print(response.metadata.decodedContentCodings)  // ["gzip"]
        let items = try await response.body.decode([Item].self, upTo: 1 << 20)
        _ = items
    }

    struct UnpackingDecoder: ContentCodingDecoder {
        mutating func decode(_ coded: inout Data, upTo count: Int) -> Data {
            defer { coded = coded.dropFirst(count) }
            return coded.prefix(count)
        }

        mutating func finish() {}
    }

    func ownCoding() {
        let packed = ContentCoding("x-packed") { UnpackingDecoder() }
        let connection = SystemConnection()
            .decompressing(DecompressionPolicy(codings: [packed, .gzip]))
        _ = connection
    }

    func compressing() {
        let connection = SystemConnection()
            .compressing(CompressionPolicy(coding: .gzip, minimumLength: 4096))
            .retrying()
        _ = connection
    }

    func decoder(file: FileHandle) throws -> Data {
        var text = Data()
        let decoder = try ContentDecoder([.gzip])
        while let chunk = try file.read(upToCount: 1 << 16), !chunk.isEmpty {
            decoder.feed(chunk)
            while let part = try decoder.next() { text.append(part) }
        }
        try decoder.finish()
        return text
    }
}
