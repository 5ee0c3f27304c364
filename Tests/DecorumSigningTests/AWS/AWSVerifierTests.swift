#if Signing && (os(macOS) || os(Linux))
import Crypto
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumSigning

/// The libraries of AWS, and a server that checks signatures with them; all are from PyPI.
@Suite(.timeLimit(.minutes(Footprint.isSoak ? 60 : 10)), IndependentVerifier.areInstalled) struct AWSVerifierTests {
    private struct Case: Encodable {
        let kind, service, date, url: String, keys: [String]
        var region = "eu-west-1", method = "GET"
        var headers: [[String]] = []
        var lifetime: Int64 = 900
        var authorization = "", hash = "", expected = ""
        var body = Data(), content = Data()
    }

    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_790_000_000.4))

    private func credentials(_ keys: [String]) throws -> AWSCredentials {
        try AWSCredentials(accessKeyID: keys[0], secretAccessKey: keys[1], sessionToken: keys.dropFirst(2).first)
    }

    /// Random cases, and what the libraries answer to them; two of three have no session token.
    private func answers(
        _ kind: String, seed: UInt64, rounds: Int = Footprint.isSoak ? 500 : 25,
        _ complete: (inout Case, SeededGenerator, Int) async throws -> Void
    ) async throws -> [(row: Case, answer: String)] {
        let generator = SeededGenerator(seed: seed)
        var rows: [Case] = []
        for round in 0..<rounds {
            let token = round.isMultiple(of: 3) && kind != "asymmetric" ? ["FQoGZXIvYXdzE/sample+token=="] : []
            let query = round % 4 > 1 && kind != "chunks" ? "?b=\(PercentCoding.encode(generator.key()))&a=1" : ""
            var row = Case(
                kind: kind, service: kind == "chunks" || round.isMultiple(of: 2) ? "s3" : "execute-api",
                date: clock.date.amzText,
                url: "https://host.example.com/\(PercentCoding.encode(generator.key(), keeping: "/"))\(query)",
                keys: ["AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"] + token)
            try await complete(&row, generator, round)
            rows.append(row)
        }
        let answers = try await IndependentVerifier.answers(of: "aws_verifier", to: rows, as: String.self)
        return zip(rows, answers).map { ($0, $1) }
    }

    @Test func `Presigned addresses are the ones of botocore`() async throws {
        let answers = try await answers("presigned", seed: 1) { row, generator, _ in
            row.lifetime = Int64(1 + generator.next() % 604_800)
            let signer = SigV4(
                service: row.service, region: row.region, credentials: try credentials(row.keys), clock: clock)
            let presigned = try await signer.presigned(.get(row.url), for: .seconds(row.lifetime))
            row.expected = String(presigned.absoluteString.suffix(64))
        }
        for (row, answer) in answers { #expect(answer == row.expected, "\(row.url)") }
    }

    @Test func `Chunks and trailers are right for botocore`() async throws {
        let payloads: [AWSPayload] =
            [.automatic, .signedChunks()]
            + AWSPayload.Checksum.allCases.flatMap { [.signedChunks(checksum: $0), .unsignedChunks(checksum: $0)] }
        for (row, answer) in try await answers(
            "chunks", seed: 2, rounds: payloads.count * (Footprint.isSoak ? 20 : 2),
            { row, generator, round in
                let count = generator.next() % 200_000
                row.content = Data((0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
                let signer = SigV4(
                    service: "s3", region: row.region, credentials: try credentials(row.keys),
                    payload: payloads[round % payloads.count], clock: clock)
                let signed = try await signer.sign(.put(row.url, body: count == 0 ? .empty : .once([row.content])))
                row.method = "PUT"
                row.headers = signed.head.headerFields.filter { $0.name != .authorization }
                    .map { [$0.name.rawName, $0.value] }
                row.authorization = signed.head.headerFields[.authorization] ?? ""
                row.body = try await signed.body.data(upTo: 1 << 20)
            })
        { #expect(answer == "right", "\(row.url)") }
    }

    @Test func `Signatures of 4A by awscrt are right for the canonical form and the key of this module`() async throws {
        func isValid(_ authorization: String?, of row: Case) throws -> Bool {
            let signature = try #require(authorization?.components(separatedBy: "Signature=").last)
            return try P256.Signing.PrivateKey.aws4a(credentials(row.keys)).publicKey
                .isValid(hex: signature, of: row.expected)
        }
        for (row, answer) in try await answers(
            "asymmetric", seed: 3,
            { row, _, _ in
                (row.region, row.headers, row.hash) = ("*", [["range", "bytes=0-9"]], SHA256.emptyText)
                let credentials = try credentials(row.keys)
                let signer = SigV4(service: row.service, regions: ["*"], credentials: credentials, clock: clock)
                let signed = try await signer.sign(.get(row.url, fields: [.range: "bytes=0-9"]))
                let canonical = CanonicalRequest(
                    method: "GET", target: signed.head.path ?? "",
                    fields: CanonicalRequest.signable(signed.head.headerFields, host: "host.example.com"),
                    contentHash: row.hash, path: signer.pathForm)
                let seal = try signer.seal(at: clock.date, for: credentials)
                row.expected = String(decoding: seal.text(of: canonical.hash), as: UTF8.self)
                // Both sign the same fields, and this module's own signature is right too.
                #expect(try isValid(signed.head.headerFields[.authorization], of: row))
            })
        { #expect(try isValid(answer, of: row), "\(answer.prefix(200))") }
    }

    @Test func `A server that checks signatures takes and lists objects with odd keys, and parts`() async throws {
        let moto = try await IndependentVerifier.server("aws_verifier", "serve")
        defer { withExtendedLifetime(moto) {} }
        let (server, keys, transport) = (moto.url, Array(moto.words.dropFirst()), SystemConnection())
        let user = try credentials(keys)
        func connection(_ credentials: AWSCredentials, _ payload: AWSPayload = .automatic) throws -> any Connection {
            let signer = SigV4(service: "s3", region: "us-east-1", credentials: credentials, payload: payload)
            return transport.authenticating(with: .signer(signer), for: try Origin(server))
        }
        let file = moto.folder.appending(path: "token")
        try Data("token\n".utf8).write(to: file)
        let environment = [
            "AWS_WEB_IDENTITY_TOKEN_FILE": file.path, "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/role",
            "AWS_ENDPOINT_URL_STS": server,
        ]
        let chain = AWSCredentialChain.standard(over: transport, environment: environment)
        let role = try #require(try await chain.credentials())
        #expect(role.sessionToken != nil && role.expiry != nil)
        // From now on the server checks signatures.
        _ = try await transport.send(.post(server + "/moto-api/reset-auth", body: Body(Data("0".utf8))))
        let refused = try await connection(credentials([keys[0], keys[1] + "x"])).send(.get(server + "/bucket"))
        #expect(refused.head.status == .forbidden)

        let generator = SeededGenerator(seed: 4)
        let payloads: [AWSPayload] = [
            .automatic, .unsigned, .signedChunks(), .signedChunks(checksum: .sha256), .unsignedChunks(checksum: .crc32),
        ]
        for round in 0..<(Footprint.isSoak ? 500 : 50) {
            let key = generator.key()
            // Characters that a URL may have are sent as they are in every other round.
            let path = PercentCoding.encode(key, keeping: round.isMultiple(of: 2) ? "/" : "/!$&'()*+,;=:@")
            let url = "\(server)/bucket/\(path)"
            let content = Data("content \(round) \(key)".utf8)
            let connection = try connection(round.isMultiple(of: 4) ? role : user, payloads[round % payloads.count])
            let put = try await connection.send(
                .put(url, body: round.isMultiple(of: 3) ? .once([content]) : Body(content)))
            let message = try await put.body.text(upTo: 10_000)
            #expect(put.head.status == .ok, "\(key.debugDescription): \(message)")
            let got = try await connection.send(.get(url))
            #expect(try await got.body.data(upTo: 1_000) == content, "\(key.debugDescription)")
            let prefix = PercentCoding.encode(String(key.prefix(3)))
            let list = try await connection.send(
                .get("\(server)/bucket?prefix=\(prefix)&list-type=2&encoding-type=url"))
            #expect(try await list.body.text(upTo: 1 << 20).contains("<Key>"), "\(key.debugDescription)")
        }

        let (url, connection) = (server + "/bucket/in%20parts", try connection(user))
        let start = try await connection.send(.post(url + "?uploads")).body.text(upTo: 10_000)
        let text = try #require(start.components(separatedBy: "<UploadId>").last?.components(separatedBy: "</").first)
        let id = PercentCoding.encode(text)
        var parts = ""
        for (number, count) in [(1, 5 << 20), (2, 1_000)] {
            let part = try await connection.send(
                .put("\(url)?partNumber=\(number)&uploadId=\(id)", body: .once([Data(count: count)])))
            let tag = try #require(part.head.headerFields[.eTag])
            parts += "<Part><PartNumber>\(number)</PartNumber><ETag>\(tag)</ETag></Part>"
        }
        let document = "<CompleteMultipartUpload>\(parts)</CompleteMultipartUpload>"
        let end = try await connection.send(.post("\(url)?uploadId=\(id)", body: Body(Data(document.utf8))))
        #expect(end.head.status == .ok)
        #expect(try await connection.send(.get(url)).body.data(upTo: 6 << 20).count == (5 << 20) + 1_000)
    }
}

extension SeededGenerator {
    /// A key without empty or dotted segments.
    fileprivate func key() -> String { "k\(oddText(upTo: 21).replacing(/\/[.\/]+/, with: "/a"))z" }
}
#endif
