#if Signing
import Crypto
import Decorum
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

    private func signed(
        _ request: Request, by signer: MessageSigner,
        over stub: StubConnection = StubConnection { _ in Response(status: .ok) }
    ) async throws -> Request {
        let origin = try Origin("https://api.example.com")
        _ = try await stub.authenticating(with: .signer(signer), for: origin).send(request)
        return try #require(stub.requests.last)
    }

    /// Checks the signature with a label as a server does.
    private func isValid(_ request: Request, _ label: String = "sig1", trailers: HTTPFields? = nil) throws -> Bool {
        let signatures = try ReceivedSignature.all(in: trailers ?? request.head.headerFields)
        let signature = try #require(signatures.first { $0.label == label })
        let text = try signature.base.text(for: SignedMessage(request: request.head, trailers: trailers)).whole
        return VerifyingKey.ed25519(key.publicKey).isValid(signature.bytes, of: Data(text.utf8))
    }

    @Test(arguments: SignatureExample.signed.filter { $0.response == nil && $0.isValid ?? true })
    func `An example is signed as in the RFC`(example: SignatureExample) async throws {
        let (label, components, parameters) = try example.member
        let date = Date(timeIntervalSince1970: Double(try #require(parameters["created"]?.integer)))
        let name = try #require(parameters["keyid"]?.string)
        let key = try ExampleKey.named(name)
        var policy = MessageSignaturePolicy()
        policy.components = components
        policy.coversContent = false
        policy.digest = .sha512
        policy.label = label
        policy.sendsAlgorithm = parameters["alg"] != nil
        policy.lifetime = parameters["expires"]?.integer.map { .seconds(Double($0) - date.timeIntervalSince1970) }
        if let nonce = parameters["nonce"]?.string { policy.nonce = { nonce } }
        policy.tag = parameters["tag"]?.string
        var request = Request(head: try example.requestHead, body: "{\"hello\": \"world\"}")
        // The digest that a request has is never trusted.
        let digest = request.head.headerFields[.contentDigest]
        if digest != nil { request.head.headerFields[.contentDigest] = "sha-512=:AAAA:" }

        let signer = MessageSigner(key: try key.signing, id: name, policy: policy, clock: VirtualClock(date: date))
        let sent = try await signer.sign(request).head.headerFields

        #expect(sent[.signatureInput] == example.input)
        if components.contains(.field(.contentDigest)) { #expect(sent[.contentDigest] == digest) }
        let signature = try #require(ReceivedSignature.all(in: sent).first?.bytes)
        if !["test-key-rsa-pss", "test-key-ecc-p256"].contains(name) {
            #expect(signature.base64EncodedString() == example.signature)
        }
        let last = "\"@signature-params\": " + example.input.dropFirst(label.count + 1)
        let text = (example.base + [last]).joined(separator: "\n")
        #expect(try key.verifying.isValid(signature, of: Data(text.utf8)))
    }

    @Test func `The method, the URL and the content are covered`() async throws {
        let put = try await signed(.put("https://api.example.com/a?b=c", body: "hello"), by: signer())
        let fields = put.head.headerFields
        #expect(
            fields[.signatureInput]
                == "sig1=(\"@method\" \"@target-uri\" \"content-digest\");created=1618884473;keyid=\"key-1\"")
        #expect(fields[.contentDigest] == "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:")
        #expect(try isValid(put))
        #expect(put.options.secretFields == [.signature])

        let get = try await signed(.get("https://api.example.com/"), by: signer())
        #expect(get.head.headerFields[.contentDigest] == nil)
        #expect(try isValid(get))
    }

    @Test func `Each attempt has the date of the server's clock, and a nonce of its own`() async throws {
        let number = Atomic(0)
        let signer = signer {
            $0.nonce = { "\(number.add(1, ordering: .relaxed).newValue)" }
            $0.lifetime = .seconds(Int64.max)
            $0.tag = "app"
        }
        let stub = StubConnection { _ in
            var response = Response(status: .ok, fields: [.date: "Tue, 20 Apr 2021 03:07:53 GMT"])
            response.metadata.source = .network
            return response
        }
        let first = try await signed(.get("https://api.example.com/"), by: signer, over: stub)
        let second = try await signed(.get("https://api.example.com/"), by: signer, over: stub)
        let parameters = ";expires=999999999999999;nonce=\"1\";tag=\"app\""
        #expect(
            first.head.headerFields[.signatureInput]?.contains("created=1618884473;keyid=\"key-1\"" + parameters)
                == true)
        #expect(second.head.headerFields[.signatureInput]?.contains("created=1618888073") == true)
        #expect(second.head.headerFields[.signatureInput]?.contains("nonce=\"2\"") == true)
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
        let stub = StubConnection { _ in Response(status: .ok) }
        let get = try Request.get("https://api.example.com/?a=1&a=2")
        let signature = try await signer().sign(get)
        var half = signature
        half.head.headerFields[.signature] = nil
        let streamed = try Request.put("https://api.example.com/", body: Body(chunks: AsyncStream { $0.finish() }))
        let cases: [(Request, MessageSigner, SigningError.Reason, String)] = [
            (
                get, signer { $0.components = [.field(.priority)] }, .missingComponent,
                "\"priority\" is not among the fields"
            ),
            (get, signer { $0.components = [.queryParameter("a")] }, .missingComponent, "several times"),
            (get, signer { $0.components = [.status] }, .missingComponent, "responses only"),
            (get, signer { $0.components = [.method, .method] }, .missingComponent, "named twice"),
            (get, signer { $0.label = "Sig 1" }, .invalidConfiguration, "label"),
            (get, signer { $0.tag = "ä" }, .invalidConfiguration, "ASCII"),
            (
                get, signer { $0.asks = SignatureDemand(covering: [.status], label: "Ä") }, .invalidConfiguration,
                "ASCII"
            ),
            (signature, signer { $0.joinsOthers = true }, .invalidConfiguration, "sig1"),
            (half, signer(), .invalidConfiguration, "belong together"),
            (streamed, signer(), .bodyReadOnce, "streams: .trailers"),
            (streamed, signer { ($0.streams, $0.label) = (.trailers, "Ä") }, .invalidConfiguration, "label"),
            (
                streamed, signer { ($0.streams, $0.components) = (.trailers, [.status]) }, .missingComponent,
                "responses only"
            ),
        ]
        for (request, signer, reason, words) in cases {
            let error = try await #require(throws: SigningError.self) {
                try await signed(request, by: signer, over: stub)
            }
            #expect(error.reason == reason && error.description.contains(words), "\(error)")
        }
        let failing = MessageSigner(key: SigningKey(.ed25519) { _ in throw CocoaError(.featureUnsupported) }, id: nil)
        await #expect(throws: CocoaError.self) { try await signed(get, by: failing, over: stub) }
        #expect(stub.requests.isEmpty)
        #expect("\(failing)" == "signs messages with a key for ed25519 as sig1")
    }

    @Test func `A signature is asked of the response`() async throws {
        var demand = SignatureDemand(
            covering: [.method, .targetURI, .authority, .field(.contentDigest), .field(.cacheControl)],
            keyID: "test-key-rsa-pss", tag: "app-123")
        #expect(
            try demand.text()
                == "sig1=(\"@method\" \"@target-uri\" \"@authority\" \"content-digest\" \"cache-control\")"
                + ";created;keyid=\"test-key-rsa-pss\";tag=\"app-123\"")
        demand = SignatureDemand(covering: [.status, .method.ofRequest], algorithm: .ed25519)
        let request = try await signed(.get("https://api.example.com/"), by: signer { $0.asks = demand })
        #expect(
            request.head.headerFields[.acceptSignature] == "sig1=(\"@status\" \"@method\";req);created;alg=\"ed25519\"")
    }

    @Test(arguments: [true, false])
    func `The signature of a stream follows it`(overSocket: Bool) async throws {
        let chunks = AsyncStream<Data> { continuation in
            for text in ["hel", "lo"] { continuation.yield(Data(text.utf8)) }
            continuation.finish()
        }
        let signer = signer {
            $0.streams = .trailers
            $0.components = [.method, .authority, .field(.trailer)]
        }
        let body = Body(chunks: chunks)
        guard overSocket else {
            let request = try await signed(.put("https://api.example.com/", body: body), by: signer)
            let (data, trailers) = try await request.body.collect(upTo: 100)
            #expect(data == Data("hello".utf8))
            #expect(request.head.headerFields[.contentDigest] == nil)
            #expect(trailers[.contentDigest] == "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:")
            #expect(try isValid(request, trailers: trailers))
            return
        }
        let server = try LoopbackOrigin()
        server.route(.put, "/", "stored")
        let url = server.url
        let connection = try CurlConnection().authenticating(with: .signer(signer), for: Origin(url))
        _ = try await connection.send(.put(url, body: body))
        let received = try await server.waitForRequests(1)[0]
        var trailers = HTTPFields()
        for line in received.trailers.lines { trailers[.spelled(line.name)] = line.value }
        var request = try Request.put(url, body: .empty)
        request.head.headerFields[values: .trailer] = received.fields.values(of: "Trailer")
        #expect(received.text == "hello")
        #expect(try isValid(request, trailers: trailers))
    }

    @Test func `A cancelled call ends while the key signs`() async throws {
        let gate = Gate()
        let key = SigningKey(.ed25519) { _ in
            try await gate.wait()
            return Data()
        }
        let signer = MessageSigner(key: key, id: nil)
        let call = Task { try await signer.sign(.get("https://api.example.com/")) }
        try await gate.waitForWaiting(1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }
}
#endif
