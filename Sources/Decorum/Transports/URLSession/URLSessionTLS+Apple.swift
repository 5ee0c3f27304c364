#if !canImport(FoundationNetworking)
import CryptoKit
import Foundation
public import Security

extension URLSessionConnection {
    /// Creates a connection with its own session and its own options for TLS.
    ///
    /// - Parameters:
    ///   - tls: Which servers are trusted, and how the client identifies itself.
    ///   - connectionsPerHost: The largest number of connections to one host; less than 1 counts as 1.
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise. More than seven days
    ///     count as seven days; with a negative time, sending throws.
    ///   - backlog: The number of bytes of a response that may wait for a slow reader.
    ///   - clock: The clock that the idle timeout goes by.
    /// - Throws: ``TransportError`` with ``TransportError/TLSProblem/unusableRoots``,
    ///   ``TransportError/TLSProblem/unusableIdentity``, or ``TransportError/TLSProblem/wrongKey`` for a pinned key that is no
    ///   digest.
    public init(
        tls: TLSOptions,
        connectionsPerHost: Int = 6,
        idleTimeout: Duration = .seconds(60),
        backlog: Backlog = Backlog(),
        clock: any DatedClock = SystemClock()
    ) throws(TransportError) {
        try self.init(
            connectionsPerHost: connectionsPerHost, idleTimeout: idleTimeout, backlog: backlog, clock: clock,
            platform: URLSessionPlatform(URLSessionTLS(tls)))
    }
}

extension TLSOptions.Identity {
    /// A certificate and its key of the keychain.
    ///
    /// - Parameters:
    ///   - identity: The certificate with its key.
    ///   - certificates: The intermediate certificates that the server needs to find a path to its roots.
    /// - Returns: The identity.
    public static func keychain(
        _ identity: SecIdentity, certificates: [SecCertificate] = []
    ) -> TLSOptions.Identity {
        TLSOptions.Identity(
            source: .credential(
                URLCredential(identity: identity, certificates: certificates, persistence: .forSession)))
    }
}

/// Options for TLS in the form that URLSession takes.
struct URLSessionTLS: Sendable {
    let options: TLSOptions
    /// The only roots that are trusted, in the form DER; nil if the system decides.
    private let roots: [Data]?
    /// The certificate of the client for servers that ask for one.
    let credential: URLCredential?

    /// Creates options that leave everything to the system.
    init() {
        options = TLSOptions()
        roots = nil
        credential = nil
    }

    init(_ options: TLSOptions) throws(TransportError) {
        if let problem = options.problemOfPins { throw TransportError(.wrongKey, detail: problem) }
        self.options = options
        roots = try options.roots.read()
        credential = try options.identity?.credential()
    }

    var minimumVersion: tls_protocol_version_t { options.minimumVersion == .tls13 ? .TLSv13 : .TLSv12 }

    /// Whether the system decides alone, as it does without a delegate.
    var leavesTrustToSystem: Bool {
        roots == nil && options.pinnedKeys.isEmpty && !options.reportsCertificates && options.evaluateTrust == nil
    }

    /// What URLSession has to do with a server that ``evaluate(_:of:)`` accepts.
    ///
    /// With roots of the app's own, URLSession must not evaluate again with the roots of the system. Otherwise it does, with the
    /// rules of App Transport Security.
    var acceptance: URLSession.AuthChallengeDisposition { roots == nil ? .performDefaultHandling : .useCredential }

    /// Evaluates the certificates of a server, which may wait for the network.
    ///
    /// - Returns: The certificates to report.
    func evaluate(_ trust: SecTrust, of host: String) throws(TransportError) -> [Data] {
        if let roots {
            let anchors = roots.compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
            guard SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess,
                SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
            else { throw TransportError(.unusableRoots, detail: nil) }
        }
        var failure: CFError?
        guard unsafe SecTrustEvaluateWithError(trust, &failure) else {
            throw TransportError(
                failure.map { .init(trustStatus: CFErrorGetCode($0)) } ?? .unverified,
                detail: failure?.localizedDescription)
        }
        let certificates = SecTrustCopyCertificateChain(trust) as? [SecCertificate] ?? []
        let chain = certificates.map { SecCertificateCopyData($0) as Data }
        guard options.admits(chain, digest: { Data(SHA256.hash(data: $0)) }) else {
            throw TransportError(.wrongKey, detail: nil)
        }
        guard options.evaluateTrust?(trust, host) != false else { throw TransportError(.unverified, detail: nil) }
        return options.reportsCertificates ? Array(chain.prefix(ResponseMetadata.certificateLimit)) : []
    }
}

extension TLSOptions.Roots {
    /// The certificates in the form DER; nil if the system decides.
    fileprivate func read() throws(TransportError) -> [Data]? {
        let text: String
        switch source {
        case .system: return nil
        case .pem(let pem): text = pem
        case .locations(let file, _):
            do {
                text = String(decoding: try Data(contentsOf: URL(filePath: file ?? "")), as: UTF8.self)
            } catch {
                throw TransportError(.unusableRoots, detail: error.localizedDescription)
            }
        }
        guard let certificates = [Data](pemCertificates: text),
            certificates.allSatisfy({ SecCertificateCreateWithData(nil, $0 as CFData) != nil })
        else { throw TransportError(.unusableRoots, detail: "no certificates in the PEM format") }
        return certificates
    }
}

extension TLSOptions.Identity {
    fileprivate func credential() throws(TransportError) -> URLCredential {
        switch source {
        case .credential(let credential): return credential
        case .files, .pem:
            throw TransportError(
                .unusableIdentity,
                detail: "URLSession takes it as `pkcs12` or from the `keychain`, not in the PEM format")
        case .pkcs12(let data):
            let options: [String: Any] = [
                kSecImportExportPassphrase as String: password?.value ?? "", kSecImportToMemoryOnly as String: true,
            ]
            var items: CFArray?
            let status = unsafe SecPKCS12Import(data.value as CFData, options as CFDictionary, &items)
            guard status == errSecSuccess, let item = (items as? [[String: Any]])?.first,
                let identity = item[kSecImportItemIdentity as String].map({ $0 as CFTypeRef }),
                CFGetTypeID(identity) == SecIdentityGetTypeID()
            else {
                throw TransportError(
                    .unusableIdentity, detail: "the PKCS#12 file or its password is wrong, as status \(status) says")
            }
            let path = item[kSecImportItemCertChain as String] as? [SecCertificate] ?? []
            // Core Foundation's types have no checked casts; the type was compared above.
            return URLCredential(
                identity: unsafe unsafeDowncast(identity, to: SecIdentity.self), certificates: Array(path.dropFirst()),
                persistence: .forSession)
        }
    }
}

extension TransportError {
    /// Creates the error for a connection that is not made.
    fileprivate init(_ problem: TLSProblem, detail: String?) {
        self.init(.tls, at: .connecting)
        tlsProblem = problem
        self.detail = detail
    }
}
#endif
