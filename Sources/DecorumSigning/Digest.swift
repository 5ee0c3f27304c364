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
    /// the body.
    ///
    /// - Parameters:
    ///   - digest: The name and the password.
    ///   - origin: The origin that may see the proofs.
    ///   - others: Further origins that may see them.
    /// - Returns: A connection that throws ``SigningError`` too: `unusableChallenge`, `bodyReadOnce` for a server that accepts
    ///   nothing but a proof of the body, and `invalidSignature` for a server whose own proof is wrong.
    public func authenticating(
        with digest: DigestCredentials, for origin: Origin, _ others: Origin...
    ) -> some Connection {
        authenticating(with: digest, for: Set(others).union([origin]))
    }

    /// Proves the knowledge of a password to a set of origins, as with single origins.
    ///
    /// - Parameters:
    ///   - digest: The name and the password.
    ///   - origins: The origins that may see the proofs; with an empty set, no request gets one.
    /// - Returns: A connection that throws ``SigningError`` too.
    public func authenticating(with digest: DigestCredentials, for origins: Set<Origin>) -> some Connection {
        DigestConnection(
            base: self, digest: digest, binding: CredentialBinding(origins: origins), baseMayChangeUser: mayChangeUser)
    }
}

extension StandardStack.Authentication {
    /// A name and a password, of which proofs are sent.
    ///
    /// - Parameters:
    ///   - digest: The name and the password.
    ///   - origins: The origins that may see the proofs; empty for that of the base URL.
    /// - Returns: The credentials with their origins.
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
public final class DigestCredentials: Sendable {
    /// The challenge of a server that is being answered, and what its answers have in common.
    private let sessions = Mutex<[Origin: DigestSession]>([:])
    private let user: String
    private let password: String
    private let allowsMD5: Bool
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
                "The user name for Digest has a colon, or it or the password has a control character. Look for a line break "
                    + "at the end.")
        }
        self.user = user.precomposedStringWithCanonicalMapping
        self.password = password.precomposedStringWithCanonicalMapping
        allowsMD5 = allowingMD5
        self.generator = generator
    }

    /// The next use of the challenge that a server has made; nil before its first.
    fileprivate func next(for origin: Origin) -> DigestSession? {
        sessions.withLock { $0[origin]?.next() }
    }

    /// Begins to answer a challenge, unless another request has begun to.
    fileprivate func begin(_ challenge: DigestChallenge, of origin: Origin) -> DigestSession? {
        let clientNonce = generator.bytes(16).hexText
        return sessions.withLock { sessions in
            if sessions[origin]?.challenge.nonce != challenge.nonce {
                sessions[origin] = DigestSession(challenge, user: user, password: password, clientNonce: clientNonce)
            }
            return sessions[origin]?.next()
        }
    }

    fileprivate func take(nextNonce: String, after used: DigestSession, from origin: Origin) {
        sessions.withLock { sessions in
            guard sessions[origin]?.challenge.nonce == used.challenge.nonce else { return }
            sessions[origin]?.challenge.nonce = nextNonce
            sessions[origin]?.count = 0
        }
    }

    fileprivate func forget(_ used: DigestSession, of origin: Origin) {
        sessions.withLock { sessions in
            if sessions[origin]?.challenge.nonce == used.challenge.nonce { sessions[origin] = nil }
        }
    }

    /// The challenge of a `401` to answer; nil if the server does not ask for Digest.
    fileprivate func challenge(in fields: HTTPFields, from origin: Origin) throws(SigningError) -> DigestChallenge? {
        let challenges = fields.challenges
        if let challenge = DigestChallenge.strongest(of: challenges, allowingMD5: allowsMD5) { return challenge }
        let isAsked = fields[values: .wwwAuthenticate].contains { $0.prefix(7).lowercased() == "digest " }
        guard isAsked || challenges.contains(where: { $0.scheme == "digest" }) else { return nil }
        throw SigningError(
            .unusableChallenge,
            "The server \(origin) asks for Digest without a usable nonce, or with an algorithm or a quality of protection that "
                + "is not known or not allowed. Use another scheme for it.")
    }
}

extension DigestCredentials: SecretHolder {
    /// A fixed word.
    public var description: String { "digest credentials" }
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
        var first: Response
        if let used {
            first = try await send(copy request, with: used, to: origin)
        } else {
            first = try await base.send(copy request)
        }
        guard first.status == .unauthorized,
            let challenge = try digest.challenge(in: first.head.headerFields, from: origin)
        else { return first }
        if let used, used.challenge.nonce == challenge.nonce, !challenge.isStale {
            digest.forget(used, of: origin)
            return first
        }
        guard let use = digest.begin(challenge, of: origin), request.body.replay > .once || request.body.isEmpty else {
            return first
        }
        request.options = request.options.travelling(.attempts)
        request.options.callContext?.note(
            CallDecision(.resends, by: Self.name, "the server has asked for a proof of the password"))
        let attempts = first.metadata.attempts
        // Its connection is not used again, but a body without an end holds nothing up.
        first.body = .empty
        var response = try await send(request, with: use, to: origin)
        response.metadata.attempts += attempts
        if response.status == .unauthorized { digest.forget(use, of: origin) }
        return response
    }

    private func send(
        _ request: consuming Request, with use: DigestSession, to origin: Origin
    ) async throws -> Response {
        let quality = try use.quality(for: request.body)
        let hash = use.challenge.algorithm.hash
        var bodyHash: String?
        if quality == .integrity { bodyHash = try await hash.text(ofContentOf: request.body) }
        let uri = request.head.path.flatMap { $0.isEmpty ? nil : $0 } ?? "/"
        let method = request.head.method.rawValue
        request.head.headerFields[.authorization] = use.fieldValue(method, uri, quality, bodyHash: bodyHash)
        var response = try await base.send(request)
        response.noteRefusedCredentials()
        guard let info = DigestInfo(response.head.headerFields) else { return response }
        if let nonce = info.nextNonce { digest.take(nextNonce: nonce, after: use, from: origin) }
        guard let proof = info.proof, let quality else { return response }
        let failure = SigningError(
            .invalidSignature,
            "The server \(origin) has not proven that it knows the password. Do not use the response, which may be another "
                + "server's.")
        guard quality == .integrity else {
            guard use.response("", uri, quality, bodyHash: nil) == proof else { throw failure }
            return response
        }
        response.body = response.body.folding(hash.function) { function, chunk in
            function.update(data: chunk)
        } trailers: { function, trailers in
            guard use.response("", uri, quality, bodyHash: function.hexText) == proof else { throw failure }
            return trailers
        }
        return response
    }
}

/// A hash function of Digest, by increasing strength.
enum DigestHash: String, CaseIterable {
    case md5 = "MD5"
    case sha256 = "SHA-256"
    case sha512t256 = "SHA-512-256"

    var function: any HashFunction {
        switch self {
        case .md5: Insecure.MD5()
        case .sha256: SHA256()
        case .sha512t256: SHA512256()
        }
    }

    func text(of text: String) -> String {
        var function = function
        function.update(data: Data(text.utf8))
        return function.hexText
    }

    func text(ofContentOf body: Body) async throws -> String {
        var function = function
        for try await chunk in body {
            try Task.checkCancellation()
            function.update(data: chunk)
        }
        return function.hexText
    }
}

extension HashFunction {
    /// The digest in lower-case hexadecimal digits.
    var hexText: String { Array(finalize()).hexText }
}

/// A challenge that can be answered (RFC 7616, section 3.3).
struct DigestChallenge: Sendable, Hashable {
    /// What a proof covers, `qop`.
    enum Quality: String {
        case request = "auth"
        case integrity = "auth-int"
    }

    struct Algorithm: Hashable {
        let hash: DigestHash
        /// Whether the hash of the password is bound to the first nonces.
        let isSession: Bool
        /// The name as the server writes it; nil for the default.
        let name: String?

        init?(_ name: String?) {
            let upper = (name ?? "MD5").uppercased()
            isSession = upper.hasSuffix("-SESS")
            guard let hash = DigestHash(rawValue: isSession ? String(upper.dropLast(5)) : upper) else { return nil }
            self.hash = hash
            self.name = name
        }
    }

    /// The largest number of bytes of a realm, a nonce and an opaque text.
    static let lengthLimit = 4 << 10

    let realm: String
    var nonce: String
    let opaque: String?
    let algorithm: Algorithm
    /// What proofs may cover; empty for a server of RFC 2069.
    let qualities: Set<Quality>
    let hashesUser: Bool
    let isUTF8: Bool
    let isStale: Bool

    /// Nil for another scheme, an unknown algorithm, only unknown qualities, and parts that are missing or too long.
    init?(_ challenge: Challenge) {
        guard challenge.scheme == "digest", let realm = challenge.realm, let nonce = challenge["nonce"], !nonce.isEmpty,
            let algorithm = Algorithm(challenge["algorithm"])
        else { return nil }
        opaque = challenge["opaque"]
        for part in [realm, nonce, opaque ?? ""] where part.utf8.count > Self.lengthLimit { return nil }
        let names = challenge["qop"]?.split { $0 == "," || $0 == " " || $0 == "\t" }
        qualities = Set((names ?? []).compactMap { Quality(rawValue: $0.lowercased()) })
        guard names == nil || !qualities.isEmpty else { return nil }
        (self.realm, self.nonce, self.algorithm) = (realm, nonce, algorithm)
        hashesUser = challenge["userhash"]?.lowercased() == "true"
        isUTF8 = challenge["charset"]?.lowercased() == "utf-8"
        isStale = challenge["stale"]?.lowercased() == "true"
    }

    /// The usable challenge with the strongest algorithm, the first of equals.
    static func strongest(of challenges: [Challenge], allowingMD5: Bool) -> DigestChallenge? {
        let usable = challenges.compactMap(DigestChallenge.init)
        return DigestHash.allCases.reversed().lazy
            .filter { allowingMD5 || $0 != .md5 }
            .compactMap { hash in usable.first { $0.algorithm.hash == hash } }.first
    }
}

/// A challenge and the answers to it, whose nonces are counted.
struct DigestSession: Sendable {
    var challenge: DigestChallenge
    var count: UInt32 = 0
    private let user: String
    private let clientNonce: String
    /// The hash of A1, which a session keeps for all its nonces (RFC 7616, section 3.4.2).
    private let secret: String

    init(_ challenge: DigestChallenge, user: String, password: String, clientNonce: String) {
        self.challenge = challenge
        self.user = user
        self.clientNonce = clientNonce
        let hash = challenge.algorithm.hash
        let secret = hash.text(of: "\(user):\(challenge.realm):\(password)")
        self.secret =
            challenge.algorithm.isSession ? hash.text(of: "\(secret):\(challenge.nonce):\(clientNonce)") : secret
    }

    /// Counts a use; nil after the last number, so that the server has to give a new nonce.
    mutating func next() -> DigestSession? {
        guard count < .max else { return nil }
        count += 1
        return self
    }

    /// What the proof of a request covers; nil for a server that does not say.
    func quality(for body: Body) throws(SigningError) -> DigestChallenge.Quality? {
        guard !challenge.qualities.isEmpty else { return nil }
        let canCover = body.replay > .once || body.isEmpty
        if challenge.qualities.contains(.request), body.isEmpty || !canCover { return .request }
        guard challenge.qualities.contains(.integrity) else { return .request }
        guard canCover else {
            throw SigningError(
                .bodyReadOnce,
                "The server demands a digest of the body, which can be read once. Give a body of data or of a file.")
        }
        return .integrity
    }

    /// The proof (RFC 7616, section 3.4.1); with an empty method, that of the server (section 3.5).
    func response(
        _ method: String, _ uri: String, _ quality: DigestChallenge.Quality?, bodyHash: String?
    ) -> String {
        let hash = challenge.algorithm.hash
        let covered = hash.text(of: "\(method):\(uri)" + (bodyHash.map { ":\($0)" } ?? ""))
        let use = quality.map { ":\(countText):\(clientNonce):\($0.rawValue)" } ?? ""
        return hash.text(of: "\(secret):\(challenge.nonce)\(use):\(covered)")
    }

    /// The value of the `Authorization` field.
    func fieldValue(
        _ method: String, _ uri: String, _ quality: DigestChallenge.Quality?, bodyHash: String?
    ) -> String {
        let (hash, realm) = (challenge.algorithm.hash, challenge.realm)
        var items: [String] = []
        if challenge.hashesUser {
            items.append("username=\(Self.quoted(hash.text(of: "\(user):\(realm)")))")
        } else if challenge.isUTF8, !user.utf8.allSatisfy({ $0 < 0x80 }) {
            items.append("username*=UTF-8''\(PercentCoding.encode(user))")
        } else {
            items.append("username=\(Self.quoted(user))")
        }
        items += [
            "realm=\(Self.quoted(realm))", "nonce=\(Self.quoted(challenge.nonce))", "uri=\(Self.quoted(uri))",
            "response=\"\(response(method, uri, quality, bodyHash: bodyHash))\"",
        ]
        if let name = challenge.algorithm.name { items.append("algorithm=\(name)") }
        if let quality { items.append("qop=\(quality.rawValue), nc=\(countText)") }
        if quality != nil || challenge.algorithm.isSession { items.append("cnonce=\"\(clientNonce)\"") }
        if let opaque = challenge.opaque { items.append("opaque=\(Self.quoted(opaque))") }
        if challenge.hashesUser { items.append("userhash=true") }
        return "Digest " + items.joined(separator: ", ")
    }

    /// The count in eight digits.
    private var countText: String {
        (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }.hexText
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}

extension DigestSession: SecretHolder {
    var description: String { "a session of digest" }
}

/// The field `Authentication-Info` (RFC 7616, section 3.5).
private struct DigestInfo {
    let nextNonce: String?
    let proof: String?

    init?(_ fields: HTTPFields) {
        guard let value = fields[.authenticationInfo] else { return nil }
        // It has the parameters of a challenge, and its limits.
        let info = ([.wwwAuthenticate: "Digest \(value)"] as HTTPFields).challenges.first
        nextNonce = info?["nextnonce"].flatMap { 1...DigestChallenge.lengthLimit ~= $0.utf8.count ? $0 : nil }
        proof = info?["rspauth"]?.lowercased()
    }
}
#endif
