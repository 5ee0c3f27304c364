#if Signing
import Crypto
import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

/// The signing test suite of AWS, in `Fixtures/Signing`.
struct SigningVectors: Decodable, Sendable {
    struct Form: Decodable, Sendable {
        let canonical: String
        let hash: String
        let signature: String
    }

    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        let name, method, target: String
        let fields: [String]
        let body, token: String?
        let normalizes, signsBody: Bool
        let omitsToken: Bool?
        let header, query: Form

        var testDescription: String { name }
        var rules: CanonicalRequest.PathRules { .init(normalizes: normalizes) }
        var contentHash: String { SHA256.hash(data: Data((body ?? "").utf8)).hexText }

        /// The fields of the request without `Host`.
        var headerFields: HTTPFields {
            var result = HTTPFields()
            for field in fields {
                let parts = field.split(separator: ":", maxSplits: 1).map(String.init)
                guard let name = HTTPField.Name(parts[0]), name.canonicalName != "host" else { continue }
                result.append(HTTPField(name: name, value: parts[1]))
            }
            return result
        }
    }

    let accessKeyID, secretAccessKey, region, service: String
    let lifetime: Int64
    let publicKey: String?
    let cases: [Case]

    static let host = "example.amazonaws.com"
    static let date = AWSDate(Date(timeIntervalSince1970: 1_440_938_160))

    static func load(_ name: String) -> SigningVectors {
        do {
            return try JSONDecoder().decode(SigningVectors.self, from: Fixtures.data("signing/\(name).json"))
        } catch {
            Issue.record(error)
            return SigningVectors(
                accessKeyID: "", secretAccessKey: "", region: "", service: "", lifetime: 0, publicKey: nil, cases: [])
        }
    }

    static let v4 = load("sigv4")
    static let v4a = load("sigv4a")

    func credentials(of row: Case) throws -> AWSCredentials {
        try AWSCredentials(accessKeyID: accessKeyID, secretAccessKey: secretAccessKey, sessionToken: row.token)
    }

    /// The two canonical forms of a case, by the signer's own parts.
    func canonicalForms(
        of row: Case, signer: SigV4, seal: AWSSeal
    ) throws -> (header: CanonicalRequest, query: CanonicalRequest) {
        let credentials = try credentials(of: row)
        var fields = row.headerFields
        fields[.amzDate] = seal.date.text
        if case .asymmetric(let regions) = signer.scheme { fields[.amzRegionSet] = regions }
        if row.omitsToken == false { fields[.amzSecurityToken] = row.token }
        if row.signsBody, let name = HTTPField.Name("X-Amz-Content-SHA256") { fields[name] = row.contentHash }
        let header = CanonicalRequest(
            method: row.method, target: row.target, fields: CanonicalRequest.signable(fields, host: Self.host),
            contentHash: row.contentHash, rules: row.rules)
        let signed = CanonicalRequest.signable(row.headerFields, host: Self.host)
        let items = signer.presigningItems(
            seal: seal, credentials: row.omitsToken == true ? try credentials.withoutToken : credentials,
            signedFields: CanonicalRequest.names(of: signed), seconds: lifetime)
        let query = CanonicalRequest(
            method: row.method, target: row.target, fields: signed, adding: items.signed, contentHash: row.contentHash,
            rules: row.rules)
        return (header, query)
    }
}

extension AWSCredentials {
    fileprivate var withoutToken: AWSCredentials {
        get throws { try AWSCredentials(accessKeyID: accessKeyID, secretAccessKey: secretAccessKey) }
    }

    /// Keys that open nothing.
    static var sample: AWSCredentials {
        get throws {
            try AWSCredentials(
                accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
        }
    }
}

@Suite(.timeLimit(.minutes(3)))
struct SigV4Tests {
    @Test(arguments: SigningVectors.v4.cases)
    func `A vector has its canonical request, its string to sign and its signature`(row: SigningVectors.Case) throws {
        let vectors = SigningVectors.v4
        let signer = SigV4(
            service: vectors.service, region: vectors.region, credentials: try vectors.credentials(of: row)
        )
        let seal = try signer.seal(at: SigningVectors.date, for: vectors.credentials(of: row))
        let forms = try vectors.canonicalForms(of: row, signer: signer, seal: seal)
        for (form, expected) in [(forms.header, row.header), (forms.query, row.query)] {
            #expect(form.text == expected.canonical)
            let text = seal.stringToSign(form)
            #expect(
                text == "AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/service/aws4_request\n\(expected.hash)")
            #expect(try seal.signature(of: text) == expected.signature)
        }
    }

    @Test(arguments: SigningVectors.v4a.cases)
    func `A vector of 4A has its canonical request, and both signatures are of its public key`(
        row: SigningVectors.Case
    ) throws {
        let vectors = SigningVectors.v4a
        let signer = SigV4(
            service: vectors.service, regions: [vectors.region], credentials: try vectors.credentials(of: row)
        )
        let seal = try signer.seal(at: SigningVectors.date, for: vectors.credentials(of: row))
        guard case .asymmetric(let key) = seal.key else { throw SigningError(.wrongKey, "") }
        #expect(key.publicKey.rawRepresentation.hexText == vectors.publicKey)
        let forms = try vectors.canonicalForms(of: row, signer: signer, seal: seal)
        for (form, expected) in [(forms.header, row.header), (forms.query, row.query)] {
            #expect(form.text == expected.canonical)
            let text = seal.stringToSign(form)
            #expect(text == "AWS4-ECDSA-P256-SHA256\n20150830T123600Z\n20150830/service/aws4_request\n\(expected.hash)")
            for signature in [expected.signature, try seal.signature(of: text)] {
                let parsed = try P256.Signing.ECDSASignature(derRepresentation: #require(Data(hex: signature)))
                #expect(key.publicKey.isValidSignature(parsed, for: Data(text.utf8)))
            }
        }
    }

    @Test func `Each attempt is signed with its own date, and nothing but the date differs`() async throws {
        let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_440_938_160))
        let stub = StubConnection { _ in Response(status: .serviceUnavailable) }
        let signer = SigV4(
            service: "dynamodb", region: "us-east-1", credentials: try AWSCredentials.sample, clock: clock)
        let api = try Origin("https://example.com")
        let connection = stub.authenticating(with: .signer(signer), for: api)
        _ = try await connection.send(.get("https://example.com/a?b=c"))
        clock.advance(by: .seconds(90_000))
        _ = try await connection.send(.get("https://example.com/a?b=c"))

        let dates = stub.requests.map { $0.head.headerFields[.amzDate] }
        #expect(dates == ["20150830T123600Z", "20150831T133600Z"])
        let values = try stub.requests.map { try #require($0.head.headerFields[.authorization]) }
        #expect(
            values[0].hasPrefix("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/dynamodb/aws4_request, "))
        #expect(values[1].contains("/20150831/us-east-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, "))
    }

    @Test(arguments: [86_400, -86_400])
    func `A clock that is wrong by a day is learnt from the answer, and the next attempt is signed right`(
        error: Int
    ) async throws {
        let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_440_938_160 + Double(error)))
        let origin = try LoopbackOrigin()
        let date = "Sun, 30 Aug 2015 12:36:00 GMT"
        origin.route(nil, "/a", .init(.forbidden, fields: ["Date": date]))
        let signer = SigV4(service: "s3", region: "us-east-1", credentials: try AWSCredentials.sample, clock: clock)
        let connection = SystemConnection().authenticating(with: .signer(signer), for: origin.origin)
        for _ in 0..<2 { _ = try await connection.send(.get(origin.url + "/a")).body.data(upTo: 100) }
        let sent = origin.requests.compactMap { $0.fields["X-Amz-Date"] }
        #expect(sent.count == 2 && sent[0] != sent[1])
        #expect(sent.last == "20150830T123600Z")
    }

    @Test func `A key of S3 is sent and signed in one encoding, and other services sign the path twice encoded`()
        async throws
    {
        let request = try Request.get("https://example.com/a+b%2fc//.d/(e)'?x=a+b&y=%20")
        let signer = SigV4(service: "s3", region: "us-east-1", credentials: try AWSCredentials.sample)
        let signed = try await signer.sign(request)
        #expect(signed.head.path == "/a%2Bb/c//.d/%28e%29%27?x=a%2Bb&y=%20")

        let rules = CanonicalRequest.PathRules()
        #expect(CanonicalRequest.path("/a%20b/./c/../d//e/", rules: rules) == "/a%2520b/d/e/")
        #expect(CanonicalRequest.path("/a%20b/./c//", rules: .objects) == "/a%20b/./c//")
        #expect(CanonicalRequest.path("", rules: .objects) == "/")
    }

    @Test func `A body that can be read once is refused for other services, and for S3 without a length`() async throws
    {
        let stub = StubConnection()
        let api = try Origin("https://example.com")
        for (service, length) in [("dynamodb", Int64(4)), ("s3", nil)] {
            let signer = SigV4(service: service, region: "us-east-1", credentials: try AWSCredentials.sample)
            let connection = stub.authenticating(with: .signer(signer), for: api)
            let chunks = AsyncStream<Data> { $0.finish() }
            let request = try Request.put("https://example.com/", body: Body(chunks: chunks, length: length))
            let error = await #expect(throws: SigningError.self) { try await connection.send(request) }
            #expect(error?.reason == .bodyReadOnce)
        }
        #expect(stub.requests.isEmpty)
    }

    @Test func `A signer that is configured wrongly sends nothing`() async throws {
        let stub = StubConnection()
        let api = try Origin("https://example.com")
        let signers = [
            SigV4(service: "s3", region: "", credentials: try AWSCredentials.sample),
            SigV4(service: "s3\n", region: "us-east-1", credentials: try AWSCredentials.sample),
            SigV4(
                service: "sqs", region: "us-east-1", credentials: try AWSCredentials.sample, payload: .signedChunks()),
        ]
        for signer in signers {
            let connection = stub.authenticating(with: .signer(signer), for: api)
            let error = await #expect(throws: SigningError.self) {
                try await connection.send(.get("https://example.com/"))
            }
            #expect(error?.reason == .invalidConfiguration)
        }
        #expect(stub.requests.isEmpty)
        let signer = SigV4(service: "s3", region: "us-east-1", credentials: try AWSCredentials.sample)
        for lifetime in [Duration.zero, .seconds(604_801), .seconds(Int64.max)] {
            await #expect(throws: SigningError.self) {
                try await signer.presigned(.get("https://example.com/"), for: lifetime)
            }
        }
        #expect(throws: SigningError.self) { try AWSCredentials(accessKeyID: "a", secretAccessKey: "b\n") }
    }

    @Test func `The wait for credentials ends at the deadline and when the caller is cancelled`() async throws {
        let clock = VirtualClock()
        let signer = SigV4(
            service: "s3", region: "us-east-1", credentials: WaitingSource(clock: clock), clock: clock)
        var request = try Request.get("https://example.com/")
        request.options.deadline = clock.now + .seconds(5)
        let late = Task { [request] in try await signer.sign(request) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: CredentialSourceError.self) { try await late.value }
        #expect(error?.mayPass == true)

        let cancelled = Task { try await signer.sign(.get("https://example.com/")) }
        try await clock.waitForSleepers(1)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }

    @Test func `A redirection to another origin arrives without the signature and the token`() async throws {
        let foreign = try LoopbackOrigin()
        let home = try LoopbackOrigin()
        foreign.route(nil, "/there", .init(.found, fields: ["Location": home.url + "/back"]))
        home.route(nil, "/back", "back")
        home.route(nil, "/away", .init(.temporaryRedirect, fields: ["Location": foreign.url + "/there"]))
        home.route(nil, "/here", .init(.temporaryRedirect, fields: ["Location": "/away"]))
        let credentials = try AWSCredentials(accessKeyID: "ID", secretAccessKey: "SECRET", sessionToken: "TOKEN")
        let signer = SigV4(service: "s3", region: "us-east-1", credentials: credentials)
        let connection = SystemConnection().authenticating(with: .signer(signer), for: home.origin).followingRedirects()
        _ = try await connection.send(.get(home.url + "/here")).body.data(upTo: 100)

        let secrets = ["Authorization", "X-Amz-Security-Token"]
        for request in foreign.requests { #expect(secrets.allSatisfy { request.fields[$0] == nil }) }
        #expect(foreign.requests.count == 1)
        let signed = home.requests.map { request in secrets.allSatisfy { request.fields[$0] != nil } }
        #expect(signed == [true, true, false])
    }

    @Test(arguments: DecoratorLaw.all)
    func `The layer keeps the laws with content that is not signed`(law: DecoratorLaw) async throws {
        try await check(law, .unsigned)
    }

    @Test(
        arguments: DecoratorLaw.all.excluding(
            .requestBodiesOnce, .requestTrailers, .idleness, .bodyErrors,
            because: "It reads content for its hash, and refuses content that it cannot cover."))
    func `The layer keeps the laws with content that is signed`(law: DecoratorLaw) async throws {
        try await check(law, .automatic)
    }

    private func check(_ law: DecoratorLaw, _ payload: AWSPayload) async throws {
        let fields = ["X-Amz-Date", "X-Amz-Content-SHA256", "X-Amz-Security-Token"].compactMap { HTTPField.Name($0) }
        try await law.check(adding: Set(fields).union([.authorization])) { base, conditions in
            let credentials = try AWSCredentials(accessKeyID: "ID", secretAccessKey: "law", sessionToken: "law")
            let signer = SigV4(
                service: "s3", region: "us-east-1", credentials: credentials, payload: payload, clock: conditions.clock)
            return base.authenticating(with: .signer(signer), for: try Origin(DecoratorLaw.origin))
        }
    }

    @Test func `No description, mirror, log or presigned address of a response shows a secret`() async throws {
        let secrets = ["SECRETKEY", "SECRETTOKEN", "SECRETSEED"]
        let credentials = try AWSCredentials(accessKeyID: "ID", secretAccessKey: secrets[0], sessionToken: secrets[1])
        let chain = AWSCredentialChain([credentials])
        let environment = [
            "AWS_ACCESS_KEY_ID": "ID", "AWS_SECRET_ACCESS_KEY": secrets[0], "AWS_SESSION_TOKEN": secrets[1],
        ]
        _ = try await chain.credentials()
        let signer = SigV4(service: "s3", region: "us-east-1", credentials: credentials)
        let signed = try await signer.sign(.get("https://example.com/"))
        let seal = try signer.seal(at: SigningVectors.date, for: credentials)
        let holders: [Any] = [
            credentials, chain, signer, seal, EnvironmentCredentials(environment),
            SigV4(service: "s3", regions: ["*"], credentials: credentials), Credentials.signer(signer),
            ProfileCredentials(over: StubConnection(), environment: environment),
            RemoteCredentials(.container, over: StubConnection(), environment: environment),
            CredentialProcess(words: secrets, environment: environment, clock: SystemClock()),
            SignedChunks(seal: seal, checksum: nil, seed: "seed"),
        ]
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = stub.authenticating(with: .signer(signer), for: try Origin("https://example.com"))
        _ = try await connection.send(.get("https://example.com/"))
        let request = try #require(stub.requests.first)
        let signature = try #require(signed.head.headerFields[.authorization]?.suffix(64))
        for holder in holders + [connection.layers, request] {
            var dumped = ""
            dump(holder, to: &dumped)
            for text in [dumped, String(describing: holder), String(reflecting: holder)] {
                for secret in secrets + [String(signature)] { #expect(!text.contains(secret)) }
            }
        }
    }
}

/// A source that never has credentials.
private struct WaitingSource: AWSCredentialSource {
    let clock: VirtualClock

    func credentials() async throws -> AWSCredentials? {
        try await clock.sleep(until: clock.now + .seconds(1000), tolerance: nil)
        return nil
    }
}

extension Data {
    /// The bytes of hexadecimal digits.
    init?(hex: String) {
        let digits = hex.compactMap(\.hexDigitValue)
        guard digits.count == hex.count, digits.count.isMultiple(of: 2) else { return nil }
        self.init(stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }
}
#endif
