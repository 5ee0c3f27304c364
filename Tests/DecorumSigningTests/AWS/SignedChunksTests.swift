#if Signing
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

/// The examples of Amazon S3's API reference, “Authenticating Requests (AWS Signature Version 4)”, and chunks by them.
@Suite(.timeLimit(.minutes(3)))
struct SignedChunksTests {
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_369_353_600))
    private let url = "https://examplebucket.s3.amazonaws.com/"
    private let keys: AWSCredentials
    private let signer: SigV4

    init() throws {
        keys = try AWSCredentials(
            accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        signer = SigV4(service: "s3", region: "us-east-1", credentials: keys, clock: clock)
    }

    @Test func `The documented requests have their signatures`() async throws {
        var put = try Request.put(url + "test$file.text", body: Body(Data("Welcome to Amazon S3.".utf8)))
        put.head.headerFields[.date] = "Fri, 24 May 2013 00:00:00 GMT"
        put.head.headerFields[try #require(HTTPField.Name("x-amz-storage-class"))] = "REDUCED_REDUNDANCY"
        let range = try Request.get(url + "test.txt", fields: [.range: "bytes=0-9"])
        for (request, signature) in try [
            (range, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
            (put, "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
            (.get(url + "?lifecycle"), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
            (.get(url + "?max-keys=2&prefix=J"), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        ] {
            #expect(try await signer.sign(request).head.headerFields[.authorization]?.suffix(64) == signature[...])
        }
        let presigned = try await signer.presigned(.get(url + "test.txt"), for: .seconds(86_400))
        let expected = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
        #expect(presigned.absoluteString.hasSuffix("&X-Amz-Signature=" + expected))
    }

    @Test(
        arguments: [
            (
                nil, "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
                [
                    "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
                    "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
                    "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
                ], ""
            ),
            (
                .crc32c, "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e",
                [
                    "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
                    "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
                    "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
                ],
                "x-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:"
                    + "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n"
            ),
        ] as [(AWSPayload.Checksum?, String, [String], String)])
    func `The documented chunks and trailers have their signatures`(
        checksum: AWSPayload.Checksum?, seed: String, signatures: [String], trailer: String
    ) async throws {
        let content = Data(repeating: UInt8(ascii: "a"), count: 66_560)
        let form = SignedChunks(isSigned: true, checksum: checksum, length: 66_560)
        let body = Body(content).inChunks(of: form, seal: try signer.seal(at: clock.date, for: keys), seed: seed)
        let text = try await body.text(upTo: 100_000)
        #expect(body.length == Int64(66_824 + trailer.utf8.count))
        let parts = text.components(separatedBy: ";chunk-signature=").dropFirst()
        #expect(parts.map { String($0.prefix(64)) } == signatures)
        #expect(parts.last?.dropFirst(64) == "\r\n\(trailer)\r\n")
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 131_072], [nil] + AWSPayload.Checksum.allCases.map(Optional.init))
    func `The length of the chunks is the one that was announced, however the content arrives`(
        count: Int, checksum: AWSPayload.Checksum?
    ) async throws {
        let content = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) })
        let seal = try signer.seal(at: clock.date, for: keys)
        for isSigned in checksum == nil ? [true] : [true, false] {
            let form = SignedChunks(isSigned: isSigned, checksum: checksum, length: Int64(count))
            var bodies: Set<Data> = []
            for step in [max(1, count), 1_000, 70_000] {
                let pieces = stride(from: 0, to: count, by: step).map { content[$0..<min(count, $0 + step)] }
                let body = Body.once(pieces).inChunks(of: form, seal: seal, seed: String(repeating: "0", count: 64))
                let data = try await body.data(upTo: 1 << 20)
                #expect(body.length == Int64(data.count))
                bodies.insert(data)
            }
            #expect(bodies.count == 1)
        }
        #expect(SignedChunks(isSigned: true, checksum: checksum, length: .max).encodedLength == nil)
    }

    @Test func `A body that is read once is sent to S3 in signed chunks, and by SigV4A in chunks without signatures`()
        async throws
    {
        let origin = try LoopbackOrigin()
        origin.route(.put, "/key", "ok")
        let connection = SystemConnection().authenticating(with: .signer(signer), for: origin.origin)
        var request = try Request.put(origin.url + "/key", body: .once([Data("hello ".utf8), Data("world".utf8)]))
        request.head.headerFields[.contentEncoding] = "gzip"
        _ = try await connection.send(request).body.data(upTo: 100)

        let received = try #require(origin.requests.first)
        #expect(received.fields["X-Amz-Content-SHA256"] == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD")
        #expect(received.fields["X-Amz-Decoded-Content-Length"] == "11")
        #expect(received.fields["Content-Encoding"] == "aws-chunked,gzip")
        #expect(received.fields["Content-Length"] == String(received.body.count))
        #expect(String(decoding: received.body, as: UTF8.self).contains("\r\nhello world\r\n0;chunk-signature="))
        // A second attempt does not repeat it.
        await #expect(throws: TransportError.self) { try await connection.send(request) }

        let asymmetric = SigV4(service: "s3", regions: ["*"], credentials: keys, clock: clock)
        let once = try await asymmetric.sign(.put(url + "a", body: .once([Data("ab".utf8)])))
        #expect(once.head.headerFields[.amzContentHash] == "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
        #expect(try await once.body.text(upTo: 100) == "2\r\nab\r\n0\r\nx-amz-checksum-crc32:noNIbQ==\r\n\r\n")
    }

    @Test func `A file is hashed before it is sent`() async throws {
        let folder = try FileFolder()
        try folder.write(Data(repeating: 1, count: 200_000), to: "file")
        let file = URL(filePath: folder.path(of: "file"))
        let signed = try await signer.sign(.put(url + "a", body: Body(contentsOf: file)))
        let hash = "6015fcd09f3f14b7da9d89cb95f1e4ee007948bc7cf9a59be8163c3460e4f954"
        #expect(signed.head.headerFields[.amzContentHash] == hash && signed.body.file == file)
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
