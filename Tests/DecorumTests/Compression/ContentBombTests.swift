#if os(macOS) || os(Linux)
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import Decorum

/// Content that is short and decodes into gigabytes.
///
/// With `DECORUM_SOAK=1` in the environment, it has 10 GB, else 100 MB.
@Suite(.timeLimit(.minutes(10))) struct ContentBombTests {
    static let length = Footprint.isSoak ? 10_000_000_000 : 100_000_000
    static let codings = ["gzip", "deflate", "br", "zstd"]

    @Test(arguments: codings)
    func `A bomb ends in an error that names the limit, before it has cost anything`(coding: String) async throws {
        let bomb = Bomb(ContentCoding(coding), length: Self.length)
        let response = try await Self.answer(bomb.body, coding: coding).decompressing().send(.bomb())
        var count = 0
        let error = await #expect(throws: ContentCodingError.self) {
            for try await part in response.body { count += part.count }
        }
        #expect(error?.reason == .maximumRatio)
        #expect(error?.description.contains("raise ContentDecodingLimits.maximumRatio") == true)
        // Brotli and Zstandard say in a few bytes how often a byte repeats.
        #expect(count <= 200 * bomb.codedLength + ContentDecodingLimits.freeLength)
        #expect(count < 16 << 20)
    }

    @Test func `A bomb within a bomb is measured by the bytes that came`() async throws {
        let inner = try await Bomb(.gzip, length: 20_000_000).body.data(upTo: 1 << 20)
        let outer = try #require(try ContentEncoder(.gzip)?.encode(inner, flush: .end))
        let error = #expect(throws: ContentCodingError.self) { try ContentDecoder.decode(outer, from: [.gzip, .gzip]) }
        #expect(error?.reason == .maximumRatio)

        // A stage in the middle counts too: it inflates to members without content.
        let member = try #require(try ContentEncoder(.gzip)?.encode(Data(), flush: .end))
        var members = Data()
        while members.count < 4 << 20 { members.append(member) }
        let nothing = try #require(try ContentEncoder(.gzip)?.encode(members, flush: .end))
        let busy = #expect(throws: ContentCodingError.self) {
            try ContentDecoder.decode(nothing, from: [.gzip, .gzip])
        }
        #expect(busy?.reason == .maximumRatio)
    }

    static func answer(_ body: Body, coding: String) -> StubConnection {
        StubConnection(Response(status: .ok, fields: [.contentEncoding: coding], body: body))
    }
}

extension ProcessTests {
    @Suite(.timeLimit(.minutes(30))) struct ContentBombMemoryTests {
        @Test func `A bomb that the limits allow is read to its end in constant memory`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin(limit: 3)
                for coding in ContentBombTests.codings {
                    let bomb = Bomb(ContentCoding(coding), length: ContentBombTests.length)
                    let limits = ContentDecodingLimits(
                        maximumRatio: .max, maximumLength: Int64(ContentBombTests.length) - 1)
                    let response = try await ContentBombTests.answer(bomb.body, coding: coding)
                        .decompressing(DecompressionPolicy(limits: limits)).send(.bomb())
                    var count = 0
                    let error = await #expect(throws: ContentCodingError.self) {
                        for try await part in response.body { count += part.count }
                    }
                    #expect(error?.reason == .maximumLength)
                    #expect(count > ContentBombTests.length - (1 << 20))
                }
                #expect(ProcessMemory.peak < 96 << 20)
            }
        }
    }
}

/// Zeros in a coding, which are encoded while they are read.
private struct Bomb: Sendable {
    let coding: ContentCoding
    let length: Int
    private let counter = Counter()

    init(_ coding: ContentCoding, length: Int) {
        self.coding = coding
        self.length = length
    }

    var codedLength: Int { counter.count.load(ordering: .relaxed) }

    var body: Body {
        let body = Body(replay: .once) { _ in
            EncodingBodyReader(
                ZeroReader(rest: length), try #require(ContentEncoder(coding)), flushesChunks: false)
        }
        return body.observed { [counter] event in
            if case .chunk(let chunk) = event { counter.count.add(chunk.count, ordering: .relaxed) }
        }
    }
}

private final class Counter: Sendable {
    let count = Atomic(0)
}

private struct ZeroReader: BodyReader {
    private static let zeros = Data(count: 64 << 10)
    var rest: Int

    mutating func next() -> Data? {
        guard rest > 0 else { return nil }
        let part = Self.zeros.prefix(rest)
        rest -= part.count
        return part
    }

    var trailers: HTTPFields? { nil }
}

extension Request {
    fileprivate static func bomb() throws -> Request { try .get("https://api.example.com/bomb") }
}
#endif
