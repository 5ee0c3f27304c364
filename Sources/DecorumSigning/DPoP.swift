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
    /// adds the token. The nonces of each server are learnt from all its responses. If one demands another nonce
    /// (`use_dpop_nonce`), the request is sent once more with it, unless its body can be read once.
    ///
    /// The rules of `authenticating(with:for:_:)` apply: a request for another origin, or one that another origin has
    /// redirected, gets no proof.
    ///
    /// - Parameters:
    ///   - dpop: The key and the nonces.
    ///   - origin: The origin that may see the proofs.
    ///   - others: Further origins that may see them.
    /// - Returns: A connection that throws ``SigningError`` too: `noCredentials` for a token whose key is not known, and
    ///   `unusableChallenge` for a server that demands a nonce and gives no usable one.
    public func provingPossession(with dpop: DPoP, for origin: Origin, _ others: Origin...)
        -> some Connection
    {
        provingPossession(with: dpop, for: Set(others).union([origin]))
    }

    /// Proves the possession of a key to a set of origins, as with single origins.
    ///
    /// - Parameters:
    ///   - dpop: The key and the nonces.
    ///   - origins: The origins that may see the proofs; with an empty set, no request gets one.
    /// - Returns: A connection that throws ``SigningError`` too.
    public func provingPossession(with dpop: DPoP, for origins: Set<Origin>) -> some Connection {
        DPoPConnection(
            base: self, dpop: dpop, binding: CredentialBinding(origins: origins), isForTokens: false,
            baseMayChangeUser: mayChangeUser)
    }

    fileprivate func provingPossession(with dpop: DPoP, to server: Origin) -> any Connection {
        DPoPConnection(
            base: self, dpop: dpop, binding: CredentialBinding(origins: [server]), isForTokens: true,
            baseMayChangeUser: mayChangeUser)
    }
}

extension StandardStack.Authentication {
    /// The token of a user, with a proof of the key that it is bound to.
    ///
    /// - Parameters:
    ///   - tokens: The token of the user, from a client with `OAuthClient.provingPossession(with:)`.
    ///   - dpop: The key and the nonces.
    ///   - origins: The origins that may see the token; empty for that of the base URL.
    /// - Returns: The tokens with their origins.
    public static func with(_ tokens: Tokens, proving dpop: DPoP, for origins: Set<Origin> = [])
        -> Self
    {
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
    /// accepted.
    ///
    /// - Parameter dpop: The key and the nonces, shared with the stack that uses the tokens.
    /// - Returns: The client.
    /// - Throws: ``SigningError`` for a server without a token endpoint, and `InvalidRequestError` for one whose URL has no origin.
    public func provingPossession(with dpop: DPoP) throws -> OAuthClient {
        guard let token = server.token else {
            throw SigningError(
                .invalidConfiguration, "The authorization server has no token endpoint. Give its URL.")
        }
        let makesKeys = dpop.makesKeys
        return proving(over: connection.provingPossession(with: dpop, to: try Origin(token))) {
            makesKeys ? P256.Signing.PrivateKey().rawRepresentation : nil
        }
    }
}

/// The key that tokens are bound to, and the nonces of the servers that demand one (RFC 9449).
///
/// Share one value between the stack of the `OAuthClient` and the stacks that use its tokens.
public final class DPoP: Sendable {
    private struct State {
        var nonces: [Origin: String] = [:]
        /// The key of the last session, since its public half is costly to compute.
        var session: (bytes: Data, key: SigningKey)?
    }

    /// The largest number of bytes of a nonce.
    private static let nonceLimit = 1 << 10

    private let key: SigningKey?
    private let skew: ClockSkew
    fileprivate let clock: any DatedClock
    private let generator: any RandomGenerator
    private let state = Mutex(State())

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
        if let key { _ = try DPoPProof.publicKey(of: key) }
        (self.key, self.clock, self.generator) = (key, clock, generator)
        skew = ClockSkew(clock: clock)
    }

    fileprivate var makesKeys: Bool { key == nil }

    /// The key for a request; nil if neither it nor this value has one.
    fileprivate func key(for request: borrowing Request) throws(SigningError) -> SigningKey? {
        if let key { return key }
        guard let bytes = request.options.proofKey?.value else { return nil }
        if let session = state.withLock({ $0.session }), session.bytes == bytes { return session.key }
        guard let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes) else {
            throw SigningError(
                .wrongKey,
                "The stored key of the session is damaged. Sign in again, which makes a new one.")
        }
        let signing = SigningKey.p256(key)
        state.withLock { $0.session = (bytes, signing) }
        return signing
    }

    fileprivate func nonce(for origin: Origin) -> String? { state.withLock { $0.nonces[origin] } }

    fileprivate func proof(
        for head: HTTPRequest, to origin: Origin, token: String?, nonce: String?, by key: SigningKey
    ) async throws -> String {
        try await DPoPProof(
            method: head.method.rawValue, url: DPoPProof.url(of: head, at: origin), token: token,
            nonce: nonce,
            date: skew.date(for: origin), identifier: Data(generator.bytes(16)).base64URL
        ).text(by: key)
    }

    /// Learns the clock and the nonce of a server.
    ///
    /// - Returns: The nonce of the response; nil without a usable one.
    fileprivate func learn(from answer: AuthenticationAnswer) -> String? {
        skew.learn(from: answer)
        guard let nonce = answer.head.headerFields[.dpopNonce],
            1...Self.nonceLimit ~= nonce.utf8.count,
            nonce.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
        else { return nil }
        state.withLock { $0.nonces[answer.origin] = nonce }
        return nonce
    }
}

extension DPoP: SecretHolder {
    /// A fixed word.
    public var description: String { "the state of DPoP" }
}

struct DPoPConnection<Base: Connection>: ComposedConnection {
    private static var name: String { "provingPossession" }
    /// The largest number of bytes of an error of a token endpoint.
    private static var errorLimit: Int { 64 << 10 }

    let base: Base
    let dpop: DPoP
    let binding: CredentialBinding
    /// Whether the requests ask an authorization server for tokens.
    let isForTokens: Bool
    let baseMayChangeUser: Bool

    var layer: Layer {
        Layer(
            name: Self.name, role: .authentication,
            settings: [Layer.Setting("with", "DPoP"), binding.setting],
            facts: binding.facts.union([.signs, .changesSignedParts, .variesPerSend, .readsStatus])
                .union(Layer.facts(of: dpop.clock)),
            secretFields: [.dpop], sending: .init(1...2),
            memory: .init(state: [Layer.StateIdentity(dpop)]))
    }

    func send(_ request: consuming Request) async throws -> Response {
        request.options.declareSecret([.dpop])
        if let reason = reasonToSkip(request) {
            return try await base.sendUnchanged(request, because: reason, by: Self.name)
        }
        let token = request.boundToken
        guard isForTokens || token != nil else { return try await base.send(request) }
        guard let key = try dpop.key(for: request) else {
            guard token != nil else { return try await base.send(request) }
            throw SigningError(
                .noCredentials,
                "The token is bound to a key that is not stored with it. Sign in again, or give DPoP the key."
            )
        }
        let origin = try Origin(request.head)
        request.options.beginCall(ifNeeded: baseMayChangeUser)
        let nonce = dpop.nonce(for: origin)
        var (first, fresh) = try await send(
            copy request, to: origin, token: token, nonce: nonce, by: key)
        guard request.body.replay > .once || request.body.isEmpty,
            try await demandsNonce(&first, isFresh: fresh != nonce)
        else { return first }
        guard let fresh else {
            throw SigningError(
                .unusableChallenge,
                "The server \(origin) demands a nonce for DPoP and gives no usable one. Ask its operator."
            )
        }
        guard fresh != nonce else { return first }
        request.options = request.options.travelling(.attempts)
        request.options.callContext?.note(
            CallDecision(.resends, by: Self.name, "the server demands a proof with its nonce"))
        let attempts = first.metadata.attempts
        first.body = .empty
        var (response, _) = try await send(request, to: origin, token: token, nonce: fresh, by: key)
        response.metadata.attempts += attempts
        return response
    }

    private func reasonToSkip(_ request: borrowing Request) -> CredentialBinding.ReasonToSkip? {
        guard isForTokens else { return binding.reasonToSkip(request, secretFields: [.dpop]) }
        // A request for a token skips the layers that add tokens, which this one is not.
        var request = copy request
        request.options.skipsAuthentication = false
        return binding.reasonToSkip(request, secretFields: [.dpop])
    }

    private func send(
        _ request: consuming Request, to origin: Origin, token: String?, nonce: String?,
        by key: SigningKey
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
        guard isForTokens, response.status == .badRequest, isFresh else { return false }
        let data: Data
        do {
            data = try await response.data(upTo: Self.errorLimit)
        } catch is BodyLimitError {
            throw SigningError(
                .unusableChallenge,
                "The token endpoint has answered with an error of more than 64 KiB. Look at its URL.")
        }
        response.body = Body(data)
        return (try? JSONDecoder().decode(TokenError.self, from: data))?.error == error
    }
}

private struct TokenError: Decodable {
    let error: String
}

extension Request {
    /// The token of the `Authorization` field, if it is bound to a key.
    fileprivate var boundToken: String? {
        guard let value = head.headerFields[.authorization], value.prefix(5).lowercased() == "dpop "
        else { return nil }
        return value.dropFirst(5).trimmingCharacters(in: .whitespaces)
    }
}

/// A proof (RFC 9449, section 4.2).
struct DPoPProof {
    /// The members of a public JSON Web Key; others may be secret.
    private static let publicMembers: Set<String> = ["kty", "crv", "x", "y", "n", "e"]

    let method: String
    let url: String
    let token: String?
    let nonce: String?
    let date: Date
    let identifier: String

    func text(by key: SigningKey) async throws -> String {
        var claims: [String: JSONValue] = [
            "jti": .text(identifier), "htm": .text(method), "htu": .text(url),
            "iat": .number(date.wholeSeconds),
        ]
        claims["ath"] = token.map { .text(Data(SHA256.hash(data: Data($0.utf8))).base64URL) }
        claims["nonce"] = nonce.map { .text($0) }
        let header: [String: JSONValue] = [
            "typ": .text("dpop+jwt"), "jwk": .members(try Self.publicKey(of: key)),
        ]
        return try await JSONWebSignature.text(header, claims, by: key)
    }

    /// The URL of a request without its query.
    static func url(of head: HTTPRequest, at origin: Origin) -> String {
        let path = head.path?.prefix { $0 != "?" && $0 != "#" } ?? ""
        return "\(origin.scheme)://\(origin.authority)\(path.isEmpty ? "/" : path)"
    }

    static func publicKey(of key: SigningKey) throws(SigningError) -> [String: String] {
        guard key.algorithm != .hmacSHA256, let members = key.publicKey, members["kty"] != nil else {
            throw SigningError(
                .wrongKey,
                "DPoP needs a private key and its public half. Use one of P-256, or give `publicKey` with the closure."
            )
        }
        return members.filter { publicMembers.contains($0.key) }
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
