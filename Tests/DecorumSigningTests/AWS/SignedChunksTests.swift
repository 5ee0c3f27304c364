#if Signing
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

extension AWSCredentials {
    /// The keys of the examples in the documentation of S3.
    fileprivate static var documented: AWSCredentials {
        get throws {
            try AWSCredentials(
                accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        }
    }
}

/// The examples of Amazon S3's API reference, “Authenticating Requests (AWS Signature Version 4)”.
@Suite(.timeLimit(.minutes(3)))
struct SignedChunksTests {
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_369_353_600))
    private let url = "https://examplebucket.s3.amazonaws.com/"

    private func signer(_ payload: AWSPayload = .automatic) throws -> SigV4 {
        SigV4(
            service: "s3", region: "us-east-1", credentials: try AWSCredentials.documented, payload: payload,
            clock: clock)
    }

    @Test func `The documented requests have their signatures`() async throws {
        var range = try Request.get(url + "test.txt")
        range.head.headerFields[.range] = "bytes=0-9"
        var put = try Request.put(url + "test$file.text", body: Body(Data("Welcome to Amazon S3.".utf8)))
        put.head.headerFields[.date] = "Fri, 24 May 2013 00:00:00 GMT"
        put.head.headerFields[try #require(HTTPField.Name("x-amz-storage-class"))] = "REDUCED_REDUNDANCY"
        let rows = [
            (range, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
            (put, "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
            (try .get(url + "?lifecycle"), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
            (
                try .get(url + "?max-keys=2&prefix=J"),
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
            ),
        ]
        for (request, signature) in rows {
            let signed = try await signer().sign(request)
            #expect(signed.head.headerFields[.authorization]?.suffix(64) == signature[...])
        }
        let presigned = try await signer().presigned(.get(url + "test.txt"), for: .seconds(86_400))
        let expected = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
        #expect(presigned.absoluteString.hasSuffix("&X-Amz-Signature=" + expected))
    }

    @Test func `The documented chunks and trailers have their signatures`() async throws {
        let content = Data(repeating: UInt8(ascii: "a"), count: 66_560)
        let seal = try signer().seal(at: AWSDate(clock.date), for: .documented)
        let plain = SignedChunks(
            seal: seal, checksum: nil, seed: "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9")
        let body = Body(content).inChunks(of: plain, length: 66_560)
        #expect(body.length == 66_824)
        let text = try await body.text(upTo: 100_000)
        #expect(
            signatures(in: text) == [
                "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
                "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
                "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
            ])

        let trailing = SignedChunks(
            seal: seal, checksum: .crc32c, seed: "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e")
        let long = try await Body(content).inChunks(of: trailing, length: 66_560).text(upTo: 100_000)
        #expect(
            signatures(in: long) == [
                "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
                "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
                "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
            ])
        let signature = "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435"
        #expect(long.hasSuffix("\r\nx-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:\(signature)\r\n\r\n"))
    }

    private func signatures(in text: String) -> [String] {
        text.components(separatedBy: ";chunk-signature=").dropFirst().map { String($0.prefix(64)) }
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 131_072], [nil] + AWSPayload.Checksum.allCases.map(Optional.init))
    func `The length of the chunks is the one that was announced, however the content arrives`(
        count: Int, checksum: AWSPayload.Checksum?
    ) async throws {
        let content = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) })
        let seal = try signer().seal(at: AWSDate(clock.date), for: .documented)
        for isSigned in checksum == nil ? [true] : [true, false] {
            let form = SignedChunks(
                seal: isSigned ? seal : nil, checksum: checksum, seed: String(repeating: "0", count: 64))
            var bodies: Set<Data> = []
            for step in [max(1, count), 1_000, 70_000] {
                let pieces = stride(from: 0, to: count, by: step).map { content[$0..<min(count, $0 + step)] }
                let source = Body(chunks: AsyncStream { $0.yieldAll(pieces) }, length: Int64(count))
                let body = source.inChunks(of: form, length: Int64(count))
                let data = try await body.data(upTo: 1 << 20)
                #expect(body.length == Int64(data.count))
                bodies.insert(data)
            }
            #expect(bodies.count == 1)
        }
    }

    @Test func `A body that is read once is sent to S3 in signed chunks, and the second attempt does not repeat it`()
        async throws
    {
        let origin = try LoopbackOrigin()
        origin.route(.put, "/key", "ok")
        let connection = SystemConnection().authenticating(with: .signer(try signer()), for: origin.origin)
        let pieces = [Data("hello ".utf8), Data("world".utf8)]
        var request = try Request.put(
            origin.url + "/key", body: Body(chunks: AsyncStream { $0.yieldAll(pieces) }, length: 11))
        request.head.headerFields[.contentEncoding] = "gzip"
        _ = try await connection.send(request).body.data(upTo: 100)

        let received = try #require(origin.requests.first)
        #expect(received.fields["X-Amz-Content-SHA256"] == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD")
        #expect(received.fields["X-Amz-Decoded-Content-Length"] == "11")
        #expect(received.fields["Content-Encoding"] == "aws-chunked,gzip")
        #expect(received.fields["Content-Length"] == String(received.body.count))
        #expect(String(decoding: received.body, as: UTF8.self).contains("\r\nhello world\r\n0;chunk-signature="))
        await #expect(throws: TransportError.self) { try await connection.send(request) }
    }

    @Test func `A file is hashed before it is sent, and SigV4A sends chunks without signatures`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(
            path: "decorum-aws-\(UInt64.random(in: 0 ... .max))")
        try Data(repeating: 1, count: 200_000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let signed = try await signer().sign(.put(url + "a", body: Body(contentsOf: file)))
        let name = try #require(HTTPField.Name("X-Amz-Content-SHA256"))
        let hash = "6015fcd09f3f14b7da9d89cb95f1e4ee007948bc7cf9a59be8163c3460e4f954"
        #expect(signed.head.headerFields[name] == hash)
        #expect(signed.body.file == file)

        let asymmetric = SigV4(service: "s3", regions: ["*"], credentials: try AWSCredentials.documented, clock: clock)
        let once = try await asymmetric.sign(
            .put(url + "a", body: Body(chunks: AsyncStream { $0.yieldAll([Data("ab".utf8)]) }, length: 2)))
        #expect(once.head.headerFields[name] == "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
        #expect(try await once.body.text(upTo: 100) == "2\r\nab\r\n0\r\nx-amz-checksum-crc32:noNIbQ==\r\n\r\n")
    }
}

extension AsyncStream<Data>.Continuation {
    /// Gives all pieces, and ends.
    func yieldAll(_ pieces: [Data]) {
        for piece in pieces { yield(piece) }
        finish()
    }
}
#endif
