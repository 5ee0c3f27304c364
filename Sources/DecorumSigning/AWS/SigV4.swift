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
    enum Scheme: Sendable {
        case symmetric(region: String)
        case asymmetric(regions: String)

        /// The region, or the regions of Signature Version 4A.
        var regions: String {
            switch self {
            case .symmetric(let regions), .asymmetric(let regions): regions
            }
        }
    }

    let service: String
    let scheme: Scheme
    let payload: AWSPayload
    let skew: ClockSkew
    private let source: any AWSCredentialSource
    /// Credentials that need no wait, which most requests have.
    private let atHand: @Sendable () -> AWSCredentials?
    private let watch: TimeLimitWatch
    private let keys = DerivedKeys()

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
        self.init(service, .symmetric(region: region), credentials, payload, clock)
    }

    init(
        _ service: String, _ scheme: Scheme, _ source: any AWSCredentialSource, _ payload: AWSPayload,
        _ clock: any DatedClock
    ) {
        self.service = service
        self.scheme = scheme
        self.source = source
        if let credentials = source as? AWSCredentials {
            atHand = { credentials }
        } else if let chain = source as? AWSCredentialChain {
            atHand = { chain.fresh }
        } else {
            atHand = { nil }
        }
        self.payload = payload
        skew = ClockSkew(clock: clock)
        watch = TimeLimitWatch(clock: clock)
    }

    /// `Authorization` and `X-Amz-Security-Token`.
    public var secretFields: Set<HTTPField.Name> { Self.fields }
    private static let fields: Set<HTTPField.Name> = [.authorization, .amzSecurityToken]

    /// Learns the clock of the server.
    public func learn(from answer: AuthenticationAnswer) async { skew.learn(from: answer) }
}

extension SigV4: SecretHolder {
    /// The service and the regions.
    public var description: String { "a signer for \(service) in \(scheme.regions)" }
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
        case chunks(Checksum?)
        case unsignedChunks(Checksum)
    }

    let form: Form

    /// The hash of the content; for S3, ``signedChunks(checksum:)`` of a body that can be read once; by default.
    public static let automatic = AWSPayload(form: .automatic)

    /// `UNSIGNED-PAYLOAD`: the content is not covered, so send it over `https` alone.
    public static let unsigned = AWSPayload(form: .unsigned)

    /// Each chunk of 64 KiB is signed while it is sent, and the checksum too.
    ///
    /// Only S3 knows this form, and it wants to know the length. Signature Version 4A sends ``unsignedChunks(checksum:)``
    /// in its place.
    ///
    /// - Parameter checksum: The checksum that follows the content; nil for content without one.
    /// - Returns: The payload.
    public static func signedChunks(checksum: Checksum? = nil) -> AWSPayload { AWSPayload(form: .chunks(checksum)) }

    /// The content is not signed, and a checksum follows it, so send it over `https` alone.
    ///
    /// Only S3 knows this form, and it wants to know the length.
    ///
    /// - Parameter checksum: The checksum.
    /// - Returns: The payload.
    public static func unsignedChunks(checksum: Checksum = .crc32) -> AWSPayload {
        AWSPayload(form: .unsignedChunks(checksum))
    }
}

extension SigV4 {
    private static let objectServices: Set<String> = ["s3", "s3express", "s3-outposts", "s3-object-lambda"]

    var isForObjects: Bool { Self.objectServices.contains(service) }
    var pathRules: CanonicalRequest.PathRules { isForObjects ? .objects : .init() }
    /// Whether the session token is added after the signature, as devices of AWS IoT do.
    var omitsToken: Bool { service == "iotdevicegateway" }

    /// The content hash, or the chunks that are signed later.
    fileprivate enum Content {
        case hash(String)
        case chunks(isSigned: Bool, AWSPayload.Checksum?, length: Int64)
    }

    /// Signs a request, as the layer asks.
    ///
    /// - Parameter request: The request.
    /// - Returns: The request with its signature.
    /// - Throws: ``SigningError``, a `CredentialSourceError` with the error of the source, or the error of the body.
    public func sign(_ request: Request) async throws -> Request {
        try check()
        var request = request
        let origin = try Origin(request.head)
        let credentials = try await credentials(for: request, to: origin)
        let content = try await content(of: request.body)
        // The waits are over: a date that was taken before them could be too old.
        let seal = try seal(at: AWSDate(skew.date(for: origin)), for: credentials)
        let contentHash = request.announce(content, isRequired: isForObjects || payload != .automatic)
        request.writeTarget(asObject: isForObjects)
        request.head.headerFields[.amzDate] = seal.date.text
        if case .asymmetric(let regions) = scheme { request.head.headerFields[.amzRegionSet] = regions }
        request.head.headerFields[.amzSecurityToken] = omitsToken ? nil : credentials.sessionToken

        let canonical = CanonicalRequest(
            method: request.head.method.rawValue, target: request.head.path ?? "/",
            fields: CanonicalRequest.signable(request.head.headerFields, host: origin.authority),
            contentHash: contentHash, rules: pathRules)
        let signature = try seal.signature(of: seal.stringToSign(canonical))
        request.head.headerFields[.amzSecurityToken] = credentials.sessionToken
        request.head.headerFields[.authorization] =
            "\(seal.algorithm) Credential=\(seal.accessKeyID)/\(seal.scope), SignedHeaders=\(canonical.signedFields), "
            + "Signature=\(signature)"
        if case .chunks(let isSigned, let checksum, let length) = content {
            let form = SignedChunks(seal: isSigned ? seal : nil, checksum: checksum, seed: signature)
            request.body = request.body.inChunks(of: form, length: length)
        }
        return request
    }

    /// The configuration must not break the line of the signature, nor its scope.
    func check() throws(SigningError) {
        let isValid = [service, scheme.regions].allSatisfy { text in
            !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
        }
        guard isValid else {
            throw SigningError(
                .invalidConfiguration,
                "The name of the service or the region is empty or has characters that no name has. Correct the signer."
            )
        }
    }

    /// The key for a date.
    func seal(at date: AWSDate, for credentials: AWSCredentials) throws -> AWSSeal {
        let scope =
            switch scheme {
            case .symmetric(let region): "\(date.day)/\(region)/\(service)/aws4_request"
            case .asymmetric: "\(date.day)/\(service)/aws4_request"
            }
        let key = try keys.key(scope: scope, credentials: credentials) {
            switch scheme {
            case .symmetric(let region):
                .symmetric(.aws4(credentials, day: date.day, region: region, service: service))
            case .asymmetric: .asymmetric(try .aws4a(credentials))
            }
        }
        return AWSSeal(key: key, date: date, scope: scope, accessKeyID: credentials.accessKeyID)
    }

    /// Asks the source, until the deadline of the request.
    func credentials(for request: Request, to origin: Origin) async throws -> AWSCredentials {
        if let credentials = atHand() { return credentials }
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

    private func content(of body: Body) async throws -> Content {
        switch payload.form {
        case .unsigned: return .hash("UNSIGNED-PAYLOAD")
        case .automatic:
            if body.replay > .once || body.isEmpty { return .hash(try await body.sha256Text()) }
            guard isForObjects else {
                throw SigningError(
                    .bodyReadOnce,
                    "The body can be read once, and \(service) wants the hash of its content before it. Make it from bytes "
                        + "or a file.")
            }
            return try chunks(of: body, isSigned: true, checksum: nil)
        case .chunks(let checksum): return try chunks(of: body, isSigned: true, checksum: checksum)
        case .unsignedChunks(let checksum): return try chunks(of: body, isSigned: false, checksum: checksum)
        }
    }

    private func chunks(of body: Body, isSigned: Bool, checksum: AWSPayload.Checksum?) throws(SigningError) -> Content {
        guard isForObjects else {
            throw SigningError(
                .invalidConfiguration, "\(service) knows no signed chunks. Use `.automatic` or `.unsigned`.")
        }
        guard let length = body.length else {
            throw SigningError(
                .bodyReadOnce, "S3 wants the length of content in chunks before it. Give the body its length.")
        }
        guard case .asymmetric = scheme else { return .chunks(isSigned: isSigned, checksum, length: length) }
        return .chunks(isSigned: false, checksum ?? .crc32, length: length)
    }
}

extension Request {
    /// Writes the fields that say how the content is covered.
    ///
    /// - Returns: The hash of the content, or the word in place of it.
    fileprivate mutating func announce(_ content: SigV4.Content, isRequired: Bool) -> String {
        switch content {
        case .hash(let hash):
            // A field of the caller could have the hash of other content.
            if isRequired || head.headerFields.contains(.amzContentHash) { head.headerFields[.amzContentHash] = hash }
            return hash
        case .chunks(let isSigned, let checksum, let length):
            let word =
                isSigned
                ? "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" + (checksum == nil ? "" : "-TRAILER")
                : "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
            head.headerFields[.amzContentHash] = word
            head.headerFields[.amzDecodedLength] = String(length)
            head.headerFields[.amzTrailer] = checksum?.fieldName
            let coding = head.headerFields[.contentEncoding]
            head.headerFields[.contentEncoding] = "aws-chunked" + (coding.map { ",\($0)" } ?? "")
            // The transport announces the length of what it sends.
            head.headerFields[.contentLength] = nil
            return word
        }
    }

    /// Writes the path and the query in the form that the service reads in one way only.
    mutating func writeTarget(asObject: Bool) {
        let target = head.path ?? "/"
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        let path = asObject ? CanonicalRequest.path(target[..<mark], rules: .objects) : String(target[..<mark])
        head.path = path + target[mark...].replacing("+", with: "%2B")
    }
}

extension Body {
    /// The content up to this size is hashed where the caller runs, in about 0.1 ms.
    private static let smallContent = 64 << 10

    /// The SHA-256 of the content, in hexadecimal digits.
    func sha256Text() async throws -> String {
        if isEmpty { return "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" }
        if let bytes, bytes.count <= Self.smallContent { return SHA256.hash(data: bytes).hexText }
        return try await hashed()
    }

    @concurrent private func hashed() async throws -> String {
        var hash = SHA256()
        var reader = try await open()
        while let chunk = try await reader.next() { hash.update(data: chunk) }
        return hash.finalize().hexText
    }
}

extension SymmetricKey {
    /// The key of a day, a region and a service.
    static func aws4(_ credentials: AWSCredentials, day: String, region: String, service: String) -> SymmetricKey {
        var key = SymmetricKey(data: Data("AWS4\(credentials.secretAccessKey)".utf8))
        for text in [day, region, service, "aws4_request"] {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key))
        }
        return key
    }
}

/// The key that was derived last, which stays the same for a day.
private final class DerivedKeys: Sendable {
    private struct Entry {
        let scope: String
        let credentials: AWSCredentials
        let key: AWSSeal.Key
    }

    private let last = Mutex<Entry?>(nil)

    func key(scope: String, credentials: AWSCredentials, derive: () throws -> AWSSeal.Key) rethrows -> AWSSeal.Key {
        let known = last.withLock { $0 }
        if let known, known.scope == scope, known.credentials == credentials { return known.key }
        let key = try derive()
        last.withLock { $0 = Entry(scope: scope, credentials: credentials, key: key) }
        return key
    }
}

// swift-format-ignore: NeverForceUnwrap
extension HTTPField.Name {
    static let amzDate = HTTPField.Name("X-Amz-Date")!
    static let amzRegionSet = HTTPField.Name("X-Amz-Region-Set")!
    static let amzSecurityToken = HTTPField.Name("X-Amz-Security-Token")!
    fileprivate static let amzContentHash = HTTPField.Name("X-Amz-Content-SHA256")!
    fileprivate static let amzDecodedLength = HTTPField.Name("X-Amz-Decoded-Content-Length")!
    fileprivate static let amzTrailer = HTTPField.Name("X-Amz-Trailer")!
}
#endif
