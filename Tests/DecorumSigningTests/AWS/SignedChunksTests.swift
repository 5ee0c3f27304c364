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
    private let examples: AWSExamples

    init() throws {
        examples = try AWSExamples()
        keys = try AWSCredentials(
            accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        signer = SigV4(service: "s3", region: "us-east-1", credentials: keys, clock: clock)
    }

    @Test func `The documented requests have their signatures`() async throws {
        for row in examples.requests {
            var fields = HTTPFields()
            for (name, value) in row.fields { fields[try #require(HTTPField.Name(name))] = value }
            let body = row.body.isEmpty ? Body.empty : Body(Data(row.body.utf8))
            let request = try Request(try #require(.init(row.method)), url + row.target, fields: fields, body: body)
            let signed = try await signer.sign(request)
            #expect(signed.head.headerFields[.authorization]?.hasSuffix("Signature=\(row.signature)") == true)
        }
        let long = try await signer.sign(.put(url, body: Body(Data(repeating: 1, count: 200_000))))
        let hash = "6015fcd09f3f14b7da9d89cb95f1e4ee007948bc7cf9a59be8163c3460e4f954"
        #expect(long.head.headerFields[.amzContentHash] == hash)
        let presigned = try await signer.presigned(.get(url + "test.txt"), for: .seconds(86_400))
        #expect(presigned.absoluteString.hasSuffix("&X-Amz-Signature=" + examples.presigned))
    }

    @Test func `The documented chunks and trailers have their signatures`() async throws {
        let content = Body(Data(repeating: UInt8(ascii: "a"), count: 66_560))
        let seal = try signer.seal(at: clock.date, for: keys)
        for row in examples.chunks {
            let checksum = row.checksum.flatMap(AWSPayload.Checksum.init)
            let form = SignedChunks(isSigned: true, checksum: checksum, length: 66_560)
            let text = try await content.inChunks(of: form, seal: seal, seed: row.seed).text(upTo: 100_000)
            let parts = text.components(separatedBy: ";chunk-signature=").dropFirst()
            #expect(parts.map { String($0.prefix(64)) } == row.signatures)
            #expect(parts.last?.dropFirst(64) == "\r\n\(row.trailer)\r\n")
        }
        #expect(SignedChunks(isSigned: true, checksum: nil, length: 66_560).encodedLength == 66_824)
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

    @Test func `A body that is read once is sent to S3 in chunks, which SigV4A does not sign`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.put, "/key", "ok")
        let connection = SystemConnection().authenticating(with: .signer(signer), for: origin.origin)
        let body = Body.once([Data("hello ".utf8), Data("world".utf8)])
        let request = try Request.put(origin.url + "/key", fields: [.contentEncoding: "gzip"], body: body)
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
}
#endif
