#if Signing
import Crypto
import CryptoExtras
import DecorumAuthentication
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

@Suite(.timeLimit(.minutes(3))) struct OAuth1Tests {
    /// RFC 5849, section 3.4.1.1.
    @Test func `The base string of the RFC is reproduced`() async throws {
        var request = try Request.post(
            "http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b", body: "c2&a3=2+q")
        request.head.headerFields[.contentType] = "application/x-www-form-urlencoded"
        let items = [
            ("oauth_consumer_key", "9djdj82h48djs9d2"), ("oauth_token", "kkk9d7dh3k39sjv7"),
            ("oauth_signature_method", "HMAC-SHA1"), ("oauth_timestamp", "137131201"), ("oauth_nonce", "7d8f3e4a"),
        ]
        let base = OAuth1.signatureBase(
            of: request.head, origin: try Origin(request.head), form: try await request.formItems() ?? [],
            protocolItems: items.map { QueryItem($0.0, $0.1) })
        #expect(
            base == """
                POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D\
                %26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SH\
                A1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7
                """)
    }

    /// RFC 5849, section 1.2: the three requests, which have no `oauth_version`.
    @Test(arguments: [
        (
            "POST", "https://photos.example.net/initiate",
            [
                ("oauth_consumer_key", "dpf43f3p2l4k3l03"), ("oauth_signature_method", "HMAC-SHA1"),
                ("oauth_timestamp", "137131200"), ("oauth_nonce", "wIjqoS"),
                ("oauth_callback", "http://printer.example.com/ready"),
            ], "kd94hf93k423kf44&", "74KNZJeDHnMBp0EMJ9ZHt/XKycU="
        ),
        (
            "POST", "https://photos.example.net/token",
            [
                ("oauth_consumer_key", "dpf43f3p2l4k3l03"), ("oauth_token", "hh5s93j4hdidpola"),
                ("oauth_signature_method", "HMAC-SHA1"), ("oauth_timestamp", "137131201"),
                ("oauth_nonce", "walatlh"), ("oauth_verifier", "hfdp7dh39dks9884"),
            ], "kd94hf93k423kf44&hdhd0244k9j7ao03", "gKgrFCywp7rO0OXSjdot/IHF7IU="
        ),
        (
            "GET", "http://photos.example.net/photos?file=vacation.jpg&size=original",
            [
                ("oauth_consumer_key", "dpf43f3p2l4k3l03"), ("oauth_token", "nnch734d00sl2jdk"),
                ("oauth_signature_method", "HMAC-SHA1"), ("oauth_timestamp", "137131202"), ("oauth_nonce", "chapoH"),
            ], "kd94hf93k423kf44&pfkkdhi9sl3r4s00", "MdpQcU8iPSUjWoN/UDMsK2sui9I="
        ),
    ])
    func `The signatures of the RFC are reproduced`(
        method: String, url: String, items: [(String, String)], key: String, expected: String
    ) throws {
        var head = try Request.get(url).head
        head.method = try #require(HTTPRequest.Method(rawValue: method))
        let base = OAuth1.signatureBase(
            of: head, origin: try Origin(head), form: [], protocolItems: items.map { QueryItem($0.0, $0.1) })
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Data(base.utf8), using: SymmetricKey(data: Data(key.utf8)))
        #expect(Data(code).base64EncodedString() == expected)
    }

    @Test func `Each attempt has its own nonce, and the time of the server`() async throws {
        let clock = VirtualClock()
        let origin = try Origin("https://api.example.com")
        let ahead = clock.date + 86_400
        let stub = StubConnection { _ in
            var response = Response(status: .ok, fields: [.date: HTTPDate(ahead).description])
            response.metadata.source = .network
            return response
        }
        let signer = OAuth1(
            consumer: "c", secret: "s", token: "t", realm: "a\"b", clock: clock, generator: SeededGenerator(seed: 1))
        let connection = stub.authenticating(with: .signer(signer), for: origin)
        for _ in 0..<2 { _ = try await connection.send(.get("https://api.example.com/a")) }
        let values = stub.requests.compactMap { $0.head.headerFields[.authorization] }
        #expect(values.count == 2 && values[0].hasPrefix(#"OAuth realm="a\"b", oauth_consumer_key="c", "#))
        #expect(values[0].contains("oauth_timestamp=\"\(Int(clock.date.timeIntervalSince1970))\""))
        #expect(values[1].contains("oauth_timestamp=\"\(Int(ahead.timeIntervalSince1970))\""))
        let nonces = values.compactMap { $0.firstMatch(of: /oauth_nonce="([^"]+)"/)?.output.1 }
        #expect(Set(nonces).count == 2)
    }

    @Test func `A form that can be read once is refused, and another body is not read`() async throws {
        let stub = StubConnection(Response(status: .ok))
        let connection = stub.authenticating(
            with: .signer(OAuth1(consumer: "c", secret: "s")), for: try Origin("https://api.example.com"))
        var form = try Request.post("https://api.example.com/", body: .once("a=b"))
        form.head.headerFields[.contentType] = "application/x-www-form-urlencoded; charset=utf-8"
        let request = form
        let error = try await #require(throws: SigningError.self) { try await connection.send(request) }
        #expect(error.reason == .bodyReadOnce && stub.requests.isEmpty)
        #expect(try await connection.send(.post("https://api.example.com/", body: .once("a=b"))).status == .ok)
    }

    @Test func `No description shows a secret`() throws {
        let signer = OAuth1(consumer: "c", secret: "x7Rq2LmZ", token: "t", tokenSecret: "x7Rq2LmZ")
        for text in ["\(signer)", String(reflecting: signer), dumped(signer), dumped(Credentials.signer(signer))] {
            #expect(!text.contains("x7Rq"))
        }
    }
}
#endif
