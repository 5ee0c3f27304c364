#if Signing
import Crypto
import DecorumAuthentication
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

/// `HMACSigner` and `OAuth1`, whose secrets the server knows too.
@Suite(.timeLimit(.minutes(3))) struct SharedSecretTests {
    private static let url = "https://api.example.com:8443/a%20b/c?b=2&a=%7E1&a=&c+d"
    private let key = SymmetricKey(data: Data("secret".utf8))
    private let clock = VirtualClock()
    private let stub = StubConnection { _ in Response(status: .ok) }

    private func connection(_ signer: some RequestSigner) throws -> any Connection {
        stub.authenticating(with: .signer(signer), for: try Origin(Self.url))
    }

    private func name(_ text: String) throws -> HTTPField.Name { try #require(HTTPField.Name(text)) }

    @Test func `The parts are signed in their order`() async throws {
        let (time, digest, nonce) = (try name("X-Time"), try name("X-Digest"), try name("X-Nonce"))
        let signer = HMACSigner(
            key: key,
            parts: [
                .text("v1"), .method, .authority, .path, .query, .target, .field(.accept),
                .timestamp(in: time, as: .unixSeconds), .contentDigest(encoding: .base64, in: digest),
                .nonce(in: nonce), .computed { request in "\(request.body.length ?? -1)" },
            ], encoding: .base64, field: .authorization, prefix: "Acme key-1:", clock: clock)
        _ = try await connection(signer).send(.post(Self.url, fields: [.accept: "*/*"], body: "content"))
        let fields = try #require(stub.requests.first).head.headerFields
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

    @Test func `A time has one of four forms`() async throws {
        clock.advance(by: .milliseconds(250))
        let time = try name("X-Time")
        for (form, text) in [
            (HMACSigner.TimeForm.unixSeconds, "1700000000"), (.unixMilliseconds, "1700000000250"),
            (.httpDate, "Tue, 14 Nov 2023 22:13:20 GMT"), (.iso8601, "2023-11-14T22:13:20Z"),
        ] {
            let parts = [HMACSigner.Part.timestamp(in: time, as: form)]
            _ = try await connection(HMACSigner(key: key, parts: parts, field: .authorization, clock: clock))
                .send(.get(Self.url))
            #expect(stub.requests.last?.head.headerFields[time] == text)
        }
    }

    @Test func `What cannot be signed is not sent`() async throws {
        let form: HTTPFields = [.contentType: "application/x-www-form-urlencoded; charset=utf-8"]
        for (signer, reason) in [
            (
                HMACSigner(key: key, parts: [.field(.accept)], field: .authorization),
                SigningError.Reason.missingComponent
            ),
            (HMACSigner(key: key, parts: [.contentDigest()], field: .authorization), .bodyReadOnce),
            (HMACSigner(key: key, parts: [.path], field: .authorization, prefix: "a\n"), .invalidConfiguration),
            (OAuth1(consumer: "c", secret: "s"), .bodyReadOnce),
        ] as [(any RequestSigner, SigningError.Reason)] {
            let connection = try connection(signer)
            let error = try await #require(throws: SigningError.self) {
                try await connection.send(.post(Self.url, fields: form, body: .once("a")))
            }
            #expect(error.reason == reason && stub.requests.isEmpty)
        }
        // Content that is no form is not read.
        let other = try connection(OAuth1(consumer: "c", secret: "s"))
        #expect(try await other.send(.post(Self.url, body: .once("a=b"))).status == .ok)
    }

    @Test func `Each attempt has its own nonce, and the time of the server`() async throws {
        let ahead = clock.date + 86_400
        let stub = StubConnection { _ in
            var response = Response(status: .ok, fields: [.date: HTTPDate(ahead).description])
            response.metadata.source = .network
            return response
        }
        let signer = OAuth1(consumer: "c", secret: "s", token: "t", realm: "a\"b", clock: clock)
        let connection = stub.authenticating(with: .signer(signer), for: try Origin(Self.url))
        for _ in 0..<2 { _ = try await connection.send(.get(Self.url)) }
        let values = stub.requests.compactMap { $0.head.headerFields[.authorization] }
        #expect(values.count == 2 && values[0].hasPrefix(#"OAuth realm="a\"b", oauth_consumer_key="c", "#))
        for (value, date) in zip(values, [clock.date, ahead]) {
            #expect(value.contains("oauth_timestamp=\"\(Int(date.timeIntervalSince1970))\""))
        }
        #expect(Set(values.compactMap { $0.firstMatch(of: /oauth_nonce="([^"]+)"/)?.output.1 }).count == 2)
    }
}
#endif
