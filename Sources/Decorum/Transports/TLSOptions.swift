public import Foundation

#if !canImport(FoundationNetworking)
public import Security
#endif

/// Which servers are trusted, and how the client identifies itself: one value for libcurl and for URLSession.
///
/// ```swift
/// var tls = TLSOptions()
/// tls.roots = .file(URL(filePath: "/etc/company/roots.pem"))
/// tls.pinnedKeys = keys  // SHA-256 of each public key, of which one has to fit
/// tls.identity = .pkcs12(file, password: password)
/// let connection = try SystemConnection(tls: tls)
///     .retrying()
/// ```
///
/// URLSession on Linux can keep none of these options, so no connection there takes them. On Apple's systems, the
/// app's Info.plist has to allow roots that the system does not trust (`NSExceptionAllowsInsecureHTTPLoads`, or
/// `NSAllowsLocalNetworking`), and further rules can be set as `evaluateTrust`.
public struct TLSOptions: Sendable {
    /// A version of TLS.
    public struct Version: Sendable, Hashable, CustomStringConvertible {
        /// The version, as in `TLS 1.2`.
        public let description: String

        /// TLS 1.2.
        public static let tls12 = Version(description: "TLS 1.2")
        /// TLS 1.3.
        public static let tls13 = Version(description: "TLS 1.3")
    }

    /// The root certificates to which a server's certificate must lead.
    public struct Roots: Sendable, Hashable {
        enum Source: Sendable, Hashable {
            case system
            case pem(String)
            /// A file, a folder of files named by the hash of their certificate, or both.
            case locations(file: String?, folder: String?)
        }

        let source: Source

        /// The certificates that the system trusts; on Linux, those that its libcurl was built to use.
        public static let system = Roots(source: .system)

        /// Only the certificates of a file.
        ///
        /// libcurl reads the file for each connection that it opens, and URLSession once, when the transport is created.
        ///
        /// - Parameter file: The URL of a file in the PEM format.
        /// - Returns: The roots.
        public static func file(_ file: URL) -> Roots { Roots(source: .locations(file: file.path, folder: nil)) }

        /// Only the certificates of a text; Debian's build of libcurl with GnuTLS does not support this.
        ///
        /// - Parameter text: The certificates in the PEM format.
        /// - Returns: The roots.
        public static func pem(_ text: String) -> Roots { Roots(source: .pem(text)) }
    }

    /// A client certificate and its key, which are shown to a server that asks for them.
    ///
    /// URLSession takes them from a PKCS#12 file, or as `keychain(_:certificates:)`, which Apple's systems have; it refuses
    /// those in the PEM format when the transport is created.
    public struct Identity: Sendable {
        enum Source: Sendable {
            case files(certificate: URL, key: URL)
            case pem(certificate: String, key: Secret<String>)
            case pkcs12(Secret<Data>)
            #if !canImport(FoundationNetworking)
            case credential(URLCredential)
            #endif
        }

        let source: Source
        let password: Secret<String>?

        init(source: Source, password: String? = nil) {
            self.source = source
            self.password = password.map { Secret(value: $0) }
        }

        /// A certificate and its key in files; only libcurl supports this.
        ///
        /// - Parameters:
        ///   - certificate: The URL of a file in the PEM format; intermediate certificates may follow the client's.
        ///   - key: The URL of a file in the PEM format.
        ///   - password: The password with which the key is encrypted; nil where it is not.
        /// - Returns: The identity.
        public static func files(certificate: URL, key: URL, password: String? = nil) -> Identity {
            Identity(source: .files(certificate: certificate, key: key), password: password)
        }

        /// A certificate and its key in memory; only libcurl supports this, but not Debian's build of it with GnuTLS.
        ///
        /// - Parameters:
        ///   - certificate: The certificate in the PEM format; intermediate certificates may follow.
        ///   - key: The key in the PEM format.
        ///   - password: The password with which the key is encrypted; nil where it is not.
        /// - Returns: The identity.
        public static func pem(certificate: String, key: String, password: String? = nil) -> Identity {
            Identity(source: .pem(certificate: certificate, key: Secret(value: key)), password: password)
        }

        /// A certificate and its key in the form PKCS#12 (RFC 7292); Debian's build of libcurl with GnuTLS does not support
        /// this.
        ///
        /// libcurl notices a wrong password when it connects, and URLSession when the transport is created.
        ///
        /// - Parameters:
        ///   - data: The bytes of a file that ends with `.p12` or `.pfx`.
        ///   - password: The password of the file.
        /// - Returns: The identity.
        public static func pkcs12(_ data: Data, password: String) -> Identity {
            Identity(source: .pkcs12(Secret(value: data)), password: password)
        }
    }

    /// The lowest version that is accepted.
    public var minimumVersion = Version.tls12
    /// The root certificates to which a server's certificate must lead.
    public var roots = Roots.system
    /// The SHA-256 digests of the public keys that a server may have; empty for any key that is trusted.
    ///
    /// A digest is that of the key's `SubjectPublicKeyInfo` (RFC 7469, section 2.4); a value that has not its 32 bytes is
    /// refused when the transport is created. The key of the server's own certificate counts, not those of its issuers, and
    /// the certificate must lead to the roots as well.
    public var pinnedKeys: [Data] = []
    /// The certificate that is shown to a server that asks for one; nil for none.
    public var identity: Identity?
    /// Whether responses have the certificates of their server in ``ResponseMetadata/serverCertificates``; by default, not.
    ///
    /// It takes time in each handshake. A build of libcurl whose TLS library cannot do it refuses the option.
    public var reportsCertificates = false
    #if !canImport(FoundationNetworking)
    /// Returns whether a server is trusted that the roots and the pinned keys already admit; nil where they decide alone.
    ///
    /// It is called once for each connection, with a host, on a thread that may wait.
    public var evaluateTrust: (@Sendable (_ trust: SecTrust, _ host: String) -> Bool)?
    #endif

    /// Creates options that trust the servers that the system trusts.
    public init() {}
}

extension TLSOptions {
    /// A sentence about a pinned key that fits no server; nil where there is none.
    var problemOfPins: String? {
        pinnedKeys.allSatisfy { $0.count == 32 } ? nil : "A pinned key is no SHA-256 digest, which has 32 bytes."
    }

    /// The settings that a transport shows in its layer.
    var settings: [Layer.Setting] {
        [.init("minimumVersion", minimumVersion)] + (pinnedKeys.isEmpty ? [] : [.init("pinnedKeys", pinnedKeys.count)])
    }

    /// Whether the first certificate of a chain, which is the server's own, has one of the pinned keys.
    ///
    /// - Parameters:
    ///   - chain: The certificates in the form DER.
    ///   - digest: Returns the SHA-256 digest of bytes.
    /// - Returns: Whether it has; true where no keys are pinned.
    func admits(_ chain: [Data], digest: (Data) -> Data) -> Bool {
        guard !pinnedKeys.isEmpty else { return true }
        guard let key = chain.first?.subjectPublicKeyInfo else { return false }
        return pinnedKeys.contains(digest(key))
    }
}
