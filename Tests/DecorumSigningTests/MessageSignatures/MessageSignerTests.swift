#if Signing
import Crypto
import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
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

    private let stub = StubConnection { _ in Response(status: .ok) }

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
        return VerifyingKey.ed25519(key.publicKey).isValid(signature.bytes, of: Data(text))
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

    @Test func `Each attempt has the parameters of the policy, and a nonce of its own`() async throws {
        let number = Atomic(0)
        let signer = signer {
            $0.nonce = { "\(number.add(1, ordering: .relaxed).newValue)" }
            $0.lifetime = .seconds(Int64.max)
            $0.tag = "app"
            $0.sendsAlgorithm = true
        }
        let parameters = ";created=1618884473;keyid=\"key-1\";alg=\"ed25519\";expires=999999999999999"
        for nonce in 1...2 {
            let request = try await signed(.get("https://api.example.com/"), by: signer)
            let input = try #require(request.head.headerFields[.signatureInput])
            #expect(input.hasSuffix("\(parameters);nonce=\"\(nonce)\";tag=\"app\""))
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
        let streamed = try Request.put("https://api.example.com/", body: .once([Data("a".utf8)]))
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
        let body = Body.once([Data("hel".utf8), Data("lo".utf8)], trailers: [.eTag: "1"])
        let put = try Request.put("https://api.example.com/", fields: [.contentDigest: "a=1"], body: body)
        let request = try await signed(put, by: signer)
        let (data, trailers) = try await request.body.collect(upTo: 100)
        #expect(data == Data("hello".utf8) && request.head.headerFields[.contentDigest] == nil)
        #expect(request.head.headerFields[.trailer] == "Content-Digest, Signature-Input, Signature")
        #expect(trailers[.contentDigest] == "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:")
        #expect(try isValid(request, trailers: trailers))
    }

    @Test(arguments: DecoratorLaw.ofDigests) func `Signing keeps the laws`(law: DecoratorLaw) async throws {
        let signer = signer { $0.streams = .trailers }
        try await law.check(adding: [.signature, .signatureInput, .contentDigest, .trailer]) { base in
            try base.authenticating(with: .signer(signer), for: Origin(DecoratorLaw.origin))
        }
    }

    @Test func `A stack in the order of the documentation has no error, and trailer fields need a transport`() throws {
        let api = try Origin("https://api.example.com")
        let stack = StubConnection().verifyingDigests(isRequired: true).verifyingSignatures { _ in nil }
            .authenticating(with: .signer(signer()), for: api)
            .digestingContent().compressing().retrying().decompressing().followingRedirects()
        #expect(stack.findings.filter { $0.severity == .error }.isEmpty, "\(stack.findings)")

        let transport = URLSessionConnection()
        let signing = transport.authenticating(with: .signer(signer { $0.streams = .trailers }), for: api)
        for stack in [signing, transport.digestingContent(streams: .trailers)] as [any Connection] {
            #expect(stack.findings.contains { $0.hazard == "trailersNotSent" })
        }
    }
}

/// RFC 9530.
@Suite(.timeLimit(.minutes(3))) struct ContentDigestTests {
    /// An example of appendix A or B, whose content has a character for each byte.
    private struct Example: Decodable { let status: Int, content: String, fields: [[String]], trailers: [[String]]? }

    private static let hello = Data("{\"hello\": \"world\"}\n".utf8)
    private static let ofHello = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"

    private func read(
        _ fields: HTTPFields, _ content: [Data] = [Data("a".utf8)], trailers: HTTPFields? = nil,
        to method: HTTPRequest.Method = .get, status: Int = 200, isRequired: Bool = false
    ) async throws -> any BodyReader {
        let body = content.isEmpty ? Body.empty : .once(content, trailers: trailers)
        let stub = StubConnection(Response(status: .init(code: status), fields: fields, body: body))
        let request = try Request(method, "https://a.example/")
        return try await stub.verifyingDigests(isRequired: isRequired).send(request).body.open()
    }

    @Test(arguments: [true, false])
    func `The content of an example passes, and any other does not`(isRequired: Bool) async throws {
        let examples = try Fixtures.rows("signing/content-digests.json", of: Example.self)
        #expect(examples.count == 8)
        for example in examples {
            let bytes = example.content.unicodeScalars.map { Data([UInt8($0.value)]) }
            for content in [bytes, bytes + [Data([0x20])]] {
                var reader = try await read(
                    HTTPFields(lines: example.fields), content, trailers: example.trailers.map(HTTPFields.init(lines:)),
                    status: example.status, isRequired: isRequired)
                for byte in content { #expect(try await reader.next() == byte) }
                guard content != bytes else {
                    #expect(try await reader.next() == nil)
                    continue
                }
                for _ in 0..<2 { await #expect(throws: SigningError.wrongDigest) { try await reader.next() } }
            }
        }
    }

    @Test func `A response without a digest passes unless one is required`() async throws {
        for fields in [[:], [.contentDigest: "md5=:AAAA:"], [.contentDigest: ""]] as [HTTPFields] {
            var reader = try await read(fields)
            #expect(try await reader.next() == Data("a".utf8))
            await #expect(throws: SigningError.missingDigest) { try await read(fields, isRequired: true) }
        }
        var announced = try await read([.trailer: "Content-Digest"], isRequired: true)
        _ = try await announced.next()
        await #expect(throws: SigningError.missingDigest) { try await announced.next() }
        // There is no content whose digest it could be.
        _ = try await read([.reprDigest: Self.ofHello], [], status: 204, isRequired: true)
        _ = try await read([.reprDigest: Self.ofHello], [], isRequired: true)
        _ = try await read([.contentDigest: Self.ofHello], [], to: .head, isRequired: true)
        await #expect(throws: SigningError.wrongDigest) { try await read([.contentDigest: Self.ofHello], []) }
    }

    @Test(arguments: [
        "sha-256=1", "sha-256=?1", "sha-256", "=", "sha-256=:A:", String(repeating: "a,", count: 500_000),
    ])
    func `A digest that cannot be read is refused`(value: String) async throws {
        await #expect(throws: SigningError.wrongDigest) { try await read([.contentDigest: value]) }
    }

    @Test func `Content that the transport has decoded cannot be checked`() async throws {
        var response = Response(status: .ok, fields: [.contentDigest: Self.ofHello], body: "hello")
        response.metadata.decodedContentCodings = ["gzip"]
        let connection = StubConnection(response).verifyingDigests()
        await #expect(throws: SigningError.decodedContent) { try await connection.send(.get("https://a.example/")) }
    }

    @Test func `Requests get digests of what is sent`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "decorum-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: file) }
        let text = Data(String(repeating: "the same line\n", count: 200).utf8)
        try text.write(to: file)
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = stub.digestingContent([.sha256, .sha512], addsRepresentation: true).compressing()
        _ = try await connection.send(.put("https://a.example/", body: Body(contentsOf: file)))
        let fields: HTTPFields = [.contentRange: "bytes 0-4/9", .contentDigest: "sha-256=:AAAA:"]
        let again = Body(replay: .fromStart) { _ in try await Body(Data("hello".utf8)).open() }
        for body in ["hello", again] {
            _ = try await connection.send(.put("https://a.example/", fields: fields, body: body))
        }
        _ = try await connection.send(.get("https://a.example/"))
        for request in stub.requests.prefix(3) {
            let content = try await request.body.data(upTo: 1000)
            let digest = try await Body(content).digest(by: [.sha256, .sha512])
            #expect(request.head.headerFields[.contentDigest] == digest.text)
        }
        let heads = stub.requests.map(\.head.headerFields)
        #expect(heads[0][.contentEncoding] == "gzip" && heads[0][.reprDigest] == heads[0][.contentDigest])
        #expect(heads[1][.reprDigest] == nil && heads[3].isEmpty)
    }

    @Test func `The digest of content that is read once is refused, or follows it`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        func request() throws -> Request {
            let fields: HTTPFields = [.contentLength: "19", .contentDigest: "sha-256=:AAAA:"]
            let body = Body.once([Self.hello], trailers: [.contentDigest: "a", .eTag: "1"])
            return try .put("https://a.example/", fields: fields, body: body)
        }
        await #expect(throws: SigningError.digestOfStream) { try await stub.digestingContent().send(request()) }
        #expect(stub.requests.isEmpty)
        _ = try await stub.digestingContent(streams: .trailers).send(request())
        let sent = try #require(stub.requests.first)
        #expect(sent.head.headerFields == [.trailer: "Content-Digest"] && sent.body.length == nil)
        let trailers = try await sent.body.collect(upTo: 100).trailers
        #expect(trailers == [.eTag: "1", .contentDigest: Self.ofHello])
    }

    @Test(arguments: DecoratorLaw.all) func `Checking digests keeps the laws`(law: DecoratorLaw) async throws {
        let honest = DecoratorLaw.ActivePath("a digest") { _, _ in
            Response(status: .ok, fields: [.contentDigest: Self.ofHello], body: Body(Self.hello))
        }
        try await law.check(answering: [honest]) { $0.verifyingDigests() }
    }

    @Test(arguments: DecoratorLaw.ofDigests) func `Making digests keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check(adding: [.contentDigest, .trailer]) { $0.digestingContent(streams: .trailers) }
    }
}

extension DecoratorLaw {
    /// The laws of layers that digest content, and send what follows from it behind a stream.
    fileprivate static let ofDigests = DecoratorLaw.all
        .excluding(.requestTrailers, because: "A stream has its digest among its trailer fields.")
        .excluding(.idleness, because: "A stream with trailer fields is sent in chunks, without its length.")
        .excluding(.requestBodiesOnce, because: "Content is read before it is sent, also if no server reads it.")
}
#endif
