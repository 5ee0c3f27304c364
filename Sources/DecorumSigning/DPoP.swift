#if Signing
import Crypto
public import Decorum
public import DecorumAuthentication
import Foundation
import HTTPTypes
import Synchronization

extension Connection {
    /// Proves with each request for the given origins the possession of the key that its token is bound to (DPoP, RFC 9449).
    ///
    /// ```swift
    /// let dpop = try DPoP()
    /// let client = try OAuthClient("app", of: server, over: transport).provingPossession(with: dpop)
    /// let tokens = Tokens(in: store, from: client.refreshing())
    /// let connection = SystemConnection()
    ///     .provingPossession(with: dpop, for: api)
    ///     .authenticating(with: tokens, for: api)
    /// ```
    ///
    /// A request gets a proof if its `Authorization` field has the scheme `DPoP`, so place it directly inside of the layer that
    /// adds the token, whose rules apply. The nonces of each server are learnt from all its responses. If one demands another
    /// nonce (`use_dpop_nonce`), the request is sent once more with it, unless its body can be read once.
    ///
    /// The connection throws ``SigningError`` too: `noCredentials` for a token whose key is not known, and `unusableChallenge`
    /// for a server that demands a nonce and gives no usable one.
    public func provingPossession(with dpop: DPoP, for origin: Origin, _ others: Origin...) -> some Connection {
        provingPossession(with: dpop, for: Set(others).union([origin]))
    }

    /// Proves the possession of a key to a set of origins, as with single origins.
    public func provingPossession(with dpop: DPoP, for origins: Set<Origin>) -> some Connection {
        provingPossession(with: dpop, for: origins, asksForTokens: false)
    }

    fileprivate func provingPossession(
        with dpop: DPoP, for origins: Set<Origin>, asksForTokens: Bool
    ) -> some Connection {
        DPoPConnection(
            base: self, dpop: dpop, binding: CredentialBinding(origins: origins), asksForTokens: asksForTokens,
            baseMayChangeUser: mayChangeUser)
    }
}

extension StandardStack.Authentication {
    /// The token of a user, with a proof of the key that it is bound to; without origins, the base URL has the origin.
    public static func with(_ tokens: Tokens, proving dpop: DPoP, for origins: Set<Origin> = []) -> Self {
        .applying(for: origins) { base, origins, _ in
            base.provingPossession(with: dpop, for: origins).authenticating(with: tokens, for: origins)
        }
    }
}

extension OAuthClient {
    /// Returns a client that gets tokens that are bound to a key, and proves its possession (RFC 9449, section 5).
    ///
    /// Without a key of its own in `dpop`, each session gets a new key of P-256, which is kept with its token in the token
    /// store: its file or keychain item then has the private key too. A server that gives bearer tokens all the same is
    /// accepted. One without a token endpoint throws ``SigningError``.
    public func provingPossession(with dpop: DPoP) throws -> OAuthClient {
        guard let token = server.token else {
            throw SigningError(
                .invalidConfiguration, "The authorization server has no token endpoint. Give its URL.")
        }
        let makesKeys = dpop.key == nil
        return proving(
            over: connection.provingPossession(with: dpop, for: [try Origin(token)], asksForTokens: true)
        ) { makesKeys ? P256.Signing.PrivateKey().rawRepresentation : nil }
    }
}

/// The key that tokens are bound to, and the nonces of the servers that demand one (RFC 9449).
///
/// Share one value between the stack of the `OAuthClient` and the stacks that use its tokens.
public final class DPoP: Sendable, SecretHolder {
    /// A fixed word.
    public var description: String { "the state of DPoP" }
    fileprivate let key: SigningKey?
    fileprivate let clock: any DatedClock
    private let skew: ClockSkew
    private let generator: any RandomGenerator
    private let nonces = Mutex<[Origin: String]>([:])

    /// Creates the state of DPoP.
    ///
    /// - Parameters:
    ///   - key: The key for all tokens, such as one of a Secure Enclave; nil for one of P-256 for each session, which is kept
    ///     with its token.
    ///   - clock: The clock of this machine; the proofs have the time of the server, as far as its responses tell it.
    ///   - generator: The source of the identifiers.
    /// - Throws: ``SigningError`` with `wrongKey` for a key of HMAC, or without its public half.
    public init(
        key: SigningKey? = nil, clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) throws(SigningError) {
        if let key, key.algorithm == .hmacSHA256 || key.publicKey?["kty"] == nil {
            throw SigningError(
                .wrongKey,
                "DPoP needs a private key and its public half. Use one of P-256, or give `publicKey` with the closure.")
        }
        (self.key, self.clock, self.generator) = (key, clock, generator)
        skew = ClockSkew(clock: clock)
    }

    /// The key for a request; nil if neither it nor this value has one.
    fileprivate func key(for request: borrowing Request) throws(SigningError) -> SigningKey? {
        if let key { return key }
        guard let bytes = request.options.proofKey?.value else { return nil }
        if let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes) { return .p256(key) }
        throw SigningError(
            .wrongKey, "The stored key of the session is damaged. Sign in again, which makes a new one.")
    }

    fileprivate func nonce(for origin: Origin) -> String? { nonces.withLock { $0[origin] } }

    /// The proof of a request (RFC 9449, section 4.2).
    fileprivate func proof(
        for head: HTTPRequest, to origin: Origin, token: String?, nonce: String?, by key: SigningKey
    ) async throws -> String {
        let path = head.path?.prefix { $0 != "?" && $0 != "#" } ?? ""
        var claims: [String: any Sendable] = [
            "jti": generator.identifier.base64URL, "iat": skew.date(for: origin).whole(),
            "htm": head.method.rawValue, "htu": "\(origin.scheme)://\(origin.authority)\(path.isEmpty ? "/" : path)",
        ]
        claims["ath"] = token.map { HashAlgorithm.sha256.digest(of: $0).base64URL }
        claims["nonce"] = nonce
        return try await key.webSignature(["typ": "dpop+jwt", "jwk": key.publicKey ?? [:]], claims)
    }

    /// Learns the clock and the nonce of a server.
    ///
    /// - Returns: The nonce of the response; nil without a usable one.
    fileprivate func learn(from answer: AuthenticationAnswer) -> String? {
        skew.learn(from: answer)
        guard let nonce = answer.head.headerFields[.dpopNonce], 1...1024 ~= nonce.utf8.count,
            nonce.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
        else { return nil }
        nonces.withLock { $0[answer.origin] = nonce }
        return nonce
    }
}

struct DPoPConnection<Base: Connection>: ComposedConnection {
    private static var name: String { "provingPossession" }

    let base: Base
    let dpop: DPoP
    let binding: CredentialBinding
    /// Whether the requests ask an authorization server for tokens.
    let asksForTokens: Bool
    let baseMayChangeUser: Bool

    var layer: Layer {
        Layer(
            name: Self.name, role: .authentication, settings: [Layer.Setting("with", "DPoP"), binding.setting],
            facts: binding.facts.union([.signs, .changesSignedParts, .variesPerSend, .readsStatus])
                .union(Layer.facts(of: dpop.clock)),
            secretFields: [.dpop], sending: .init(1...2), memory: .init(state: [Layer.StateIdentity(dpop)]))
    }

    func send(_ request: consuming Request) async throws -> Response {
        request.options.declareSecret([.dpop])
        var judged = copy request
        // A request for a token skips the layers that add tokens, which this one is not.
        if asksForTokens { judged.options.skipsAuthentication = false }
        if let reason = binding.reasonToSkip(judged, secretFields: [.dpop]) {
            return try await base.sendUnchanged(request, because: reason, by: Self.name)
        }
        let field = request.head.headerFields[.authorization] ?? ""
        let isBound = field.prefix(5).lowercased() == "dpop "
        let token = isBound ? field.dropFirst(5).trimmingCharacters(in: .whitespaces) : nil
        guard asksForTokens || token != nil else { return try await base.send(request) }
        guard let key = try dpop.key(for: request) else {
            guard token != nil else { return try await base.send(request) }
            throw SigningError(
                .noCredentials,
                "The token is bound to a key that is not stored with it. Sign in again, or give DPoP the key.")
        }
        let origin = try Origin(request.head)
        request.options.beginCall(ifNeeded: baseMayChangeUser)
        let nonce = dpop.nonce(for: origin)
        var (first, fresh) = try await send(copy request, to: origin, token: token, nonce: nonce, by: key)
        guard request.body.replay > .once || request.body.isEmpty,
            try await demandsNonce(&first, isFresh: fresh != nonce)
        else { return first }
        guard let fresh else {
            throw SigningError(
                .unusableChallenge,
                "The server \(origin) demands a nonce for DPoP and gives no usable one. Ask its operator.")
        }
        guard fresh != nonce else { return first }
        return try await request.sent(
            insteadOf: first, by: Self.name, because: "the server demands a proof with its nonce"
        ) { try await send($0, to: origin, token: token, nonce: fresh, by: key).0 }
    }

    private func send(
        _ request: consuming Request, to origin: Origin, token: String?, nonce: String?, by key: SigningKey
    ) async throws -> (Response, nonce: String?) {
        request.head.headerFields[.dpop] = try await dpop.proof(
            for: request.head, to: origin, token: token, nonce: nonce, by: key)
        let head = request.head
        let response = try await base.send(request)
        let answer = AuthenticationAnswer(
            request: head, origin: origin, head: response.head, metadata: response.metadata)
        return (response, dpop.learn(from: answer))
    }

    /// Whether a response demands another nonce (RFC 9449, sections 8 and 9).
    private func demandsNonce(_ response: inout Response, isFresh: Bool) async throws -> Bool {
        let error = "use_dpop_nonce"
        if response.status == .unauthorized {
            return response.challenges.contains { $0.scheme == "dpop" && $0["error"] == error }
        }
        // The error of a token endpoint is in its content, which is read only where it may matter.
        guard asksForTokens, response.status == .badRequest, isFresh else { return false }
        let data = try await response.data(upTo: 64 << 10)
        response.body = Body(data)
        return ((try? JSONSerialization.jsonObject(with: data)) as? [String: Any])?["error"] as? String == error
    }
}

extension HTTPField.Name {
    // Safe: the literals are valid field names.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let dpop = Self("DPoP")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let dpopNonce = Self("DPoP-Nonce")!
}
#endif
