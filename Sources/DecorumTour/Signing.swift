#if Signing
import Crypto
import Decorum
import DecorumSigning
import DecorumTesting
import Foundation

extension Step {
    static let standardSignature = Step(
        title: "A request is signed by RFC 9421, the origin verifies it, and a foreign origin gets no signature",
        look: "Signature-Input names what is covered, and the other origin receives neither field.",
        code: ".authenticating(with: .signer(MessageSigner(key: .ed25519(key), id: \"tour\")), for: origin)"
    ) { stage in
        let key = Curve25519.Signing.PrivateKey()
        let verifier = key.publicKey
        stage.origin.route(.get, "/signed*") { request in
            let isValid = request.messageSignature.map { verifier.isValidSignature($0.bytes, for: $0.base) }
            return isValid == true ? .init(body: "The signature is yours.") : .init(.unauthorized)
        }
        stage.origin.route(.get, "/abroad", .init(.found, fields: ["Location": "\(stage.otherOrigin.url)/landing"]))
        stage.otherOrigin.route(.get, "/landing", .init(body: "Who are you?"))
        let connection = try stage.transport
            .authenticating(with: .signer(MessageSigner(key: .ed25519(key), id: "tour")), for: stage.origin.origin)
            .followingRedirects()
            .resolving(against: stage.origin.url)
        let (_, text) = try await stage.get("/signed?page=2", over: connection)
        let fields = stage.origin.requests.last?.fields
        stage.terminal.app("Signature-Input: \(fields?["Signature-Input"] ?? "")")
        try stage.check(text == "The signature is yours.", "the origin verifies the signature with the public key")

        _ = try await stage.get("/abroad", over: connection)
        let (sent, landed) = (stage.origin.requests.last?.fields, stage.otherOrigin.requests.last?.fields)
        try stage.check(sent?["Signature"] != nil, "the signature is sent to its own origin")
        let isBare = landed?["Signature"] == nil && landed?["Signature-Input"] == nil
        try stage.check(landed != nil && isBare, "the other origin gets no signature")
    }
}

extension ReceivedRequest {
    /// The signature, and the text that it must be of by RFC 9421, section 2.5, written by the hand of a server.
    fileprivate var messageSignature: (bytes: Data, base: Data)? {
        guard let input = fields["Signature-Input"], input.hasPrefix("sig1=(\"@method\" \"@target-uri\")"),
            let host = fields["Host"], let value = fields["Signature"], value.hasPrefix("sig1=:"),
            let bytes = Data(base64Encoded: String(value.dropFirst(6).dropLast()))
        else { return nil }
        let base = """
            "@method": \(method)
            "@target-uri": http://\(host)\(target)
            "@signature-params": \(input.dropFirst(5))
            """
        return (bytes, Data(base.utf8))
    }
}
#endif
