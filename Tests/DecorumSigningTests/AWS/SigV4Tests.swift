#if Signing
import Crypto
import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumSigning

/// The signing test suite of AWS, in `Fixtures/signing`.
private struct SigningVectors: Decodable {
    struct Form: Decodable {
        let canonical, text, signature: String
    }

    struct Case: Decodable {
        let name, method, target, contentHash: String
        let fields, added: [[String]]
        let token: String?
        let normalizes: Bool
        let header, query: Form
    }

    let accessKeyID, secretAccessKey, region, service: String
    let lifetime: Int64
    let publicKey: String?
    let cases: [Case]

    static func signable(_ fields: [[String]]) throws -> [CanonicalRequest.Field] {
        let fields = try fields.map { HTTPField(name: try #require(HTTPField.Name($0[0])), value: $0[1]) }
        return CanonicalRequest.signable(HTTPFields(fields), host: "example.amazonaws.com")
    }
}

@Suite(.timeLimit(.minutes(3)))
struct SigV4Tests {
    private let date = Date(timeIntervalSince1970: 1_440_938_160)
    private let keys: AWSCredentials

    init() throws {
        keys = try AWSCredentials(
            accessKeyID: "AKIDEXAMPLE", secretAccessKey: "SECRETKEY", sessionToken: "SECRETTOKEN")
    }

    @Test(arguments: ["sigv4", "sigv4a"])
    func `Each vector has its canonical requests, its strings to sign and its signatures`(file: String) throws {
        let vectors = try JSONDecoder().decode(SigningVectors.self, from: Fixtures.data("signing/\(file).json"))
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
            let fields = try SigningVectors.signable(row.fields)
            let items = signer.presigningItems(
                seal: seal, token: row.token, signedFields: CanonicalRequest.names(of: fields),
                seconds: vectors.lifetime)
            for (fields, items, expected) in [
                (try SigningVectors.signable(row.fields + row.added), [], row.header),
                (fields, items.signed, row.query),
            ] {
                let form = CanonicalRequest(
                    method: row.method, target: row.target, fields: fields, adding: items, contentHash: row.contentHash,
                    path: row.normalizes ? .normalized : .asSent)
                #expect(form.text == expected.canonical, "\(row.name)")
                let text = seal.text(of: form.hash)
                #expect(text == expected.text, "\(row.name)")
                let signature = try seal.signature(of: form.hash)
                guard let key else {
                    #expect(signature == expected.signature, "\(row.name)")
                    continue
                }
                for signature in [signature, expected.signature] {
                    #expect(try key.publicKey.isValid(hex: signature, of: text), "\(row.name)")
                }
            }
        }
    }

    @Test(arguments: [86_400, -86_400])
    func `A clock that is wrong by a day is learnt from the answer`(error: Int) async throws {
        let clock = VirtualClock(date: date + Double(error))
        let origin = try LoopbackOrigin()
        origin.route(nil, "/a", .init(.forbidden, fields: ["Date": "Sun, 30 Aug 2015 12:36:00 GMT"]))
        let signer = SigV4(service: "s3", region: "us-east-1", credentials: keys, clock: clock)
        let connection = SystemConnection().authenticating(with: .signer(signer), for: origin.origin)
        for _ in 0..<2 { _ = try await connection.send(.get(origin.url + "/a")).body.data(upTo: 100) }
        let sent = origin.requests.compactMap { $0.fields["X-Amz-Date"] }
        #expect(sent.count == 2 && sent[0] != sent[1] && sent[1] == "20150830T123600Z")
        let start =
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-"
        #expect(origin.requests.last?.fields["Authorization"]?.hasPrefix(start) == true)
    }

    @Test func `A key of S3 is signed in one encoding, and the path of others twice encoded`() async throws {
        let request = try Request.get("https://example.com/a+b%2fc//.d/(e)'?x=a+b&y=%20")
        let signed = try await SigV4(service: "s3", region: "us-east-1", credentials: keys).sign(request)
        #expect(signed.head.path == "/a%2Bb/c//.d/%28e%29%27?x=a%2Bb&y=%20")

        #expect(CanonicalRequest.path("/a%20b/./c/../d//e/", as: .normalized) == "/a%2520b/d/e/")
        #expect(CanonicalRequest.path("/a%20b/./c//", as: .object) == "/a%20b/./c//")
        #expect(CanonicalRequest.path("", as: .object) == "/")
    }

    @Test func `A request that cannot be signed is not sent`() async throws {
        let stub = StubConnection()
        let endless = Body(chunks: AsyncStream { $0.finish() })
        let rows: [(String, String, AWSPayload, Body, SigningError.Reason)] = [
            ("dynamodb", "us-east-1", .automatic, .once([Data(count: 4)]), .bodyReadOnce),
            ("s3", "us-east-1", .automatic, endless, .bodyReadOnce),
            ("s3", "", .automatic, .empty, .invalidConfiguration),
            ("s3\n", "us-east-1", .automatic, .empty, .invalidConfiguration),
            ("sqs", "us-east-1", .signedChunks(), .empty, .invalidConfiguration),
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
        let added: Set<HTTPField.Name> = [.amzDate, .amzContentHash, .amzSecurityToken, .authorization]
        try await law.check(adding: added) { [keys] base, conditions in
            let signer = SigV4(
                service: "s3", region: "us-east-1", credentials: keys, payload: payload, clock: conditions.clock)
            return base.authenticating(with: .signer(signer), for: try Origin(DecoratorLaw.origin))
        }
    }

    @Test func `No log shows the signature and the token of a presigned address`() async throws {
        let log = Mutex("")
        let stub = StubConnection(Response(status: .ok))
        let presigned = try await SigV4(service: "s3", region: "us-east-1", credentials: keys)
            .presigned(.get("https://example.com/b")).absoluteString
        _ = try await stub.logging(to: LogSink { entry in log.withLock { $0 += entry } }).send(.get(presigned))
        let text = log.withLock { $0 }
        #expect(text.contains("example.com/b") && !text.contains(presigned.suffix(64)) && !text.contains("SECRET"))
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
