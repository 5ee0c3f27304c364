#if os(Linux)
import DecorumCurl
public import Foundation

extension CurlConnection {
    /// Which servers are trusted, and how the client identifies itself.
    public struct TLS: Sendable {
        /// A version of TLS.
        public struct Version: Sendable, Hashable, CustomStringConvertible {
            /// The version, as in `TLS 1.2`.
            public let description: String
            let number: Int32

            /// TLS 1.2.
            public static let tls12 = Version(description: "TLS 1.2", number: Int32(DECORUM_CURL_SSLVERSION_TLSv1_2))
            /// TLS 1.3.
            public static let tls13 = Version(description: "TLS 1.3", number: Int32(DECORUM_CURL_SSLVERSION_TLSv1_3))
        }

        /// The root certificates to which a server's certificate must lead.
        public struct Roots: Sendable, Hashable {
            enum Source: Sendable, Hashable {
                case system
                case file(URL)
                case pem(String)
                /// A file, a folder of files named by the hash of their certificate, or both.
                case locations(file: String?, folder: String?)
            }

            let source: Source

            /// The certificates that the system's libcurl was built to use.
            public static let system = Roots(source: .system)

            /// Only the certificates of a file.
            ///
            /// - Parameter file: The URL of a file in the PEM format.
            /// - Returns: The roots.
            public static func file(_ file: URL) -> Roots { Roots(source: .file(file)) }

            /// Only the certificates of a text; Debian's build of libcurl with GnuTLS does not support this.
            ///
            /// - Parameter text: The certificates in the PEM format.
            /// - Returns: The roots.
            public static func pem(_ text: String) -> Roots { Roots(source: .pem(text)) }
        }

        /// A client certificate and its key, which are shown to a server that asks for them.
        public struct Identity: Sendable {
            enum Source: Sendable {
                case files(certificate: URL, key: URL)
                case pem(certificate: String, key: Secret)
            }

            let source: Source
            let password: Secret?

            /// A certificate and its key in files.
            ///
            /// - Parameters:
            ///   - certificate: The URL of a file in the PEM format; intermediate certificates may follow the client's.
            ///   - key: The URL of a file in the PEM format.
            ///   - password: The password with which the key is encrypted; nil where it is not.
            /// - Returns: The identity.
            public static func files(certificate: URL, key: URL, password: String? = nil) -> Identity {
                Identity(
                    source: .files(certificate: certificate, key: key), password: password.map { Secret(value: $0) })
            }

            /// A certificate and its key in memory; Debian's build of libcurl with GnuTLS does not support this.
            ///
            /// - Parameters:
            ///   - certificate: The certificate in the PEM format; intermediate certificates may follow.
            ///   - key: The key in the PEM format.
            ///   - password: The password with which the key is encrypted; nil where it is not.
            /// - Returns: The identity.
            public static func pem(certificate: String, key: String, password: String? = nil) -> Identity {
                Identity(
                    source: .pem(certificate: certificate, key: Secret(value: key)),
                    password: password.map { Secret(value: $0) })
            }
        }

        /// The lowest version that is accepted.
        public var minimumVersion = Version.tls12
        /// The root certificates to which a server's certificate must lead.
        public var roots = Roots.system
        /// The SHA-256 digests of the public keys that a server may have; empty for any key that is trusted.
        ///
        /// A digest is that of the key's `SubjectPublicKeyInfo` (RFC 7469, section 2.4). The certificate must lead to the
        /// roots as well.
        public var pinnedKeys: [Data] = []
        /// The certificate that is shown to a server that asks for one; nil for none.
        public var identity: Identity?
        /// Whether responses have the certificates of their server in ``ResponseMetadata/serverCertificates``; by default, not.
        ///
        /// It takes time in each handshake. A build of libcurl whose TLS library cannot do it refuses the option.
        public var reportsCertificates = false

        /// Creates options that trust the servers that the system trusts.
        public init() {}
    }
}

extension CurlConnection.TLS {
    func add(to options: inout CurlOptions) {
        options.reportsCertificates = reportsCertificates
        options.add(.number(DECORUM_CURL_OPTION_SSLVERSION, Int(minimumVersion.number)))
        for option in roots.options(
            DECORUM_CURL_OPTION_CAINFO, DECORUM_CURL_OPTION_CAINFO_BLOB, DECORUM_CURL_OPTION_CAPATH)
        {
            options.add(option)
        }
        if !pinnedKeys.isEmpty {
            let pins = pinnedKeys.map { "sha256//" + $0.base64EncodedString() }
            options.add(.text(DECORUM_CURL_OPTION_PINNEDPUBLICKEY, pins.joined(separator: ";")))
        }
        guard let identity else { return }
        switch identity.source {
        case .files(let certificate, let key):
            options.add(.text(DECORUM_CURL_OPTION_SSLCERT, certificate.path))
            options.add(.text(DECORUM_CURL_OPTION_SSLKEY, key.path))
        case .pem(let certificate, let key):
            options.add(.bytes(DECORUM_CURL_OPTION_SSLCERT_BLOB, CurlBytes(certificate)))
            options.add(.bytes(DECORUM_CURL_OPTION_SSLKEY_BLOB, CurlBytes(key.value)))
        }
        if let password = identity.password { options.add(.secret(DECORUM_CURL_OPTION_KEYPASSWD, password)) }
    }

    /// The options that hold for a proxy too: not the pins, which name keys of other servers, nor the identity.
    var proxyOptions: [CurlOptions.Option] {
        [.number(DECORUM_CURL_OPTION_PROXY_SSLVERSION, Int(minimumVersion.number))]
            + roots.options(
                DECORUM_CURL_OPTION_PROXY_CAINFO, DECORUM_CURL_OPTION_PROXY_CAINFO_BLOB,
                DECORUM_CURL_OPTION_PROXY_CAPATH)
    }
}

extension CurlConnection.TLS.Roots {
    /// The options for the roots alone: by default, libcurl trusts the system's file and the system's folder.
    fileprivate func options(
        _ file: decorum_curl_text_option, _ bytes: decorum_curl_bytes_option, _ folder: decorum_curl_text_option
    ) -> [CurlOptions.Option] {
        switch source {
        case .system: []
        case .file(let url): [.text(file, url.path), .noText(folder)]
        case .pem(let text): [.bytes(bytes, CurlBytes(text)), .noText(folder)]
        case .locations(let path, let folderPath):
            [
                path.map { .text(file, $0) } ?? .noText(file), folderPath.map { .text(folder, $0) } ?? .noText(folder),
            ]
        }
    }
}
#endif
