#if Signing
import Crypto
import DecorumAuthentication
import DecorumSigning
import Foundation

private func amazon(keys: AWSCredentials, api: Origin) async throws -> (any Connection, URL) {
    let connection = SystemConnection()
        .authenticating(with: .signer(SigV4(service: "s3", region: "eu-west-1", credentials: keys)), for: api)
        .retrying()
    let signer = SigV4(service: "s3", regions: ["*"], credentials: keys)
    let url = try await signer.presigned(.get("https://bucket.s3.eu-west-1.amazonaws.com/key"))
    return (connection, url)
}

private func standard(stack: StandardStack) throws -> (any Connection, SigV4) {
    let keys = AWSCredentialChain.standard(over: SystemConnection())
    let signer = SigV4(service: "s3", region: "eu-west-1", credentials: keys)
    let connection = try stack.composed(
        authentication: .with(.signer(SigV4(service: "execute-api", region: "eu-west-1", credentials: keys))),
        principal: Principal("user-42"))
    return (connection, signer)
}

private func messages(key: Curve25519.Signing.PrivateKey, api: Origin) -> [Any] {
    let connection = SystemConnection()
        .authenticating(with: .signer(MessageSigner(key: .ed25519(key), id: "key-1")), for: api)
    var policy = MessageSignaturePolicy.standard
    policy.components = [.authority, .path, .query, .field(.contentType)]
    policy.lifetime = .seconds(60)
    policy.tag = "web-bot-auth"
    let ofRequests: [SignatureComponent] = [.method, .authority, .field(.priority).member("u")]
    let ofResponses: [SignatureComponent] = [.status, .field(.contentType), .method.ofRequest]
    return [connection, policy, ofRequests, ofResponses]
}

private func verifying(serverKey: Curve25519.Signing.PublicKey) -> any Connection {
    let keys = ["server-1": VerifyingKey.ed25519(serverKey)]
    let connection = SystemConnection()
        .verifyingDigests(isRequired: true)
        .verifyingSignatures { id in id.flatMap { keys[$0] } }
    return connection
}

private func verifyingDigests() -> any Connection {
    let connection = SystemConnection().verifyingDigests(isRequired: true).decompressing()
    return connection
}

private func digesting(_ request: inout Request, digestField: HTTPField.Name) -> any Connection {
    request.body = request.body.folding(SHA256()) { hash, chunk in
        hash.update(data: chunk)
    } trailers: { hash, _ in
        [digestField: "sha-256=:\(Data(hash.finalize()).base64EncodedString()):"]
    }
    let connection = SystemConnection().digestingContent().compressing().retrying()
    return connection
}

private func digest(password: String, api: Origin) throws -> any Connection {
    let connection = try SystemConnection()
        .authenticating(with: DigestCredentials(user: "me", password: password), for: api)
        .retrying()
    return connection
}

private func oauth1(consumerSecret: String, token: String, tokenSecret: String, api: Origin) -> any Connection {
    let signer = OAuth1(consumer: "key", secret: consumerSecret, token: token, tokenSecret: tokenSecret)
    let connection = SystemConnection().authenticating(with: .signer(signer), for: api)
    return connection
}

private func possession(
    server: AuthorizationServer, transport: SystemConnection, store: MemoryTokenStore, api: Origin
) throws -> any Connection {
    let dpop = try DPoP()
    let client = try OAuthClient("app", of: server, over: transport).provingPossession(with: dpop)
    let tokens = Tokens(in: store, from: client.refreshing())
    let connection = SystemConnection()
        .provingPossession(with: dpop, for: api)
        .authenticating(with: tokens, for: api)
    return connection
}

private func assertions(
    server: AuthorizationServer, key: P256.Signing.PrivateKey, transport: SystemConnection, file: URL, scope: String
) throws -> (OAuthClient, Tokens) {
    let client = OAuthClient("app", of: server, authentication: try .privateKeyJWT(.p256(key)), over: transport)
    let account = try ServiceAccount(keyFile: Data(contentsOf: file))
    let tokens = Tokens(in: MemoryTokenStore(), from: account.tokens(scope: scope, over: SystemConnection()))
    return (client, tokens)
}

private func own(key: SymmetricKey, api: Origin) -> any Connection {
    let signer = HMACSigner(
        key: key, parts: [.method, .path, .query, .timestamp(in: .date, as: .httpDate), .contentDigest()],
        encoding: .base64, field: .authorization, prefix: "Acme key-1:")
    let connection = SystemConnection().authenticating(with: .signer(signer), for: api)
    return connection
}

struct AcmeSigner: RequestSigner {
    let key: SymmetricKey
    let skew = ClockSkew()
    let secretFields: Set<HTTPField.Name> = [.authorization]
    func sign(_ request: Request) async throws -> Request {
        var request = request
        let date = HTTPDate(skew.date(for: try Origin(request.head))).description
        let text = "\(request.head.method) \(QueryItem.canonicalText(of: request.queryItems)) \(date)"
        let code = HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
        request.head.headerFields[.date] = date
        request.head.headerFields[.authorization] = "Acme \(Data(code).base64EncodedString())"
        return request
    }
    func learn(from answer: AuthenticationAnswer) async { skew.learn(from: answer) }
}

private struct DatedSigner: RequestSigner {
    let skew = ClockSkew()
    let secretFields: Set<HTTPField.Name> = []
    func sign(_ request: Request) async throws -> Request {
        let date = skew.date(for: try Origin(request.head))
        // …
        return request.dated(date)
    }
    func learn(from answer: AuthenticationAnswer) async { skew.learn(from: answer) }
}

extension Request {
    fileprivate func dated(_ date: Date) -> Request { self }
}

private func origins(nearestMirror: @escaping @Sendable () -> Origin?) -> any Connection {
    let connection = SystemConnection()
        .decidingOrigin { request in
            request.head.path?.hasPrefix("/media/") == true ? nearestMirror() : nil
        }
        .followingRedirects()
    return connection
}

private func queryItems() -> any Connection {
    let connection = SystemConnection()
        .addingDefaultQueryItems([QueryItem("api-version", "2026-05-01"), QueryItem("format", "json")])
    // GET /items?page=2&api-version=2026-05-01&format=json
    return connection
}
#endif
