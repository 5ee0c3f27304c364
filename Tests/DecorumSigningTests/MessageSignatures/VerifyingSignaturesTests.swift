#if Signing
import Crypto
import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumSigning

/// RFC 9421, section 3.2.
@Suite(.timeLimit(.minutes(3))) struct VerifyingSignaturesTests {
    private static let now = 1_618_884_473
    /// The parameters of a signature that is accepted.
    private static let valid = ";created=\(now);keyid=\"key-1\""
    private let key = Curve25519.Signing.PrivateKey()
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: TimeInterval(now)))

    private func send(
        _ response: Response, _ policy: SignatureVerificationPolicy = .standard, to request: Request? = nil
    ) async throws -> Response {
        let keys = [VerifyingKey.ed25519(key.publicKey), .p256(P256.Signing.PrivateKey().publicKey)]
        let connection = StubConnection(response).verifyingSignatures(policy, clock: clock) { id in
            id == "key-1" ? keys[0] : id == "key-2" ? keys[1] : nil
        }
        return try await connection.send(request ?? .get("https://a.example/b?c=d"))
    }

    /// A response with a signature of the key, which is wrong if the parts have no text.
    private func signed(
        _ input: String = "(\"@status\")" + valid, label: String = "s", fields: HTTPFields = [:],
        trailers: HTTPFields? = nil, body: Body = .empty
    ) throws -> Response {
        var response = Response(status: .ok, fields: fields, body: body)
        let head = try Request.get("https://a.example/b?c=d").head
        let message = SignedMessage(request: head, response: response.head, trailers: trailers)
        let text = (try? MessageSignature("s=" + input).base(of: message).text) ?? []
        response.head.headerFields.addSignature("\(label)=\(input)", try key.signature(for: Data(text)))
        return response
    }

    @Test func `A signature that does not hold is refused`() async throws {
        struct Fault: Decodable { let input, words: String }
        let valid = try signed()
        func changed(_ change: (inout Response) -> Void) -> Response {
            var response = valid
            change(&response)
            return response
        }
        let many = String(repeating: "\"@status\" ", count: 1 << 16)
        let content = Body("content")
        let digest: HTTPFields = [.contentDigest: "md5=:AAAA:"]
        let md5 = "(\"@status\" \"content-digest\";key=\"md5\")" + Self.valid
        let tr = "(\"@status\" \"content-digest\";tr)" + Self.valid
        let cases: [(Response, String)] = [
            (Response(status: .ok), "has no signature"), (changed { $0.status = .accepted }, "does not belong"),
            (changed { $0.head.headerFields[.signature] = nil }, "belong together"),
            (changed { $0.head.headerFields[.signatureInput] = "s=(" }, "as RFC 9421 writes"),
            (changed { $0.head.headerFields[.signature] = "s=\"AAAA\"" }, "as RFC 9421 writes"),
            (changed { $0.head.headerFields[.signatureInput]?.append(", s=()") }, "as RFC 9421 writes"),
            (changed { $0.head.headerFields[.signatureInput] = "s=(\(many))" }, "too long"),
            (try signed("(\(many.prefix(10 * 101)))\(Self.valid)"), "too many"),
            (try signed("(\"@status\")" + Self.valid, body: content), "digest of the content"),
            // Neither is compared with the content, so that it could be any.
            (try signed(md5, fields: digest, body: content), "digest of the content"),
            (
                try signed(tr, trailers: digest, body: .once([Data("a".utf8)], trailers: digest)),
                "covers trailer fields"
            ),
        ]
        let rows = try Fixtures.rows("signing/signature-faults.json", of: Fault.self)
        for (response, words) in cases + (try rows.map { (try signed($0.input), $0.words) }) {
            let error = try await #require(throws: SigningError.self, "\(words)") {
                try await send(response).body.data(upTo: 100)
            }
            #expect(error.description.contains(words), "\(words): \(error)")
            #expect(error.reason == (words == "has no signature" ? .missingSignature : .invalidSignature))
        }
        _ = try await send(valid)
        _ = try await send(signed("(\"@status\");created=\(Self.now - 300);keyid=\"key-1\";alg=\"ed25519\";other=1"))
    }

    @Test func `One of the signatures that are admitted has to be valid`() async throws {
        var response = try signed("(\"@status\")\(Self.valid);tag=\"a\"", label: "a")
        response.head.headerFields.addSignature("b=(\"@status\")\(Self.valid);tag=\"b\"")
        _ = try await send(response)
        var policy = SignatureVerificationPolicy.standard
        (policy.tag, policy.label, policy.keyID) = ("a", "a", "key-1")
        (policy.maximumAge, policy.tolerance) = (.seconds(Int64.max), .seconds(Int64.max))
        _ = try await send(response, policy)
        for (tag, label, id) in [("c", "a", 1), ("a", "c", 1), ("a", "a", 9), ("b", "a", 1), ("a", "b", 1)] {
            (policy.tag, policy.label, policy.keyID) = (tag, label, "key-\(id)")
            let refusing = policy
            await #expect(throws: SigningError.self) { try await send(response, refusing) }
        }
        // Of many, only the first are tried.
        for (count, isAccepted) in [(7, true), (8, false)] {
            var response = Response(status: .ok)
            for number in 0..<count { response.head.headerFields.addSignature("n\(number)=(\"@status\")\(Self.valid)") }
            for field in try signed().head.headerFields { response.head.headerFields.append(field) }
            let accepted = try? await send(response)
            #expect((accepted != nil) == isAccepted)
        }
    }

    @Test func `Parts of the request, and a field whose type the policy knows, are covered`() async throws {
        var response = Response(status: .ok, fields: [.spelled("x-list"): "a,b"])
        let input = "(\"@method\";req \"x-list\";sf)\(Self.valid)"
        let text = "\"@method\";req: GET\n\"x-list\";sf: a, b\n\"@signature-params\": \(input)"
        response.head.headerFields.addSignature("s=" + input, try key.signature(for: Data(text.utf8)))
        let list = SignatureComponent.field(.spelled("x-list")).asStructuredField(.list)
        let policy = SignatureVerificationPolicy(covering: [.method.ofRequest, list])
        let other = try Request(.post, "https://a.example/b?c=d")

        _ = try await send(response, policy)
        await #expect(throws: SigningError.self) { try await send(response, policy, to: other) }
        await #expect(throws: SigningError.self) { try await send(response, .init(covering: [.method.ofRequest])) }
    }

    @Test(arguments: [true, false])
    func `A signature that covers trailer fields, or is one, is checked behind the content`(isValid: Bool) async throws
    {
        let trailers: HTTPFields = [.eTag: "1"]
        var policy = SignatureVerificationPolicy.standard
        (policy.coversContent, policy.allowsTrailers) = (false, true)
        let content = Data("a".utf8)
        let sent: HTTPFields = isValid ? trailers : [.eTag: "2"]
        var inHead = try signed("(\"@status\" \"etag\";tr)" + Self.valid, trailers: trailers)
        var inTrailer = Response(status: .ok, fields: [.trailer: "ETag, signature-input, Signature"])
        inTrailer.body = .once([content], trailers: HTTPFields(sent + inHead.head.headerFields))
        inHead.body = .once([content], trailers: sent)
        for response in [inHead, inTrailer] {
            // A redirection that is forged must not be followed before its content was read.
            await #expect(throws: SigningError.self) { try await send(response) }
            var reader = try await send(response, policy).body.open()
            #expect(try await reader.next() == content)
            if isValid {
                #expect(try await reader.next() == nil)
                #expect(reader.trailers?[.eTag] == "1")
            } else {
                for _ in 0..<2 { await #expect(throws: SigningError.self) { try await reader.next() } }
            }
        }
    }

    @Test func `The error of the look-up of a key, and cancellation, reach the caller`() async throws {
        let stub = StubConnection { [response = try signed()] _ in response }
        let failing = stub.verifyingSignatures(clock: clock) { _ in throw CocoaError(.fileNoSuchFile) }
        await #expect(throws: CocoaError.self) { try await failing.send(.get("https://a.example/")) }
        let gate = Gate()
        let waiting = stub.verifyingSignatures(clock: clock) { _ in
            try await gate.wait()
            return nil
        }
        let call = Task { try await waiting.send(.get("https://a.example/")) }
        try await gate.waitForWaiting(1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test(arguments: DecoratorLaw.all) func `Checking signatures keeps the laws`(law: DecoratorLaw) async throws {
        var policy = SignatureVerificationPolicy.standard
        (policy.coversContent, policy.maximumAge) = (false, nil)
        try await law.check { [policy] base, conditions in
            base.intercepting("signing server", facts: []) { request, base in
                var response = try await base.send(request)
                let text = "\"@status\": \(response.status.code)\n\"@signature-params\": (\"@status\")"
                response.head.headerFields.addSignature("s=(\"@status\")", try key.signature(for: Data(text.utf8)))
                return response
            }
            .verifyingSignatures(policy, clock: conditions.clock) { _ in .ed25519(key.publicKey) }
            .intercepting("without the signature", facts: []) { request, base in
                var response = try await base.send(request)
                for name in [HTTPField.Name.signature, .signatureInput] { response.head.headerFields[name] = nil }
                return response
            }
        }
    }
}
#endif
