#if Signing
public import Decorum
public import Foundation
import HTTPTypes

extension SigV4 {
    private static let lifetimes = Duration.seconds(1)...Duration.seconds(604_800)

    /// Returns a URL that lets its holder send a request without credentials for some time.
    ///
    /// ```swift
    /// let url = try await signer.presigned(.get("https://bucket.s3.eu-west-1.amazonaws.com/key"))
    /// ```
    ///
    /// The holder must send the method, and each field of the request that is signed, as they are here. The content of a
    /// request to S3 is not covered. The URL is a secret; it ends early if the credentials themselves expire.
    ///
    /// - Parameters:
    ///   - request: The request, with its method, its URL, and the fields that the holder must send.
    ///   - lifetime: How long the URL is valid: a second to seven days, in whole seconds; by default 15 minutes.
    /// - Returns: The URL.
    /// - Throws: ``SigningError``, also for another lifetime, and as for `sign(_:)`.
    public func presigned(_ request: Request, for lifetime: Duration = .seconds(900)) async throws -> URL {
        try check()
        guard Self.lifetimes.contains(lifetime) else {
            throw SigningError(
                .invalidConfiguration, "A presigned URL is valid for a second to seven days. Give it such a lifetime.")
        }
        var request = request
        let origin = try Origin(request.head)
        let credentials = try await credentials(for: request, to: origin)
        let contentHash = try await presignedHash(of: request.body)
        let seal = try seal(at: AWSDate(skew.date(for: origin)), for: credentials)
        request.writeTarget(asObject: isForObjects)

        let target = request.head.path ?? "/"
        let fields = CanonicalRequest.signable(request.head.headerFields, host: origin.authority)
        let items = presigningItems(
            seal: seal, credentials: credentials, signedFields: CanonicalRequest.names(of: fields),
            seconds: lifetime.components.seconds)
        let canonical = CanonicalRequest(
            method: request.head.method.rawValue, target: target, fields: fields, adding: items.signed,
            contentHash: contentHash, rules: pathRules)
        let signature = try seal.signature(of: seal.stringToSign(canonical))
        let unsigned = items.unsigned.isEmpty ? "" : "&" + QueryItem.canonicalText(of: items.unsigned)
        request.head.path = "\(target.prefix { $0 != "?" })?\(canonical.query)\(unsigned)&X-Amz-Signature=\(signature)"
        guard let url = request.url else {
            throw SigningError(.missingComponent, "The request has no URL. Give it a scheme, a host and a path.")
        }
        return url
    }

    /// The items that a presigned URL has beside its signature.
    func presigningItems(
        seal: AWSSeal, credentials: AWSCredentials, signedFields: String, seconds: Int64
    ) -> (signed: [QueryItem], unsigned: [QueryItem]) {
        var items = [
            QueryItem("X-Amz-Algorithm", seal.algorithm),
            QueryItem("X-Amz-Credential", "\(seal.accessKeyID)/\(seal.scope)"), QueryItem("X-Amz-Date", seal.date.text),
            QueryItem("X-Amz-Expires", String(seconds)), QueryItem("X-Amz-SignedHeaders", signedFields),
        ]
        if case .asymmetric(let regions) = scheme { items.append(QueryItem("X-Amz-Region-Set", regions)) }
        guard let token = credentials.sessionToken.map({ QueryItem("X-Amz-Security-Token", $0) }) else {
            return (items, [])
        }
        return omitsToken ? (items, [token]) : (items + [token], [])
    }

    private func presignedHash(of body: Body) async throws -> String {
        guard !isForObjects, payload != .unsigned else { return "UNSIGNED-PAYLOAD" }
        guard body.replay > .once || body.isEmpty else {
            throw SigningError(
                .bodyReadOnce,
                "The body can be read once, and the URL covers its content. Make it from bytes or a file.")
        }
        return try await body.sha256Text()
    }
}
#endif
