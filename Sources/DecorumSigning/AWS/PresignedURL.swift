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
    /// The lifetime is a second to seven days, in whole seconds; by default 15 minutes.
    ///
    /// - Throws: ``SigningError``, also for another lifetime, and as for `sign(_:)`.
    public func presigned(_ request: Request, for lifetime: Duration = .seconds(900)) async throws -> URL {
        guard Self.lifetimes.contains(lifetime) else {
            throw SigningError(
                .invalidConfiguration, "A presigned URL is valid for a second to seven days. Give it such a lifetime.")
        }
        var request = request
        let origin = try Origin(request.head)
        let credentials = try await credentials(for: request, to: origin)
        let hash = isForObjects ? "UNSIGNED-PAYLOAD" : try await content(of: request.body).hash
        let seal = try seal(at: skew.date(for: origin), for: credentials)
        request.writeTarget(asObject: isForObjects)

        let target = request.head.path ?? "/"
        let fields = CanonicalRequest.signable(request.head.headerFields, host: origin.authority)
        let items = presigningItems(
            seal: seal, token: credentials.sessionToken, signedFields: CanonicalRequest.names(of: fields),
            seconds: lifetime.components.seconds)
        let canonical = CanonicalRequest(
            method: request.head.method.rawValue, target: target, fields: fields, adding: items.signed,
            contentHash: hash, path: pathForm)
        let unsigned = items.unsigned.isEmpty ? "" : "&" + QueryItem.canonicalText(of: items.unsigned)
        let signature = try seal.signature(of: canonical.hash)
        let path = String(Substring(target.utf8.prefix { $0 != UInt8(ascii: "?") }))
        let parts = [UInt8](joining: path, "?", canonical.query, unsigned, "&X-Amz-Signature=", signature)
        request.head.path = String(decoding: parts, as: UTF8.self)
        guard let url = request.url else {
            throw SigningError(.missingComponent, "The request has no URL. Give it a scheme, a host and a path.")
        }
        return url
    }

    /// The items that a presigned URL has beside its signature.
    func presigningItems(
        seal: AWSSeal, token: String?, signedFields: String, seconds: Int64
    ) -> (signed: [QueryItem], unsigned: [QueryItem]) {
        let items = [
            QueryItem("X-Amz-Algorithm", seal.algorithm),
            QueryItem("X-Amz-Credential", "\(seal.accessKeyID)/\(seal.scope)"), QueryItem("X-Amz-Date", seal.date),
            QueryItem("X-Amz-Expires", String(seconds)), QueryItem("X-Amz-SignedHeaders", signedFields),
        ]
        let regionSet = isAsymmetric ? [QueryItem("X-Amz-Region-Set", regions)] : []
        let tokens = token.map { [QueryItem("X-Amz-Security-Token", $0)] } ?? []
        return omitsToken ? (items + regionSet, tokens) : (items + regionSet + tokens, [])
    }
}
#endif
