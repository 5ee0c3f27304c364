import Decorum
import DecorumTestSupport
import Foundation
import Testing

@testable import DecorumSharedStorage

@Suite struct SharedRecordTests {
    private func record(_ key: ResponseKey) throws -> [UInt8] {
        let content = Sample.content(1, 100)
        let checksum = Checksum.of([UInt8](content)[...], seed: 7)
        let variants = [SharedBody.Place.record, .value, .object].map { place in
            SharedVariant(
                response: Sample.response(1), epochs: [1, 2, 3], order: [4, 5, 6],
                body: SharedBody(place: place, nonce: 7, length: 100, checksum: checksum))
        }
        return try #require(SharedRecord.bytes(of: variants, key: key))
    }

    @Test func `A record is read as it was written, for its key alone`() throws {
        let (key, other) = (try Sample.key(1, of: "joe"), try Sample.key(1, of: "ann"))
        let variants = try #require(SharedRecord.variants(in: try record(key), key: key))
        #expect(variants.map(\.body.place) == [.record, .value, .object])
        #expect(variants.map(\.hasBody) == [true, false, false])
        #expect(variants.allSatisfy { $0.epochs == [1, 2, 3] && $0.order == [4, 5, 6] && $0.body.nonce == 7 })
        #expect(variants.first?.response.body.bytes == Sample.content(1, 100))
        #expect(SharedRecord.variants(in: try record(key), key: other)?.isEmpty == true)
    }

    @Test func `Damaged bytes are no record, and no bytes end the process`() throws {
        let key = try Sample.key()
        let bytes = try record(key)
        for place in bytes.indices {
            #expect(SharedRecord.variants(in: Array(bytes[..<place]), key: key) == nil)
            var damaged = bytes
            damaged[place] ^= 1 << (place % 8)
            #expect(SharedRecord.variants(in: damaged, key: key) == nil)
        }

        let generator = SeededGenerator(seed: 1)
        let mark = bytes[..<8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        for _ in 0..<(Footprint.isSoak ? 200_000 : 3000) {
            var made = bytes
            for _ in 0...generator.next() % 4 {
                let place = 16 + Int(generator.next() % UInt64(bytes.count - 16))
                made[place] = generator.next() % 2 == 0 ? 255 : UInt8(truncatingIfNeeded: generator.next())
            }
            // The checksum fits, as if someone had made the bytes.
            let checksum = Checksum.of(made.dropFirst(16), seed: mark)
            for index in 0..<8 { made[8 + index] = UInt8(truncatingIfNeeded: checksum >> (8 * index)) }
            for variant in SharedRecord.variants(in: made, key: key) ?? [] {
                #expect(variant.body.length == 100 || !variant.hasBody)
            }
        }
    }
}
