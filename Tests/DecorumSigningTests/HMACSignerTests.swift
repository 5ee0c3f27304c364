#if Signing
import Crypto
import DecorumAuthentication
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

@Suite(.timeLimit(.minutes(3))) struct HMACSignerTests {
    private static let url = "https://api.example.com:8443/a%20b/c?b=2&a=%7E1&a=&c+d"
    private let key = SymmetricKey(data: Data("x7Rq2LmZ9sKd4TbVw8NcYh3J".utf8))
    private let clock = VirtualClock()

    private func name(_ text: String) throws -> HTTPField.Name { try #require(HTTPField.Name(text)) }

    private func signed(_ signer: HMACSigner, _ request: Request) async throws -> HTTPFields {
        let stub = StubConnection(Response(status: .ok))
        _ = try await stub.authenticating(with: .signer(signer), for: try Origin(Self.url)).send(request)
        return try #require(stub.requests.first).head.headerFields
    }

    @Test func `The parts are signed in their order`() async throws {
        let (time, digest, nonce) = (try name("X-Time"), try name("X-Digest"), try name("X-Nonce"))
        let signer = HMACSigner(
            key: key,
            parts: [
                .text("v1"), .method, .authority, .path, .query, .target, .field(.accept),
                .timestamp(in: time, as: .unixSeconds), .contentDigest(encoding: .base64, in: digest),
                .nonce(in: nonce),
                .computed { request in "\(request.body.length ?? -1)" },
            ], encoding: .base64, field: .authorization, prefix: "Acme key-1:", clock: clock,
            generator: SeededGenerator(seed: 1))
        let fields = try await signed(signer, .post(Self.url, fields: [.accept: "*/*"], body: "content"))
        let body = Data(SHA256.hash(data: Data("content".utf8))).base64EncodedString()
        let random = try #require(fields[nonce])
        let text = """
            v1
            POST
            api.example.com:8443
            /a%20b/c
            a=&a=~1&b=2&c%2Bd=
            /a%20b/c?b=2&a=%7E1&a=&c+d
            */*
            1700000000
            \(body)
            \(random)
            7
            """
        let code = Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)).base64EncodedString()
        #expect(fields[.authorization] == "Acme key-1:\(code)")
        #expect(fields[time] == "1700000000" && fields[digest] == body && random.count == 32)
    }

    /// RFC 4231, test case 2, and RFC 2202 for the old functions.
    @Test(arguments: [
        (HMACSigner.Hash.sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        (
            .sha384,
            "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649"
        ),
        (
            .sha512,
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b63"
                + "6e070a38bce737"
        ),
        (.sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"), (.md5, "750c783e6ab0b503eaa86e310a5db738"),
    ])
    func `Each hash function has the code of its standard`(hash: HMACSigner.Hash, expected: String) async throws {
        let signer = HMACSigner(
            key: SymmetricKey(data: Data("Jefe".utf8)), hash: hash,
            parts: [.text("what do ya want "), .text("for nothing?")],
            separator: "", field: .authorization)
        #expect(try await signed(signer, .get(Self.url))[.authorization] == expected)
    }

    @Test(arguments: [
        (HMACSigner.TimeForm.unixSeconds, "1700000000"), (.unixMilliseconds, "1700000000250"),
        (.httpDate, "Tue, 14 Nov 2023 22:13:20 GMT"), (.iso8601, "2023-11-14T22:13:20Z"),
    ])
    func `A time has one of four forms`(form: HMACSigner.TimeForm, expected: String) async throws {
        clock.advance(by: .milliseconds(250))
        let time = try name("X-Time")
        let signer = HMACSigner(key: key, parts: [.timestamp(in: time, as: form)], field: .authorization, clock: clock)
        #expect(try await signed(signer, .get(Self.url))[time] == expected)
    }

    @Test func `What cannot be signed is not sent`() async throws {
        for (signer, reason) in [
            (
                HMACSigner(key: key, parts: [.field(.accept)], field: .authorization),
                SigningError.Reason.missingComponent
            ),
            (HMACSigner(key: key, parts: [.contentDigest()], field: .authorization), .bodyReadOnce),
            (HMACSigner(key: key, parts: [.path], field: .authorization, prefix: "a\n"), .invalidConfiguration),
        ] {
            let stub = StubConnection(Response(status: .ok))
            let connection = stub.authenticating(with: .signer(signer), for: try Origin(Self.url))
            let error = try await #require(throws: SigningError.self) {
                _ = try await connection.send(.post(Self.url, body: .once("a")))
            }
            #expect(error.reason == reason && stub.requests.isEmpty)
        }
    }

    @Test func `No description shows the key`() throws {
        let signer = HMACSigner(key: key, parts: [.path], field: .authorization, prefix: "x7Rq")
        for text in ["\(signer)", String(reflecting: signer), dumped(signer)] { #expect(!text.contains("x7Rq")) }
    }
}
#endif
