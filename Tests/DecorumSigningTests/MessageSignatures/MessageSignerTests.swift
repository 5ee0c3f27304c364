#if Signing
import Crypto
import Decorum
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumSigning

/// RFC 9421, sections 3.1, 4 and 5, as a layer performs them.
@Suite(.timeLimit(.minutes(3))) struct MessageSignerTests {
    private let key = Curve25519.Signing.PrivateKey()
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_618_884_473))

    private func signer(_ change: (inout MessageSignaturePolicy) -> Void = { _ in }) -> MessageSigner {
        var policy = MessageSignaturePolicy.standard
        change(&policy)
        return MessageSigner(key: .ed25519(key), id: "key-1", policy: policy, clock: clock)
    }

    private let stub = StubConnection { _ in
        var response = Response(status: .ok, fields: [.date: "Tue, 20 Apr 2021 03:07:53 GMT"])
        response.metadata.source = .network
        return response
    }

    private func signed(_ request: Request, by signer: MessageSigner) async throws -> Request {
        let origin = try Origin("https://api.example.com")
        _ = try await stub.authenticating(with: .signer(signer), for: origin).send(request)
        return try #require(stub.requests.last)
    }

    /// Checks the signature with a label as a server does.
    private func isValid(_ request: Request, _ label: String = "sig1", trailers: HTTPFields? = nil) throws -> Bool {
        let signatures = MessageSignature.all(in: trailers ?? request.head.headerFields)
        let signature = try #require(signatures?.first { $0.label == label })
        let text = try signature.base(of: SignedMessage(request: request.head, trailers: trailers)).text
        return VerifyingKey.ed25519(key.publicKey).isValid(signature.bytes, of: Data(text.utf8))
    }

    @Test func `The method, the URL and the content are covered`() async throws {
        // The digest that a request has is never trusted.
        let wrong: HTTPFields = [.contentDigest: "sha-256=:AAAA:"]
        let put = try await signed(.put("https://api.example.com/a?b=c", fields: wrong, body: "hello"), by: signer())
        let fields = put.head.headerFields
        #expect(
            fields[.signatureInput]
                == "sig1=(\"@method\" \"@target-uri\" \"content-digest\");created=1618884473;keyid=\"key-1\"")
        #expect(fields[.contentDigest] == "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:")
        #expect(try isValid(put))
        #expect(put.options.secretFields == [.signature])

        let get = try await signed(.get("https://api.example.com/"), by: signer())
        #expect(try isValid(get) && get.head.headerFields[.contentDigest] == nil)
    }

    @Test func `Each attempt has the date of the server's clock, and a nonce of its own`() async throws {
        let number = Atomic(0)
        let signer = signer {
            $0.nonce = { "\(number.add(1, ordering: .relaxed).newValue)" }
            $0.lifetime = .seconds(Int64.max)
            $0.tag = "app"
            $0.sendsAlgorithm = true
        }
        for (created, nonce) in [(1_618_884_473, 1), (1_618_888_073, 2)] {
            let request = try await signed(.get("https://api.example.com/"), by: signer)
            let input = try #require(request.head.headerFields[.signatureInput])
            let names = "created=\(created);keyid=\"key-1\";alg=\"ed25519\""
            #expect(input.hasSuffix("\(names);expires=999999999999999;nonce=\"\(nonce)\";tag=\"app\""))
        }
        #expect(Set((0..<100).map { _ in MessageSignaturePolicy.randomNonce() }).count == 100)
    }

    @Test func `A signature joins another one and covers it`() async throws {
        let outer = try await signer().sign(.get("https://api.example.com/"))
        let inner = signer {
            $0.label = "proxy"
            $0.joinsOthers = true
            $0.components = [.authority, .field(.signature).member("sig1")]
        }
        let both = try await signed(outer, by: inner)
        #expect(try isValid(both, "sig1") && isValid(both, "proxy"))
        #expect(both.head.headerFields[values: .signature].count == 1)
        #expect(try await signed(outer, by: signer()).head == outer.head)
    }

    @Test func `What cannot be signed is not sent`() async throws {
        let get = try Request.get("https://api.example.com/?a=1&a=2")
        let signature = try await signer().sign(get)
        var half = signature
        half.head.headerFields[.signature] = nil
        let streamed = try Request.put("https://api.example.com/", body: .stream([]))
        var asked = SignatureVerificationPolicy()
        asked.label = "Ä"
        let cases: [(Request, MessageSigner, SigningError.Reason, String)] = [
            (get, signer { $0.components = [.field(.priority)] }, .missingComponent, "\"priority\" is not among"),
            (get, signer { $0.components = [.queryParameter("a")] }, .missingComponent, "several times"),
            (get, signer { $0.components = [.status] }, .missingComponent, "responses only"),
            (get, signer { $0.components = [.method, .method] }, .missingComponent, "named twice"),
            (get, signer { $0.label = "Sig 1" }, .invalidConfiguration, "label"),
            (get, signer { $0.tag = "ä" }, .invalidConfiguration, "ASCII"),
            (get, signer { $0.asks = asked }, .invalidConfiguration, "ASCII"),
            (signature, signer { $0.joinsOthers = true }, .invalidConfiguration, "sig1"),
            (half, signer(), .invalidConfiguration, "belong together"),
            (streamed, signer(), .bodyReadOnce, "streams: .trailers"),
            (streamed, signer { ($0.streams, $0.label) = (.trailers, "Ä") }, .invalidConfiguration, "label"),
            (streamed, signer { ($0.streams, $0.components) = (.trailers, [.status]) }, .missingComponent, "only"),
        ]
        for (request, signer, reason, words) in cases {
            let error = try await #require(throws: SigningError.self) { try await signed(request, by: signer) }
            #expect(error.reason == reason && error.description.contains(words), "\(error)")
        }
        let failing = MessageSigner(key: SigningKey(.ed25519) { _ in throw CocoaError(.featureUnsupported) }, id: nil)
        await #expect(throws: CocoaError.self) { try await signed(get, by: failing) }
        #expect(stub.requests.isEmpty)
        #expect("\(failing)" == "signs messages with a key for ed25519 as sig1")
    }

    @Test func `A signature is asked of the response`() async throws {
        let parts: [SignatureComponent] = [.method, .targetURI, .field(.contentDigest), .field(.cacheControl)]
        var asked = SignatureVerificationPolicy(covering: parts)
        (asked.keyID, asked.tag) = ("test-key-rsa-pss", "app-123")
        let text = "\"@method\" \"@target-uri\" \"content-digest\" \"cache-control\""
        let example = "sig1=(\(text));created;keyid=\"test-key-rsa-pss\";tag=\"app-123\""
        var other = SignatureVerificationPolicy(covering: [.status, .method.ofRequest])
        (other.label, other.maximumAge) = ("a", nil)
        for (asked, text) in [(asked, example), (other, "a=(\"@status\" \"@method\";req \"content-digest\")")] {
            let request = try await signed(.get("https://api.example.com/"), by: signer { $0.asks = asked })
            #expect(request.head.headerFields[.acceptSignature] == text)
        }
    }

    @Test func `The signature of a stream follows it`() async throws {
        let signer = signer {
            $0.streams = .trailers
            $0.components = [.method, .authority, .field(.trailer), .field(.eTag).ofTrailers]
        }
        let body = Body.stream([Data("hel".utf8), Data("lo".utf8)], trailers: [.eTag: "1"])
        let put = try Request.put("https://api.example.com/", fields: [.contentDigest: "a=1"], body: body)
        let request = try await signed(put, by: signer)
        let (data, trailers) = try await request.body.collect(upTo: 100)
        #expect(data == Data("hello".utf8) && request.head.headerFields[.contentDigest] == nil)
        #expect(request.head.headerFields[.trailer] == "Content-Digest, Signature-Input, Signature")
        #expect(trailers[.contentDigest] == "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:")
        #expect(try isValid(request, trailers: trailers))
    }

    @Test(arguments: DecoratorLaw.ofDigests) func `Signing keeps the laws`(law: DecoratorLaw) async throws {
        var policy = MessageSignaturePolicy.standard
        policy.streams = .trailers
        try await law.check(adding: [.signature, .signatureInput, .contentDigest, .trailer]) {
            [policy] base, conditions in
            let signer = MessageSigner(key: .ed25519(key), id: "a", policy: policy, clock: conditions.clock)
            return try base.authenticating(with: .signer(signer), for: Origin(DecoratorLaw.origin))
        }
    }

    @Test func `A stack in the order of the documentation has no error, and trailer fields need a transport`() throws {
        let api = try Origin("https://api.example.com")
        let stack = StubConnection().verifyingDigests(isRequired: true).verifyingSignatures { _ in nil }
            .authenticating(with: .signer(signer()), for: api)
            .digestingContent().compressing().retrying().decompressing().followingRedirects()
        #expect(stack.findings.filter { $0.severity == .error }.isEmpty, "\(stack.findings)")

        let streaming = signer { $0.streams = .trailers }
        let transport = URLSessionConnection()
        let signing = transport.authenticating(with: .signer(streaming), for: api)
        for stack in [signing, transport.digestingContent(streams: .trailers)] as [any Connection] {
            #expect(stack.findings.contains { $0.hazard == "trailersNotSent" })
        }
    }
}
#endif
