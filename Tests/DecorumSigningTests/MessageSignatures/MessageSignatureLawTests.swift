#if Signing
import Crypto
import Decorum
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

/// The layers of signatures and digests keep the laws, which cover cancellation, early drops and slow readers.
@Suite(.timeLimit(.minutes(3))) struct MessageSignatureLawTests {
    @Test func `No finding of a stack in the order of the documentation is an error`() throws {
        let signer = MessageSigner(key: .ed25519(.init()), id: "a")
        let connection = try StubConnection()
            .verifyingDigests(isRequired: true)
            .verifyingSignatures { _ in nil }
            .authenticating(with: .signer(signer), for: Origin("https://api.example.com"))
            .digestingContent()
            .compressing()
            .retrying()
            .decompressing()
            .followingRedirects()
        #expect(connection.findings.filter { $0.severity == .error }.isEmpty, "\(connection.findings)")
    }

    private static let laws = DecoratorLaw.all
        .excluding(.requestTrailers, because: "A stream has its digest among its trailer fields.")
        .excluding(.idleness, because: "A stream with trailer fields is sent in chunks, without its length.")
        .excluding(
            .requestBodiesOnce, because: "Content is read before it is sent, also if the server does not read it.")
    private static let honest = DecoratorLaw.ActivePath("a digest") { _, _ in
        Response(
            status: .ok, fields: [.contentDigest: "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"],
            body: "hello")
    }

    @Test(arguments: DecoratorLaw.all) func `Checking digests keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check(answering: [Self.honest]) { $0.verifyingDigests() }
    }

    @Test(
        arguments: laws)
    func `Making digests keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check(adding: [.contentDigest, .trailer]) { $0.digestingContent(streams: .trailers) }
    }

    @Test(
        arguments: laws)
    func `Signing keeps the laws`(law: DecoratorLaw) async throws {
        var policy = MessageSignaturePolicy.standard
        policy.streams = .trailers
        let key = Curve25519.Signing.PrivateKey()
        let added: Set<HTTPField.Name> = [.signature, .signatureInput, .contentDigest, .trailer]
        try await law.check(adding: added) { [policy] base, conditions in
            let signer = MessageSigner(key: .ed25519(key), id: "a", policy: policy, clock: conditions.clock)
            return try base.authenticating(with: .signer(signer), for: Origin(DecoratorLaw.origin))
        }
    }

    @Test(arguments: DecoratorLaw.all) func `Checking signatures keeps the laws`(law: DecoratorLaw) async throws {
        var policy = SignatureVerificationPolicy.standard
        policy.coversContent = false
        policy.maximumAge = nil
        let key = SymmetricKey(size: .bits256)
        try await law.check { [policy] base, conditions in
            base.intercepting("signing server", facts: []) { request, base in
                var response = try await base.send(request)
                let text = "\"@status\": \(response.status.code)\n\"@signature-params\": (\"@status\")"
                let signature = HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
                response.addSignature("s", "(\"@status\")", Data(signature))
                return response
            }
            .verifyingSignatures(policy, clock: conditions.clock) { _ in .hmac(key) }
            .intercepting("without the signature", facts: []) { request, base in
                var response = try await base.send(request)
                for name in [HTTPField.Name.signature, .signatureInput] { response.head.headerFields[name] = nil }
                return response
            }
        }
    }
}
#endif
