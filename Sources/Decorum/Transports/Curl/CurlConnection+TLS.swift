#if os(Linux)
import DecorumCurl
public import Foundation

extension CurlConnection {
    /// How a server is trusted, and what the client shows of itself.
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

        /// The certificates that a server's own has to lead to.
        public struct Roots: Sendable, Hashable {
            enum Source: Sendable, Hashable {
                case system
                case file(URL)
                case pem(String)
            }

            let source: Source

            /// Those that the system's libcurl was built to use.
            public static let system = Roots(source: .system)

            /// Those of a file alone.
            ///
            /// - Parameter file: The URL of a file in the PEM format.
            /// - Returns: The roots.
            public static func file(_ file: URL) -> Roots { Roots(source: .file(file)) }

            /// Those of a text alone; Debian's build of libcurl with GnuTLS cannot take them.
            ///
            /// - Parameter text: The certificates in the PEM format.
            /// - Returns: The roots.
            public static func pem(_ text: String) -> Roots { Roots(source: .pem(text)) }
        }

        /// A certificate and its key, which are shown to a server that asks who the client is.
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
            ///   - certificate: The URL of a file in the PEM format; those in between may follow the client's own.
            ///   - key: The URL of a file in the PEM format.
            ///   - password: What the key is encrypted with.
            /// - Returns: The identity.
            public static func files(certificate: URL, key: URL, password: String? = nil) -> Identity {
                Identity(
                    source: .files(certificate: certificate, key: key), password: password.map { Secret(value: $0) })
            }

            /// A certificate and its key in memory; Debian's build of libcurl with GnuTLS cannot take them.
            ///
            /// - Parameters:
            ///   - certificate: The text of the certificate in the PEM format; those in between may follow.
            ///   - key: The text of the key in the PEM format.
            ///   - password: What the key is encrypted with.
            /// - Returns: The identity.
            public static func pem(certificate: String, key: String, password: String? = nil) -> Identity {
                Identity(
                    source: .pem(certificate: certificate, key: Secret(value: key)),
                    password: password.map { Secret(value: $0) })
            }
        }

        /// The lowest version to agree to.
        public var minimumVersion = Version.tls12
        /// The certificates that a server's own has to lead to.
        public var roots = Roots.system
        /// The SHA-256 digests of the public keys that a server may have; empty for any that is trusted.
        ///
        /// A digest is that of the key's `SubjectPublicKeyInfo` (RFC 7469, section 2.4). Trust is checked all the same.
        public var pinnedKeys: [Data] = []
        /// What is shown to a server that asks who the client is; nil shows nothing.
        public var identity: Identity?

        /// Creates options that trust whom the system trusts.
        public init() {}
    }
}
#endif
