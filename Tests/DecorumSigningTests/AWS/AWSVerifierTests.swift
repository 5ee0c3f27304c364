#if Signing
#if os(macOS) || os(Linux)
import Crypto
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

/// The libraries of AWS, and a server that checks signatures with them; all are from PyPI.
@Suite(
    .timeLimit(.minutes(Footprint.isSoak ? 60 : 10)),
    .enabled("moto, botocore and awscrt of PyPI cannot be installed on this machine") {
        await AWSVerifier.python() != nil
    })
struct AWSVerifierTests {
    private static let rounds = Footprint.isSoak ? 500 : 25
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_790_000_000.4))
    private let token = "FQoGZXIvYXdzE/sample+token=="

    private func credentials(_ hasToken: Bool) throws -> AWSCredentials {
        try AWSCredentials(
            accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            sessionToken: hasToken ? token : nil)
    }

    private func keys(_ hasToken: Bool) -> [String] {
        ["AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"] + (hasToken ? [token] : [])
    }

    @Test func `Presigned addresses are the ones of botocore`() async throws {
        var generator = Draw(seed: 1)
        var cases: [AWSVerifier.Case] = []
        var signatures: [String] = []
        for round in 0..<Self.rounds {
            let hasToken = round.isMultiple(of: 3)
            let service = round.isMultiple(of: 2) ? "s3" : "execute-api"
            let key = PercentCoding.encode(generator.text(), keeping: "/")
            let query = round % 4 < 2 ? "" : "?b=\(PercentCoding.encode(generator.text()))&a=1"
            let url = "https://host.example.com/\(key)\(query)"
            let lifetime = Int64(1 + generator.next() % 604_800)
            let signer = SigV4(
                service: service, region: "eu-west-1", credentials: try credentials(hasToken), clock: clock)
            let presigned = try await signer.presigned(.get(url), for: .seconds(lifetime))
            signatures.append(String(presigned.absoluteString.suffix(64)))
            cases.append(
                AWSVerifier.Case(
                    kind: "presigned", service: service, region: "eu-west-1", keys: keys(hasToken), date: date,
                    url: url,
                    lifetime: lifetime))
        }
        #expect(try await AWSVerifier.answers(to: cases) == signatures)
    }

    @Test func `Chunks and trailers are right for botocore`() async throws {
        var generator = Draw(seed: 2)
        let payloads: [AWSPayload] =
            [.automatic, .signedChunks()]
            + AWSPayload.Checksum.allCases.flatMap { [.signedChunks(checksum: $0), .unsignedChunks(checksum: $0)] }
        var cases: [AWSVerifier.Case] = []
        for round in 0..<payloads.count * (Footprint.isSoak ? 20 : 2) {
            let hasToken = round.isMultiple(of: 2)
            let content = Data(
                (0..<Int(generator.next() % 200_000)).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
            let url = "https://host.example.com/\(PercentCoding.encode(generator.text(), keeping: "/"))"
            let signer = SigV4(
                service: "s3", region: "eu-west-1", credentials: try credentials(hasToken),
                payload: payloads[round % payloads.count], clock: clock)
            let body = Body(chunks: AsyncStream { $0.yieldAll([content]) }, length: Int64(content.count))
            let signed = try await signer.sign(.put(url, body: content.isEmpty ? .empty : body))
            let fields = signed.head.headerFields
            cases.append(
                AWSVerifier.Case(
                    kind: "chunks", service: "s3", region: "eu-west-1", keys: keys(hasToken), date: date, method: "PUT",
                    url: url, headers: fields.filter { $0.name != .authorization }.map { [$0.name.rawName, $0.value] },
                    authorization: fields[.authorization] ?? "",
                    body: try await signed.body.data(upTo: 1 << 20), content: content))
        }
        #expect(try await AWSVerifier.answers(to: cases) == cases.map { _ in "right" })
    }

    @Test func `Signatures of 4A by awscrt are right for the canonical form and the key of this module`() async throws {
        var generator = Draw(seed: 3)
        var cases: [AWSVerifier.Case] = []
        var texts: [String] = []
        let key = try P256.Signing.PrivateKey.aws4a(credentials(false))
        for round in 0..<Self.rounds {
            let service = round.isMultiple(of: 2) ? "s3" : "execute-api"
            let path = PercentCoding.encode(generator.text(), keeping: "/")
            let url = "https://host.example.com/\(path)?b=\(PercentCoding.encode(generator.text()))&a=1"
            let hash = SHA256.hash(data: Data()).hexText
            let signer = SigV4(service: service, regions: ["*"], credentials: try credentials(false), clock: clock)
            let signed = try await signer.sign(.get(url, fields: [.range: "bytes=0-9"]))
            let fields = signed.head.headerFields.filter { $0.name != .authorization }
            let canonical = CanonicalRequest(
                method: "GET", target: signed.head.path ?? "",
                fields: CanonicalRequest.signable(HTTPFields(fields), host: "host.example.com"), contentHash: hash,
                rules: signer.pathRules)
            let seal = try signer.seal(at: AWSDate(clock.date), for: credentials(false))
            texts.append(seal.stringToSign(canonical))
            // Both sign the same fields, and this module's own signature is right too.
            let own = try #require(signed.head.headerFields[.authorization])
            #expect(try isValid(own, of: texts[round], key))
            cases.append(
                AWSVerifier.Case(
                    kind: "asymmetric", service: service, region: "*", keys: keys(false), date: date, url: url,
                    headers: [["range", "bytes=0-9"]], hash: hash))
        }
        for (answer, text) in zip(try await AWSVerifier.answers(to: cases), texts) {
            #expect(try isValid(answer, of: text, key), "\(answer.prefix(200))")
        }
    }

    private var date: String { AWSDate(clock.date).text }

    private func isValid(_ authorization: String, of text: String, _ key: P256.Signing.PrivateKey) throws -> Bool {
        let mark = try #require(authorization.range(of: "Signature="))
        let bytes = try #require(Data(hex: String(authorization[mark.upperBound...])))
        return key.publicKey.isValidSignature(try .init(derRepresentation: bytes), for: Data(text.utf8))
    }

    @Test func `A server that checks signatures takes objects with odd keys, lists them and takes them in parts`()
        async throws
    {
        let server = try await AWSVerifier.Server()
        let transport = SystemConnection()
        let credentials = try AWSCredentials(accessKeyID: server.id, secretAccessKey: server.secret)
        func connection(_ credentials: AWSCredentials, _ payload: AWSPayload = .automatic) throws -> any Connection {
            let signer = SigV4(service: "s3", region: "us-east-1", credentials: credentials, payload: payload)
            return transport.authenticating(with: .signer(signer), for: try Origin(server.url))
        }
        let role = try await server.roleCredentials(over: transport)
        try await server.checkSignatures(over: transport)
        let wrong = try AWSCredentials(accessKeyID: server.id, secretAccessKey: server.secret + "x")
        let refused = try await connection(wrong).send(.get(server.url + "/bucket"))
        #expect(refused.head.status == .forbidden)
        #expect(role.sessionToken != nil && role.expiry != nil)

        var generator = Draw(seed: 4)
        let payloads: [AWSPayload] = [
            .automatic, .unsigned, .signedChunks(), .signedChunks(checksum: .sha256), .unsignedChunks(checksum: .crc32),
        ]
        for round in 0..<(Footprint.isSoak ? 500 : 50) {
            let key = generator.text()
            // Characters that a URL may have are sent as they are in every other round.
            let path = PercentCoding.encode(key, keeping: round.isMultiple(of: 2) ? "/" : "/!$&'()*+,;=:@")
            let url = "\(server.url)/bucket/\(path)"
            let content = Data("content \(round) \(key)".utf8)
            let connection = try connection(
                round.isMultiple(of: 4) ? role : credentials, payloads[round % payloads.count])
            let once = Body(chunks: AsyncStream { $0.yieldAll([content]) }, length: Int64(content.count))
            let put = try await connection.send(.put(url, body: round.isMultiple(of: 3) ? once : Body(content)))
            let message = try await put.body.text(upTo: 10_000)
            #expect(put.head.status == .ok, "\(key.debugDescription): \(message)")
            let got = try await connection.send(.get(url))
            #expect(try await got.body.data(upTo: 1_000) == content, "\(key.debugDescription)")
            let prefix = PercentCoding.encode(String(key.prefix(3)))
            let list = try await connection.send(
                .get("\(server.url)/bucket?prefix=\(prefix)&list-type=2&encoding-type=url"))
            #expect(list.head.status == .ok, "\(key.debugDescription)")
            #expect(try await list.body.text(upTo: 1 << 20).contains("<Key>"), "\(key.debugDescription)")
        }
        try await uploadInParts(server.url + "/bucket/in%20parts", over: connection(credentials))
    }

    private func uploadInParts(_ url: String, over connection: any Connection) async throws {
        let start = try await connection.send(.post(url + "?uploads")).body.text(upTo: 10_000)
        let id = try #require(start.components(separatedBy: "<UploadId>").last?.components(separatedBy: "</").first)
        var parts = ""
        for number in 1...2 {
            let content = Data(repeating: UInt8(number), count: number == 1 ? 5 << 20 : 1_000)
            let body = Body(chunks: AsyncStream { $0.yieldAll([content]) }, length: Int64(content.count))
            let query = "?partNumber=\(number)&uploadId=\(PercentCoding.encode(id))"
            let part = try await connection.send(.put(url + query, body: body))
            #expect(part.head.status == .ok)
            let tag = try #require(part.head.headerFields[.eTag])
            parts += "<Part><PartNumber>\(number)</PartNumber><ETag>\(tag)</ETag></Part>"
        }
        let document = Body(Data("<CompleteMultipartUpload>\(parts)</CompleteMultipartUpload>".utf8))
        let end = try await connection.send(.post(url + "?uploadId=\(PercentCoding.encode(id))", body: document))
        #expect(end.head.status == .ok)
        let whole = try await connection.send(.get(url)).body.data(upTo: 6 << 20)
        #expect(whole.count == (5 << 20) + 1_000)
    }
}

/// Random texts with characters that need care.
private struct Draw: RandomNumberGenerator {
    private let generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func next() -> UInt64 { generator.next() }

    /// A key without empty or dotted segments.
    mutating func text() -> String {
        let characters = Array("abcXYZ0189-._~ !\"#$%&'()*+,/:;<=>?@[\\]^`{|}äß漢字🙂é")
        var text = "k"
        for _ in 0..<Int.random(in: 1...20, using: &self) {
            let character = characters.randomElement(using: &self) ?? "a"
            text.append(text.last == "/" && (character == "/" || character == ".") ? "a" : character)
        }
        return text + "z"
    }
}

/// The program `aws_verifier.py`, with libraries whose virtual environment is made once for a machine.
enum AWSVerifier {
    struct Case: Encodable {
        var kind, service, region: String
        var keys: [String]
        var date: String
        var method = "GET"
        var url: String
        var headers: [[String]] = []
        var lifetime: Int64 = 900
        var authorization = ""
        var hash = ""
        var body = Data()
        var content = Data()
    }

    private static let packages = ["moto[s3,iam,server]==5.2.5", "boto3==1.44.8", "botocore==1.44.8", "awscrt==0.38.1"]
    private static let environment = FileManager.default.temporaryDirectory
        .appending(path: "decorum-aws-\(packages.joined().filter(\.isNumber))-\(getuid())")

    /// The interpreter with the libraries; nil if they cannot be installed.
    static func python() async -> String? { await installation.value }

    private static let installation = Task { () async -> String? in
        let python = environment.appending(path: "bin/python").path
        let program = RunningScript.quoted(python)
        let works = "\(program) -c 'import moto.server, boto3, awscrt.auth'"
        let install = """
            python3 -m venv \(RunningScript.quoted(environment.path))
            \(program) -m pip install --quiet --retries 1 --timeout 20 \
            \(packages.map(RunningScript.quoted).joined(separator: " "))
            """
        let output = try? await RunningScript.output(of: "\(works) || { \(install)\n\(works); }")
        return output == nil ? nil : python
    }

    /// What the libraries answer to each case.
    static func answers(to cases: [Case]) async throws -> [String] {
        let command = try await command("check", "cases.json")
        let output = try await RunningScript.output(
            of: command + " 2>/dev/null", files: ["cases.json": try JSONEncoder().encode(cases)])
        return try JSONDecoder().decode([String].self, from: output)
    }

    private static func command(_ arguments: String...) async throws -> String {
        let python = try #require(await python())
        let words = [python, "-u", Fixtures.url("signing/aws_verifier.py").path] + arguments
        return words.map(RunningScript.quoted).joined(separator: " ")
    }

    /// A server that speaks the protocol of S3, and refuses requests whose signature is wrong.
    struct Server {
        private struct Facts: Decodable {
            let port: Int
            let id, secret: String
        }

        private let script: RunningScript
        let url, id, secret: String

        init() async throws {
            script = try RunningScript("exec \(try await AWSVerifier.command("serve")) 2>/dev/null")
            let line = try await script.waitForOutput(of: "}\n")
            let start = try #require(line.lastIndex(of: "{"))
            let facts = try JSONDecoder().decode(Facts.self, from: Data(line[start...].utf8))
            (url, id, secret) = ("http://127.0.0.1:\(facts.port)", facts.id, facts.secret)
        }

        /// The credentials of a role, for the token of another identity provider, which the server does not check.
        func roleCredentials(over transport: some Connection) async throws -> AWSCredentials {
            let file = script.folder.appending(path: "token")
            try Data("token\n".utf8).write(to: file)
            let environment = [
                "AWS_WEB_IDENTITY_TOKEN_FILE": file.path, "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/role",
                "AWS_ENDPOINT_URL_STS": url,
            ]
            let chain = AWSCredentialChain.standard(over: transport, environment: environment)
            return try #require(try await chain.credentials())
        }

        /// Has the server refuse each request without a valid signature from now on.
        func checkSignatures(over transport: some Connection) async throws {
            let answer = try await transport.send(.post(url + "/moto-api/reset-auth", body: Body(Data("0".utf8))))
            #expect(answer.head.status == .ok)
        }
    }
}
#endif
#endif
