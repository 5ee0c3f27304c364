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

        /// The certificates that the system trusts; on Linux, the certificates that its libcurl was built to use.
        public static let system = Roots(source: .system)

        /// Only the certificates of a file in the PEM format.
        ///
        /// libcurl reads the file for each connection that it opens, and URLSession once, when the transport is created.
        public static func file(_ file: URL) -> Roots { Roots(source: .locations(file: file.path, folder: nil)) }

        /// Only the certificates of a text in the PEM format; Debian's build of libcurl with GnuTLS does not support this.
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

        /// A certificate and its key in files in the PEM format; only libcurl supports this.
        ///
        /// Intermediate certificates may follow the client's. A password is that with which the key is encrypted.
        public static func files(certificate: URL, key: URL, password: String? = nil) -> Identity {
            Identity(source: .files(certificate: certificate, key: key), password: password)
        }

        /// A certificate and its key in memory in the PEM format; only libcurl supports this, but not its build with GnuTLS.
        ///
        /// Intermediate certificates may follow the client's. A password is that with which the key is encrypted.
        public static func pem(certificate: String, key: String, password: String? = nil) -> Identity {
            Identity(source: .pem(certificate: certificate, key: Secret(value: key)), password: password)
        }

        /// The bytes of a PKCS#12 file (RFC 7292) with a certificate and its key; libcurl with GnuTLS does not support it.
        ///
        /// libcurl notices a wrong password when it connects, and URLSession when the transport is created.
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
    /// refused when the transport is created. The key of the server's own certificate counts, not the keys of its issuers, and
    /// the certificate must lead to the roots as well.
    public var pinnedKeys: [Data] = []
    /// The certificate that is shown to a server that asks for one; nil to show no certificate.
    public var identity: Identity?
    /// Whether responses have the certificates of their server in ``ResponseMetadata/serverCertificates``; by default, not.
    ///
    /// It takes time in each handshake. A build of libcurl whose TLS library cannot do it refuses the option.
    public var reportsCertificates = false
    #if !canImport(FoundationNetworking)
    /// Returns whether a server is trusted that the roots and the pinned keys already admit; nil if they decide alone.
    ///
    /// It is called once for each connection, with a host, on a thread that may wait.
    public var evaluateTrust: (@Sendable (_ trust: SecTrust, _ host: String) -> Bool)?
    #endif

    /// Creates options that trust the servers that the system trusts.
    public init() {}
}

extension TLSOptions {
    /// A sentence about a pinned key that fits no server; nil if each key fits.
    var problemOfPins: String? {
        pinnedKeys.allSatisfy { $0.count == 32 } ? nil : "A pinned key is no SHA-256 digest, which has 32 bytes."
    }

    /// The settings that a transport shows in its layer.
    var settings: [Layer.Setting] {
        [.init("minimumVersion", minimumVersion)] + (pinnedKeys.isEmpty ? [] : [.init("pinnedKeys", pinnedKeys.count)])
    }

    /// Whether the first certificate of a chain, which is the server's own, has one of the pinned keys, if there are any.
    func admits(_ chain: [Data], digest: (Data) -> Data) -> Bool {
        guard !pinnedKeys.isEmpty else { return true }
        guard let key = chain.first?.subjectPublicKeyInfo else { return false }
        return pinnedKeys.contains(digest(key))
    }
}

extension [Data] {
    /// The certificates of a text in the PEM format (RFC 7468), in the form DER; nil without any, or with an invalid one.
    ///
    /// Other lines, such as comments and keys, are skipped.
    init?(pemCertificates text: String) {
        self = []
        var lines: [Substring]?
        for line in text.split(whereSeparator: \.isNewline) {
            switch line {
            case "-----BEGIN CERTIFICATE-----":
                guard lines == nil else { return nil }
                lines = []
            case "-----END CERTIFICATE-----":
                guard let base64 = lines?.joined(), let bytes = Data(base64Encoded: base64), !bytes.isEmpty else {
                    return nil
                }
                append(bytes)
                lines = nil
            default: lines?.append(line)
            }
        }
        guard lines == nil, !isEmpty else { return nil }
    }
}

extension Data {
    /// The public key of a certificate in the form DER, with its algorithm; nil if the bytes are no certificate.
    ///
    /// It is the field `subjectPublicKeyInfo` of `TBSCertificate` (RFC 5280, section 4.1), byte for byte.
    var subjectPublicKeyInfo: Data? {
        var outside = DERValues(bytes: self)
        guard let certificate = outside.next(), certificate.tag == DERValues.sequence, outside.bytes.isEmpty else {
            return nil
        }
        var parts = DERValues(bytes: certificate.content)
        guard let signed = parts.next(), signed.tag == DERValues.sequence else { return nil }
        var fields = DERValues(bytes: signed.content)
        // A certificate of version 1 has no version.
        if fields.bytes.first == DERValues.version, fields.next() == nil { return nil }
        // The serial number, the algorithm of the signature, the issuer, the times, the subject and its key.
        var field: DERValues.Value?
        for tag in [DERValues.integer] + Array(repeating: DERValues.sequence, count: 5) {
            field = fields.next()
            guard field?.tag == tag else { return nil }
        }
        return field.map { Data($0.whole) }
    }
}

/// The values of DER that follow each other (ITU-T X.690, sections 8.1 and 10.1).
private struct DERValues {
    typealias Value = (tag: UInt8, whole: Data, content: Data)

    static let integer: UInt8 = 0x02
    static let sequence: UInt8 = 0x30
    static let version: UInt8 = 0xA0

    /// The bytes that are left.
    var bytes: Data

    /// Takes the next value; nil if it is cut, is longer than 16 MiB, or has a length in another form than DER's.
    mutating func next() -> Value? {
        let start = bytes.startIndex
        guard bytes.count >= 2 else { return nil }
        var length = Int(bytes[start + 1])
        var head = 2
        if length > 0x7F {
            head += length - 0x80
            guard (3...5).contains(head), bytes.count >= head, bytes[start + 2] != 0 else { return nil }
            length = bytes[start + 2..<start + head].reduce(0) { $0 << 8 | Int($1) }
            guard length > 0x7F else { return nil }
        }
        guard length <= bytes.count - head else { return nil }
        let end = start + head + length
        defer { bytes = bytes[end...] }
        return (bytes[start], bytes[start..<end], bytes[start + head..<end])
    }
}

extension ResponseMetadata {
    // A server could send any number of them.
    static let certificateLimit = 16

    /// The certificates of the server in the form DER, its own first (RFC 8446, section 4.4.2), where
    /// ``TLSOptions/reportsCertificates`` is set.
    ///
    /// The server was trusted before the request was sent, by a path from its own certificate to a root. Use them to show which
    /// chain a network uses. To accept only some keys, set ``TLSOptions/pinnedKeys``, which refuse a connection before
    /// anything is sent.
    ///
    /// At most 16 are reported, for the response to the request that has opened the connection; other responses on it have
    /// none, as ``TransferTimings/isConnectionReused`` tells on libcurl. `CurlConnection` has the certificates that the server has sent,
    /// after a full handshake. URLSession on Apple's systems has the path that it was trusted by, up to the root. Over
    /// `http`, and with URLSession on Linux and AsyncHTTPClient, the list is empty.
    public var serverCertificates: [Data] {
        get { self[ServerCertificatesKey.self] }
        set { self[ServerCertificatesKey.self] = newValue }
    }
}

private enum ServerCertificatesKey: ResponseMetadataKey {
    static let defaultValue: [Data] = []
}

extension TransportError.TLSProblem {
    /// Finds the problem that a TLS library names, in the words of OpenSSL, BoringSSL, GnuTLS or Apple's systems.
    ///
    /// The names of hosts and files among the words have no effect. It is ``refused`` only if the server may have sent an alert.
    package init?(words: String, mayBeAlert: Bool = true) {
        // The words of a library are short, and what it repeats of a server need not be.
        let text = " " + Self.withoutNames(words.cut(toBytes: 1024).lowercased()) + " "
        let row = Self.table.first { problem, phrases in
            (mayBeAlert || problem != .refused) && phrases.contains { text.contains(" \($0) ") }
        }
        guard let row else { return nil }
        self = row.key
    }

    /// The words with one blank between them, without quoted text, hosts, addresses and paths.
    private static func withoutNames(_ words: String) -> String {
        words
            .replacing(/(^|[\s(])(?:'[^']*'|"[^"]*"|“[^”]*”)/) { " \($0.1)" }
            .replacing(/\bconnection to \S+/, with: " ")
            // A word with a dot, a colon and a port, or a slash within it is the name of a host or a file. Names that
            // start with the name of a module are of errors.
            .replacing(/(?:nio|boring)ssl\w*\./, with: " ")
            .replacing(/[\w\-\*]*[\w\-\*][.\/][\w\-][\w\-.\/]*(?::[0-9]+)?/, with: " ")
            .replacing(/\b[a-z][\w\-]*:[0-9]+\b/, with: " ")
            .split { !$0.isLetter && !$0.isNumber && $0 != "-" }
            .joined(separator: " ")
    }

    // The first row with a phrase counts. An alert comes from the server, and names the client's certificate.
    private static let table: KeyValuePairs<Self, [String]> = [
        .refused: ["alert"],
        .wrongKey: ["pinned"],
        .unusableIdentity: ["could not load", "unable to set private key", "problem with the local ssl certificate"],
        .expired: ["expired"],
        .notYetValid: ["not yet valid", "not yet activated", "not valid until"],
        .wrongName: [
            "does not match", "no alternative certificate subject name", "mismatch", "failedtovalidatehostname",
            "other hosts",
        ],
        .untrusted: [
            "self-signed", "self signed", "unable to get local issuer", "unable to get issuer", "signer not found",
            "issuer is unknown", "issuer is not known", "untrusted", "unknown ca", "unknown root",
        ],
        .noTLS: [
            "wrong version number", "unexpected tls packet", "packet length too long", "http request",
            "record overflow", "unexpected message",
        ],
        .unverified: [
            "certificate verify", "certificate verification", "certificate is invalid", "cannot authenticate",
        ],
    ]
}

extension TransportError.TLSProblem {
    /// Finds the problem that `SecTrustEvaluateWithError` of Apple's systems reports.
    init(trustStatus status: Int) {
        self =
            switch status {
            // errSecCertificateExpired, errSecCertificateNotValidYet and errSecHostNameMismatch.
            case -67818: .expired
            case -67819: .notYetValid
            case -67602: .wrongName
            // errSecNotTrusted and errSecCreateChainFailed.
            case -67843, -25318: .untrusted
            default: .unverified
            }
    }
}
