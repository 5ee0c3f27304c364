import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

/// Random and damaged input: each decoder ends with content or an error, in bounded memory and time.
@Suite struct ContentDecoderFuzzTests {
    private static let codings = [
        ["gzip"], ["deflate"], ["br"], ["zstd"], ["gzip", "br"], ["deflate", "gzip", "zstd"],
    ]
    private let rounds = Footprint.isSoak ? 200_000 : 3_000

    @Test(arguments: codings)
    func `Random bytes end with content or an error`(codings: [String]) throws {
        var dice = Dice(seed: UInt64(codings.count) &+ 7)
        for _ in 0..<rounds {
            let bytes = Data(
                (0..<Int.random(in: 1...64, using: &dice)).map { _ in UInt8.random(in: 0...255, using: &dice) })
            try decode(bytes, inPiecesOf: Int.random(in: 1...64, using: &dice), codings)
        }
    }

    @Test(arguments: CodedItems.all)
    func `Damage is found wherever the format has a checksum`(item: (file: String, codings: [String])) throws {
        let (whole, content) = (try CodedItems.data(item.file), try CodedItems.content())
        var dice = Dice(seed: 99)
        for _ in 0..<rounds / 3 {
            var coded = whole
            for _ in 0..<Int.random(in: 1...3, using: &dice) {
                coded[Int.random(in: coded.indices, using: &dice)] ^= UInt8(1 << Int.random(in: 0..<8, using: &dice))
            }
            // Without the header of zlib (RFC 1950, section 2.2), the rest is taken for raw data, as some servers send it.
            guard coded != whole, item.file != "items.zlib" || coded.prefix(2) == whole.prefix(2) else { continue }
            let decoded = try decode(coded, inPiecesOf: Int.random(in: 1...5000, using: &dice), item.codings)
            // Only a header that describes a file may change without harm; Brotli and raw data have no checksum.
            let hasChecksum = item.file.hasSuffix(".gz") || ["items.zlib", "items.zst"].contains(item.file)
            if hasChecksum { #expect(decoded == nil || decoded == content, "\(item.file)") }
        }
    }

    @Test(arguments: CodedItems.all)
    func `Cut and shuffled input ends with content or an error`(item: (file: String, codings: [String])) throws {
        let whole = try CodedItems.data(item.file)
        var dice = Dice(seed: 3)
        for _ in 0..<rounds / 10 {
            let cut = Int.random(in: whole.indices, using: &dice)
            let other = Int.random(in: whole.indices, using: &dice)
            try decode(whole[..<cut] + whole[other...], inPiecesOf: 512, item.codings)
            try decode(whole[cut...] + whole[..<cut], inPiecesOf: 512, item.codings)
        }
    }

    @discardableResult private func decode(_ data: Data, inPiecesOf size: Int, _ codings: [String]) throws -> Data? {
        do {
            let limits = ContentDecodingLimits(maximumLength: 8 << 20)
            let decoded = try ContentDecoder.decode(data, inPiecesOf: size, from: codings, limits: limits)
            #expect(decoded.count <= 8 << 20)
            return decoded
        } catch {
            return nil
        }
    }
}

/// A seeded generator in the form that the standard library draws from.
private struct Dice: RandomNumberGenerator {
    private let generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    func next() -> UInt64 { generator.next() }
}
