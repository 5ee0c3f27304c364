#if Signing
import Crypto
import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumSigning

/// The signing test suite of AWS, in `Fixtures/signing`.
private struct SigningVectors: Decodable {
    struct Form: Decodable { let canonical, text, signature: String }

    struct Case: Decodable {
        let name, method, target, contentHash: String, token: String?, normalizes: Bool
        let fields, added: [[String]], header, query: Form
    }

    let accessKeyID, secretAccessKey, region, service: String
    let lifetime: Int64, publicKey: String?, cases: [Case]
}

/// The examples of Amazon S3's API reference, “Authenticating Requests (AWS Signature Version 4)”, and requests by them.
@Suite(.timeLimit(.minutes(3))) struct SigV4Tests {
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

    @Test(arguments: ["sigv4", "sigv4a"])
    func `Each vector has its canonical requests, its strings to sign and its signatures`(file: String) throws {
        let vectors = try JSONDecoder().decode(SigningVectors.self, from: Fixtures.data("signing/\(file).json"))
        let date = Date(timeIntervalSince1970: 1_440_938_160)
        func signable(_ fields: [[String]]) -> [CanonicalRequest.Field] {
            CanonicalRequest.signable(HTTPFields(lines: fields), host: "example.amazonaws.com")
        }
        #expect(vectors.cases.count == 28)
        for row in vectors.cases {
            let keys = try AWSCredentials(
                accessKeyID: vectors.accessKeyID, secretAccessKey: vectors.secretAccessKey, sessionToken: row.token)
            let key = try vectors.publicKey.map { _ in try P256.Signing.PrivateKey.aws4a(keys) }
            #expect(key?.publicKey.rawRepresentation.hexText == vectors.publicKey)
            let signer =
                key == nil
                ? SigV4(service: vectors.service, region: vectors.region, credentials: keys)
                : SigV4(service: vectors.service, regions: [vectors.region], credentials: keys)
            let seal = try signer.seal(at: date, for: keys)
            let fields = signable(row.fields)
            let items = signer.presigningItems(
                seal: seal, token: row.token, signedFields: CanonicalRequest.names(of: fields),
                seconds: vectors.lifetime)
            for (fields, items, expected) in [
                (signable(row.fields + row.added), [], row.header),
                (fields, items.signed, row.query),
            ] {
                let form = CanonicalRequest(
                    method: row.method, target: row.target, fields: fields, adding: items, contentHash: row.contentHash,
                    path: row.normalizes ? .normalized : .asSent)
                #expect(String(decoding: form.bytes, as: UTF8.self) == expected.canonical, "\(row.name)")
                let text = String(decoding: seal.text(of: form.hash), as: UTF8.self)
                #expect(text == expected.text, "\(row.name)")
                let signature = try seal.signature(of: form.hash)
                #expect(key != nil || signature == expected.signature, "\(row.name)")
                for signature in [signature, expected.signature] {
                    #expect(try key?.publicKey.isValid(hex: signature, of: text) ?? true, "\(row.name)")
                }
            }
        }
    }

    @Test func `The documented requests have their signatures`() async throws {
        for row in examples.requests {
            let fields = HTTPFields(lines: row.fields.map { [$0, $1] })
            let body = row.body.isEmpty ? Body.empty : Body(Data(row.body.utf8))
            let request = try Request(try #require(.init(row.method)), url + row.target, fields: fields, body: body)
            let signed = try await signer.sign(request)
            let field = try #require(signed.head.headerFields[.authorization])
            #expect(field.hasPrefix("AWS4-HMAC-SHA256 Credential=\(keys.accessKeyID)/20130524/us-east-1/s3/aws4_"))
            #expect(field.hasSuffix(", Signature=\(row.signature)"))
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
        let body = Body.once([Data("hello ".utf8), Data("world".utf8)])
        let signed = try await signer.sign(.put(url + "key", fields: [.contentEncoding: "gzip"], body: body))
        for (name, value) in [
            ("X-Amz-Content-SHA256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"), ("X-Amz-Decoded-Content-Length", "11"),
            ("Content-Encoding", "aws-chunked,gzip"),
        ] { #expect(signed.head.headerFields[.spelled(name)] == value) }
        let data = try await signed.body.data(upTo: 1000)
        #expect(String(decoding: data, as: UTF8.self).contains("\r\nhello world\r\n0;chunk-signature="))
        #expect(signed.body.length == Int64(data.count))

        let asymmetric = SigV4(service: "s3", regions: ["*"], credentials: keys, clock: clock)
        let once = try await asymmetric.sign(.put(url + "a", body: .once([Data("ab".utf8)])))
        #expect(once.head.headerFields[.amzContentHash] == "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
        #expect(try await once.body.text(upTo: 100) == "2\r\nab\r\n0\r\nx-amz-checksum-crc32:noNIbQ==\r\n\r\n")
    }

    @Test func `A key of S3 is signed in one encoding, and the path of others twice encoded`() async throws {
        let request = try Request.get("https://example.com/a+b%2fc//.d/(e)'?x=a+b&y=%20")
        let signed = try await signer.sign(request)
        #expect(signed.head.path == "/a%2Bb/c//.d/%28e%29%27?x=a%2Bb&y=%20")

        let rows: [(String, CanonicalRequest.PathForm, String)] = [
            ("/a%20b/./c/../d//e/", .normalized, "/a%2520b/d/e/"), ("/a/.b", .normalized, "/a/.b"),
            ("/a%20b/./c//", .object, "/a%20b/./c//"), ("", .object, "/"), ("", .normalized, "/"),
        ]
        for (path, form, expected) in rows {
            #expect(CanonicalRequest.path(Array(path.utf8)[...], as: form) == Array(expected.utf8))
        }
    }

    @Test func `A request that cannot be signed is not sent`() async throws {
        let stub = StubConnection()
        let endless = Body(chunks: AsyncStream { $0.finish() })
        let rows: [(String, String, AWSPayload, Body, SigningError.Reason)] = [
            ("dynamodb", "us-east-1", .automatic, .once([Data(count: 4)]), .bodyReadOnce),
            ("s3", "us-east-1", .automatic, endless, .bodyReadOnce),
            ("s3", "", .automatic, .empty, .invalidConfiguration),
            ("s3\n", "us-east-1", .automatic, .empty, .invalidConfiguration),
            ("sqs", "us-east-1", .signedChunks(), "a", .invalidConfiguration),
        ]
        for (service, region, payload, body, reason) in rows {
            let signer = SigV4(service: service, region: region, credentials: keys, payload: payload)
            let connection = stub.authenticating(with: .signer(signer), for: try Origin("https://example.com"))
            await #expect { try await connection.send(.put("https://example.com/", body: body)) } throws: {
                ($0 as? SigningError)?.reason == reason
            }
        }
        #expect(stub.requests.isEmpty)
        let signer = SigV4(service: "s3", region: "us-east-1", credentials: keys)
        for lifetime in [Duration.zero, .seconds(604_801), .seconds(Int64.max)] {
            let request = try Request.get("https://example.com/")
            await #expect(throws: SigningError.self) { try await signer.presigned(request, for: lifetime) }
        }
    }

    @Test(
        arguments: DecoratorLaw.all.map { ($0, AWSPayload.unsigned) }
            + DecoratorLaw.all.excluding(
                .requestBodiesOnce, .requestTrailers, .idleness, .bodyErrors,
                because: "It reads content for its hash, and refuses content that it cannot cover."
            ).map { ($0, AWSPayload.automatic) })
    func `The layer keeps the laws`(law: DecoratorLaw, payload: AWSPayload) async throws {
        let signer = SigV4(service: "s3", region: "us-east-1", credentials: keys, payload: payload, clock: clock)
        try await law.check(adding: [.amzDate, .amzContentHash, .authorization]) { base in
            base.authenticating(with: .signer(signer), for: try Origin(DecoratorLaw.origin))
        }
    }
}

extension P256.Signing.PublicKey {
    /// Whether a signature in DER and in hexadecimal digits is right.
    func isValid(hex: String, of text: String) throws -> Bool {
        let digits = hex.compactMap(\.hexDigitValue)
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        return isValidSignature(try .init(derRepresentation: bytes), for: Data(text.utf8))
    }
}
#endif
