#if Signing
import Crypto
public import Decorum
import Foundation
public import HTTPTypes
import Synchronization

/// AWS Signature Version 4: signs requests for one service of AWS, or one that speaks its protocol, in one region.
///
/// ```swift
/// let connection = SystemConnection()
///     .authenticating(with: .signer(SigV4(service: "s3", region: "eu-west-1", credentials: keys)), for: api)
///     .retrying()
/// ```
///
/// Each attempt is signed anew, after all queues and with the date of its server: the clock of the server is learnt from its
/// responses, so an attempt after one that was refused for a wrong clock has the right date. The hash of the content is a
/// part of the signature. A body that can be read once is signed chunk by chunk while S3 receives it; for every other service
/// it throws ``SigningError``, before anything is sent.
///
/// S3 gets the path of its key in one canonical encoding, whatever the URL has; a `+` in a query is sent as `%2B`, since AWS
/// would read a blank. Fields that proxies may change, such as `User-Agent`, and `Cookie`, are sent unsigned.
public struct SigV4: RequestSigner {
    private static let objectServices: Set<String> = ["s3", "s3express", "s3-outposts", "s3-object-lambda"]

    let service: String
    /// The region, or the regions of Signature Version 4A with commas between them.
    let regions: String
    let isForObjects: Bool
    /// What follows the day in a scope.
    private var scopeEnd: String
    /// Whether the configuration breaks neither the line of the signature nor its scope.
    private let isValid: Bool
    /// Whether the signatures are of Signature Version 4A.
    private(set) var isAsymmetric = false
    let payload: AWSPayload
    let skew: ClockSkew
    private let source: any AWSCredentialSource
    private let fixed: AWSCredentials?
    private let watch: TimeLimitWatch
    private let lastKey = LastKey()

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - service: The name of the service in signatures, such as `s3`, `dynamodb` or `execute-api`.
    ///   - region: The region, such as `eu-west-1`.
    ///   - credentials: The credentials, or the source that is asked for each attempt, such as ``AWSCredentialChain``.
    ///   - payload: How the content is covered.
    ///   - clock: The clock of the dates and of the wait for credentials; it must be that of the transport.
    public init(
        service: String, region: String, credentials: some AWSCredentialSource, payload: AWSPayload = .automatic,
        clock: any DatedClock = SystemClock()
    ) {
        self.service = service
        regions = region
        isForObjects = Self.objectServices.contains(service)
        scopeEnd = "/\(region)/\(service)/aws4_request"
        isValid = [service, region].allSatisfy { text in
            !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
        }
        source = credentials
        fixed = credentials as? AWSCredentials
        self.payload = payload
        skew = ClockSkew(clock: clock)
        watch = TimeLimitWatch(clock: clock)
    }

    /// Creates a signer of AWS Signature Version 4A, whose signatures several regions accept, as multi-region access points of
    /// S3 demand it.
    ///
    /// A key of ECDSA over the curve P-256 is derived from the secret key. Chunks have no signatures of their own. The regions
    /// may have asterisks, such as `eu-*`, or `*` for all; the other parameters are the ones of Signature Version 4.
    public init(
        service: String, regions: [String], credentials: some AWSCredentialSource, payload: AWSPayload = .automatic,
        clock: any DatedClock = SystemClock()
    ) {
        self.init(
            service: service, region: regions.joined(separator: ","), credentials: credentials, payload: payload,
            clock: clock)
        isAsymmetric = true
        scopeEnd = "/\(service)/aws4_request"
    }

    /// `Authorization` and `X-Amz-Security-Token`.
    public var secretFields: Set<HTTPField.Name> { Self.fields }
    private static let fields: Set<HTTPField.Name> = [.authorization, .amzSecurityToken]
    /// `.waits`, unless the credentials are given as a value.
    public var facts: Set<Layer.Fact> { source is AWSCredentials ? [] : [.waits] }

    /// Learns the clock of the server.
    public func learn(from answer: AuthenticationAnswer) async { skew.learn(from: answer) }

    /// Signs a request, or throws ``SigningError``, a `CredentialSourceError` with the error of the source, or that of the body.
    public func sign(_ request: Request) async throws -> Request {
        var request = request
        let origin = try Origin(request.head)
        let credentials = try await credentials(for: request, to: origin)
        let (hash, chunks) = try await content(of: request.body)
        // The waits are over: a date that was taken before them could be too old.
        let seal = try seal(at: skew.date(for: origin), for: credentials)
        // A field of the caller could have the hash of other content.
        if isForObjects || payload != .automatic || request.head.headerFields.contains(.amzContentHash) {
            request.head.headerFields[.amzContentHash] = hash
        }
        chunks?.announce(in: &request.head.headerFields)
        request.writeTarget(asObject: isForObjects)
        request.head.headerFields[.amzDate] = seal.date
        if isAsymmetric { request.head.headerFields[.amzRegionSet] = regions }
        request.head.headerFields[.amzSecurityToken] = omitsToken ? nil : credentials.sessionToken

        let canonical = CanonicalRequest(
            method: request.head.method.rawValue, target: request.head.path ?? "/",
            fields: CanonicalRequest.signable(request.head.headerFields, host: origin.authority), contentHash: hash,
            path: pathForm)
        let signature = try seal.signature(of: canonical.hash)
        request.head.headerFields[.amzSecurityToken] = credentials.sessionToken
        let parts = [UInt8](
            joining: seal.algorithm, " Credential=", seal.accessKeyID, "/", seal.scope, ", SignedHeaders=",
            canonical.signedFields, ", Signature=", signature)
        request.head.headerFields[.authorization] = String(decoding: parts, as: UTF8.self)
        if let chunks { request.body = request.body.inChunks(of: chunks, seal: seal, seed: signature) }
        return request
    }
}

extension SigV4: SecretHolder {
    /// The service and the regions.
    public var description: String { "a signer for \(service) in \(regions)" }
}

/// How a signature of AWS covers the content of a request.
public struct AWSPayload: Sendable, Hashable {
    /// A checksum that follows the content, which S3 stores with the object.
    public enum Checksum: String, Sendable, Hashable, CaseIterable {
        /// CRC-32, as in `zip`.
        case crc32
        /// CRC-32C (Castagnoli).
        case crc32c
        /// SHA-256.
        case sha256
    }

    enum Form: Hashable {
        case automatic
        case unsigned
        case chunks(Checksum?, isSigned: Bool)
    }

    let form: Form

    /// The hash of the content; for S3, ``signedChunks(checksum:)`` of a body that can be read once; by default.
    public static let automatic = AWSPayload(form: .automatic)

    /// `UNSIGNED-PAYLOAD`: the content is not covered, so send it over `https` alone.
    public static let unsigned = AWSPayload(form: .unsigned)

    /// Each chunk of 64 KiB is signed while it is sent, and the checksum that may follow the content too.
    ///
    /// Only S3 knows this form, and it wants to know the length. Signature Version 4A does not, and throws; its ``automatic``
    /// payload of a body that can be read once is ``unsignedChunks(checksum:)``.
    public static func signedChunks(checksum: Checksum? = nil) -> AWSPayload {
        AWSPayload(form: .chunks(checksum, isSigned: true))
    }

    /// The content is not signed, and a checksum follows it, so send it over `https` alone.
    ///
    /// Only S3 knows this form, and it wants to know the length.
    public static func unsignedChunks(checksum: Checksum = .crc32) -> AWSPayload {
        AWSPayload(form: .chunks(checksum, isSigned: false))
    }
}

extension SigV4 {
    var pathForm: CanonicalRequest.PathForm { isForObjects ? .object : .normalized }
    /// Whether the session token is added after the signature, as devices of AWS IoT do.
    var omitsToken: Bool { service == "iotdevicegateway" }

    /// The key for a date.
    func seal(at date: Date, for credentials: AWSCredentials) throws -> AWSSeal {
        guard isValid else {
            throw SigningError(
                .invalidConfiguration,
                "The name of the service or the region is empty or has characters that no name has. Correct the signer."
            )
        }
        let date = date.amzText
        let day = String(Substring(date.utf8.prefix(8)))
        let (scope, key) = try lastKey.value.withLock { last in
            if let last, last.scope.hasPrefix(day), last.credentials == credentials { return (last.scope, last.key) }
            let scope = day + scopeEnd
            let key: AWSSeal.Key = try isAsymmetric ? .ecdsa(.aws4a(credentials)) : .init(credentials, scope: scope)
            last = (scope, credentials, key)
            return (scope, key)
        }
        return AWSSeal(
            algorithm: isAsymmetric ? "AWS4-ECDSA-P256-SHA256" : "AWS4-HMAC-SHA256", date: date, scope: scope,
            accessKeyID: credentials.accessKeyID, key: key)
    }

    /// Asks the source, until the deadline of the request.
    func credentials(for request: Request, to origin: Origin) async throws -> AWSCredentials {
        // Most requests need no wait.
        let atHand = fixed ?? (source as? AWSCredentialChain)?.atHand
        if let atHand { return atHand }
        let given: AWSCredentials??
        do {
            given = try await watch.leavableValue(until: request.options.deadline) { [source] in
                try await source.credentials()
            }
        } catch {
            guard !Task.isCancelled else { throw CancellationError() }
            throw CredentialSourceError(origin: origin, underlying: error)
        }
        try Task.checkCancellation()
        guard let given else { throw CredentialSourceError(origin: origin, underlying: nil) }
        guard let credentials = given else {
            throw SigningError(
                .noCredentials,
                "The source has no AWS credentials. Set them in the environment, in a profile or in code.")
        }
        return credentials
    }

    /// The hash of the content, or the word in place of it, and the chunks that are signed later.
    func content(of body: Body) async throws -> (hash: String, chunks: SignedChunks?) {
        let (given, isSigned): (AWSPayload.Checksum?, Bool)
        switch payload.form {
        case .unsigned: return ("UNSIGNED-PAYLOAD", nil)
        case _ where body.isEmpty: return (SHA256.emptyText, nil)
        case .automatic where body.replay > .once: return (try await body.sha256().hexText, nil)
        case .automatic where !isForObjects:
            throw SigningError(
                .bodyReadOnce,
                "The body can be read once, and \(service) wants the hash of its content before it. Make it from bytes "
                    + "or a file.")
        case .automatic: (given, isSigned) = (nil, true)
        case .chunks(let checksum, let signed): (given, isSigned) = (checksum, signed)
        }
        guard isForObjects, !isSigned || !isAsymmetric || payload == .automatic else {
            let reader = isForObjects ? "Signature Version 4A" : service
            throw SigningError(
                .invalidConfiguration, "\(reader) knows no signed chunks. Use `.automatic` or another payload.")
        }
        guard let length = body.length else {
            throw SigningError(
                .bodyReadOnce, "S3 wants the length of content in chunks before it. Give the body its length.")
        }
        let checksum = given ?? (isAsymmetric ? .crc32 : nil)
        let chunks = SignedChunks(isSigned: isSigned && !isAsymmetric, checksum: checksum, length: length)
        return (chunks.word, chunks)
    }
}

extension Request {
    /// Writes the path and the query in the form that the service reads in one way only.
    mutating func writeTarget(asObject: Bool) {
        let target = Array((head.path ?? "/").utf8)
        guard asObject || head.path == nil || target.contains(UInt8(ascii: "+")) else { return }
        let mark = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        let path = asObject ? CanonicalRequest.path(target[..<mark], as: .object)[...] : target[..<mark]
        let query = String(decoding: target[mark...], as: UTF8.self).replacing("+", with: "%2B")
        head.path = String(decoding: path, as: UTF8.self) + query
    }
}

extension SHA256 {
    /// The hash of no content.
    static let emptyText = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
}

/// The key that was derived last, which stays the same for a day.
private final class LastKey: Sendable {
    let value = Mutex<(scope: String, credentials: AWSCredentials, key: AWSSeal.Key)?>(nil)
}

// swift-format-ignore: NeverForceUnwrap
extension HTTPField.Name {
    static let amzDate = HTTPField.Name("X-Amz-Date")!
    static let amzRegionSet = HTTPField.Name("X-Amz-Region-Set")!
    static let amzSecurityToken = HTTPField.Name("X-Amz-Security-Token")!
    static let amzContentHash = HTTPField.Name("X-Amz-Content-SHA256")!
    static let amzDecodedLength = HTTPField.Name("X-Amz-Decoded-Content-Length")!
    static let amzTrailer = HTTPField.Name("X-Amz-Trailer")!
}
#endif
