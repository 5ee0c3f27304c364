#if Signing
import Crypto
import CryptoExtras
public import Decorum
import DecorumAuthentication
import Foundation
import HTTPTypes
import Synchronization

extension Connection {
    /// Proves the knowledge of a password to the given origins, without sending it (Digest, RFC 7616).
    ///
    /// ```swift
    /// let connection = try SystemConnection()
    ///     .authenticating(with: DigestCredentials(user: "me", password: password), for: api)
    ///     .retrying()
    /// ```
    ///
    /// The first `401` of a server is answered by sending the request once more; a second one is returned. From then on, each
    /// request is sent with the proof at once, until the server asks again, such as for a nonce that has become stale. A body
    /// that can be read once is not sent again, so that its first `401` is returned. If the server proves its own knowledge,
    /// the proof is checked; for `auth-int`, at the end of the body.
    ///
    /// The rules and the place of `authenticating(with:for:_:)` apply. No layer further in may change the method, the path or
    /// the body. The connection throws ``SigningError`` too: `unusableChallenge`, `bodyReadOnce` for a server that accepts
    /// nothing but a proof of the body, and `invalidSignature` for a server whose own proof is wrong.
    public func authenticating(
        with digest: DigestCredentials, for origin: Origin, _ others: Origin...
    ) -> some Connection {
        authenticating(with: digest, for: Set(others).union([origin]))
    }

    /// Proves the knowledge of a password to a set of origins, as with single origins.
    public func authenticating(with digest: DigestCredentials, for origins: Set<Origin>) -> some Connection {
        DigestConnection(
            base: self, digest: digest, binding: CredentialBinding(origins: origins), baseMayChangeUser: mayChangeUser)
    }
}

extension StandardStack.Authentication {
    /// A name and a password, of which proofs are sent; without origins, the base URL has the origin.
    public static func with(_ digest: DigestCredentials, for origins: Set<Origin> = []) -> Self {
        .applying(for: origins) { base, origins, _ in base.authenticating(with: digest, for: origins) }
    }
}

/// A user name and a password, whose knowledge is proven by hashes, and the nonces of the servers that have asked for it.
///
/// Of several challenges the one with the strongest algorithm is answered: `SHA-512-256`, `SHA-256` or `MD5`. Where a server
/// offers it, the proof covers the content too (`auth-int`), unless the body is empty or can be read once.
///
/// Share one value between the stacks of a user.
public final class DigestCredentials: Sendable, SecretHolder {
    /// A fixed word.
    public var description: String { "digest credentials" }
    private let sessions = Mutex<[Origin: DigestSession]>([:])
    private let user: String
    private let password: String
    private let hashes: [HashAlgorithm]
    private let generator: any RandomGenerator

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - user: The user name, which has no colon.
    ///   - password: The password. Both are hashed in UTF-8 and Unicode's normalization form C.
    ///   - allowingMD5: Whether challenges with MD5 are answered, which many old servers demand.
    ///   - generator: The source of the client's nonces; its bits must be unpredictable.
    /// - Throws: ``SigningError`` for a colon in the user name, or a control character in either.
    public init(
        user: String, password: String, allowingMD5: Bool = true, generator: any RandomGenerator = SystemGenerator()
    ) throws(SigningError) {
        let hasControl = "\(user)\(password)".utf8.contains { $0 < 0x20 || $0 == 0x7F }
        guard !hasControl, !user.utf8.contains(UInt8(ascii: ":")) else {
            throw SigningError(
                .invalidConfiguration,
                "The user name has a colon, or it or the password has a control character. Look for a line break at the end."
            )
        }
        self.user = user.precomposedStringWithCanonicalMapping
        self.password = password.precomposedStringWithCanonicalMapping
        hashes = [.sha512t256, .sha256] + (allowingMD5 ? [.md5] : [])
        self.generator = generator
    }

    /// The next use of the challenge that a server has made, which may be a new one; nil before its first.
    ///
    /// Only what is sent counts.
    fileprivate func next(
        for origin: Origin, answering new: DigestSession? = nil, isSent: Bool = true
    ) -> DigestSession? {
        sessions.withLock { sessions in
            if let new, sessions[origin]?.nonce != new.nonce { sessions[origin] = new }
            return isSent ? sessions[origin]?.next() : nil
        }
    }

    /// Goes on with the next nonce of a server, or forgets its challenge, unless another request has done so.
    fileprivate func replace(_ used: DigestSession, by nextNonce: String?, for origin: Origin) {
        sessions.withLock { sessions in
            guard var session = sessions[origin], session.nonce == used.nonce else { return }
            (session.nonce, session.count) = (nextNonce ?? "", 0)
            sessions[origin] = nextNonce == nil ? nil : session
        }
    }

    /// The answer to the challenge of a `401` with the strongest algorithm, the first of equals; nil if the server does not ask
    /// for Digest.
    func session(answering fields: HTTPFields, from origin: Origin) throws(SigningError) -> DigestSession? {
        let (challenges, nonce) = (fields.challenges, generator.identifier.hexText)
        let sessions = challenges.compactMap { DigestSession($0, user, password, clientNonce: nonce) }
        for hash in hashes {
            if let session = sessions.first(where: { $0.hash == hash }) { return session }
        }
        let isAsked = fields[values: .wwwAuthenticate].contains { $0.prefix(7).lowercased() == "digest " }
        guard isAsked || challenges.contains(where: { $0.scheme == "digest" }) else { return nil }
        throw SigningError(
            .unusableChallenge,
            "The server \(origin) asks for Digest without a usable nonce, or with an algorithm or a quality of protection that "
                + "is not known or not allowed. Use another scheme for it.")
    }
}

struct DigestConnection<Base: Connection>: ComposedConnection {
    private static var name: String { "authenticating" }

    let base: Base
    let digest: DigestCredentials
    let binding: CredentialBinding
    let baseMayChangeUser: Bool

    var layer: Layer {
        Layer(
            name: Self.name, role: .authentication, settings: [Layer.Setting("with", "digest"), binding.setting],
            facts: binding.facts.union([.signs, .changesSignedParts, .variesPerSend, .readsStatus]),
            secretFields: [.authorization], sending: .init(1...2),
            memory: .init(state: [Layer.StateIdentity(digest)]))
    }

    func send(_ request: consuming Request) async throws -> Response {
        request.options.declareSecret([.authorization])
        if let reason = binding.reasonToSkip(request, secretFields: [.authorization]) {
            return try await base.sendUnchanged(request, because: reason)
        }
        let origin = try Origin(request.head)
        request.options.beginCall(ifNeeded: baseMayChangeUser)
        let used = digest.next(for: origin)
        let first = try await send(copy request, with: used, to: origin)
        guard first.status == .unauthorized,
            let session = try digest.session(answering: first.head.headerFields, from: origin)
        else { return first }
        // Its nonce is good, so the password is not.
        if let used, used.nonce == session.nonce, !session.isStale { return first }
        let canResend = request.body.replay > .once || request.body.isEmpty
        guard let next = digest.next(for: origin, answering: session, isSent: canResend) else { return first }
        return try await request.sent(
            insteadOf: first, by: Self.name, because: "the server has asked for a proof of the password"
        ) { try await send($0, with: next, to: origin) }
    }

    private func send(
        _ request: consuming Request, with session: DigestSession?, to origin: Origin
    ) async throws -> Response {
        guard let session else { return try await base.send(request) }
        let quality = session.quality(for: request.body)
        let coversContent = quality == "auth-int"
        let content = coversContent ? try await session.hash.digest(of: request.body).hexText : nil
        let uri = request.head.path.flatMap { $0.isEmpty ? nil : $0 } ?? "/"
        request.head.headerFields[.authorization] = session.fieldValue(
            request.head.method.rawValue, uri, quality, content: content)
        var response = try await base.send(request)
        response.noteRefusedCredentials()
        if response.status == .unauthorized { digest.replace(session, by: nil, for: origin) }
        // The field has the parameters of a challenge, and its limits (RFC 7616, section 3.5).
        let info = response.head.headerFields[.authenticationInfo].flatMap {
            ([.wwwAuthenticate: "Digest \($0)"] as HTTPFields).challenges.first
        }
        if let nonce = info?["nextnonce"], 1...DigestSession.lengthLimit ~= nonce.utf8.count {
            digest.replace(session, by: nonce, for: origin)
        }
        guard let proof = info?["rspauth"]?.lowercased(), let quality else { return response }
        let check: @Sendable (_ content: String?) throws -> Void = { content in
            guard session.response("", uri, quality, content: content) != proof else { return }
            throw SigningError(
                .invalidSignature,
                "The server \(origin) has not proven that it knows the password. Do not use the response, which may be "
                    + "another server's.")
        }
        if !coversContent {
            try check(nil)
        } else if response.metadata.decodedContentCodings.isEmpty {
            // The server proves the content as it has sent it, which a transport that decodes has not kept.
            response.body = response.body.folding(session.hash.function) {
                $0.update(data: $1)
            } trailers: {
                try check($0.digest.hexText)
                return $1
            }
        }
        return response
    }
}

/// A challenge (RFC 7616, section 3.3) and the answers to it, whose nonces are counted.
struct DigestSession: Sendable, SecretHolder {
    /// The largest number of bytes of a realm, a nonce and an opaque text.
    static let lengthLimit = 4 << 10

    var description: String { "a session of digest" }
    let hash: HashAlgorithm
    fileprivate(set) var nonce: String
    fileprivate var count: UInt32 = 0
    private let challenge: Challenge
    private let realm: String
    /// Whether the hash of the password is bound to the first nonces.
    private let isBound: Bool
    /// What proofs may cover, `qop`; empty for a server of RFC 2069.
    private let qualities: Set<String>
    private let user: String
    private let clientNonce: String
    /// The hash of A1, which a bound session keeps for all its nonces (RFC 7616, section 3.4.2).
    private let secret: String

    /// Nil for another scheme, an unknown algorithm, only unknown qualities, and parts that are missing or too long.
    init?(_ challenge: Challenge, _ user: String, _ password: String, clientNonce: String) {
        let name = challenge["algorithm"]?.uppercased() ?? "MD5"
        isBound = name.hasSuffix("-SESS")
        guard challenge.scheme == "digest", let realm = challenge.realm, let nonce = challenge["nonce"], !nonce.isEmpty,
            let hash = HashAlgorithm(rawValue: isBound ? String(name.dropLast(5)) : name)
        else { return nil }
        for part in [realm, nonce, challenge["opaque"] ?? ""] where part.utf8.count > Self.lengthLimit { return nil }
        let names = challenge["qop"]?.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
        qualities = Set(names ?? []).intersection(["auth", "auth-int"])
        guard names == nil || !qualities.isEmpty else { return nil }
        let secret = hash.digest(of: "\(user):\(realm):\(password)").hexText
        self.secret = isBound ? hash.digest(of: "\(secret):\(nonce):\(clientNonce)").hexText : secret
        (self.challenge, self.realm, self.nonce, self.hash) = (challenge, realm, nonce, hash)
        (self.user, self.clientNonce) = (user, clientNonce)
    }

    var isStale: Bool { challenge["stale"]?.lowercased() == "true" }

    /// Counts a use; nil after the last number, so that the server has to give a new nonce.
    mutating func next() -> DigestSession? {
        guard count < .max else { return nil }
        count += 1
        return self
    }

    /// What the proof of a request covers; nil for a server that does not say.
    func quality(for body: Body) -> String? {
        guard qualities.contains("auth-int") else { return qualities.first }
        return qualities.contains("auth") && (body.isEmpty || body.replay == .once) ? "auth" : "auth-int"
    }

    /// The proof (RFC 7616, section 3.4.1); with an empty method, the proof of the server (section 3.5).
    func response(_ method: String, _ uri: String, _ quality: String?, content: String?) -> String {
        let covered = hash.digest(of: "\(method):\(uri)" + (content.map { ":\($0)" } ?? "")).hexText
        let use = quality.map { ":\(countText):\(clientNonce):\($0)" } ?? ""
        return hash.digest(of: "\(secret):\(nonce)\(use):\(covered)").hexText
    }

    /// The value of the `Authorization` field.
    func fieldValue(_ method: String, _ uri: String, _ quality: String?, content: String?) -> String {
        let hashesUser = challenge["userhash"]?.lowercased() == "true"
        var items: [String] = []
        if hashesUser {
            items.append("username=\(quoted(hash.digest(of: "\(user):\(realm)").hexText))")
        } else if challenge["charset"]?.lowercased() == "utf-8", !user.utf8.allSatisfy({ $0 < 0x80 }) {
            items.append("username*=UTF-8''\(PercentCoding.encode(user))")
        } else {
            items.append("username=\(quoted(user))")
        }
        items += [
            "realm=\(quoted(realm))", "nonce=\(quoted(nonce))", "uri=\(quoted(uri))",
            "response=\"\(response(method, uri, quality, content: content))\"",
        ]
        if let name = challenge["algorithm"] { items.append("algorithm=\(name)") }
        if let quality { items.append("qop=\(quality), nc=\(countText)") }
        if quality != nil || isBound { items.append("cnonce=\"\(clientNonce)\"") }
        if let opaque = challenge["opaque"] { items.append("opaque=\(quoted(opaque))") }
        if hashesUser { items.append("userhash=true") }
        return "Digest " + items.joined(separator: ", ")
    }

    /// The count in eight digits.
    private var countText: String { (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }.hexText }

    private func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
#endif
