#if os(Linux)
import DecorumCurl
import Foundation

/// The options of TLS in the form that libcurl takes, made once for all transfers of a connection.
///
/// It must live as long as the handles that it was applied to have its options.
struct CurlTrust: Sendable {
    /// Something in the PEM format, in a file or in memory.
    private enum Source: Sendable {
        case file(String)
        case bytes(CurlBytes)
    }

    private let minimumVersion: Int
    private let roots: Source?
    private let pins: String?
    private let identity: (certificate: Source, key: Source)?
    private let password: Secret?

    init(_ tls: CurlConnection.TLS) {
        minimumVersion = Int(tls.minimumVersion.number)
        roots =
            switch tls.roots.source {
            case .system: nil
            case .file(let file): .file(file.path)
            case .pem(let text): .bytes(CurlBytes(text))
            }
        let pins = tls.pinnedKeys.map { "sha256//" + $0.base64EncodedString() }
        self.pins = pins.isEmpty ? nil : pins.joined(separator: ";")
        identity =
            switch tls.identity?.source {
            case nil: nil
            case .files(let certificate, let key)?: (.file(certificate.path), .file(key.path))
            case .pem(let certificate, let key)?: (.bytes(CurlBytes(certificate)), .bytes(CurlBytes(key.value)))
            }
        password = tls.identity?.password
    }

    func apply(to easy: CurlEasy) {
        easy.set(DECORUM_CURL_OPTION_SSLVERSION, minimumVersion)
        if let roots {
            set(DECORUM_CURL_OPTION_CAINFO, DECORUM_CURL_OPTION_CAINFO_BLOB, to: roots, of: easy)
            // Unless it is told otherwise, libcurl trusts the certificates of the system's folder besides.
            easy.clear(DECORUM_CURL_OPTION_CAPATH)
        }
        if let pins { easy.set(DECORUM_CURL_OPTION_PINNEDPUBLICKEY, pins) }
        guard let identity else { return }
        set(DECORUM_CURL_OPTION_SSLCERT, DECORUM_CURL_OPTION_SSLCERT_BLOB, to: identity.certificate, of: easy)
        set(DECORUM_CURL_OPTION_SSLKEY, DECORUM_CURL_OPTION_SSLKEY_BLOB, to: identity.key, of: easy)
        if let password { easy.set(DECORUM_CURL_OPTION_KEYPASSWD, password.value) }
    }

    /// Sets what holds for a proxy too: pins name the keys of other servers, and it is not told who the client is.
    func applyToProxy(of easy: CurlEasy) {
        easy.set(DECORUM_CURL_OPTION_PROXY_SSLVERSION, minimumVersion)
        guard let roots else { return }
        set(DECORUM_CURL_OPTION_PROXY_CAINFO, DECORUM_CURL_OPTION_PROXY_CAINFO_BLOB, to: roots, of: easy)
        easy.clear(DECORUM_CURL_OPTION_PROXY_CAPATH)
    }

    private func set(
        _ text: decorum_curl_text_option, _ bytes: decorum_curl_bytes_option, to source: Source, of easy: CurlEasy
    ) {
        switch source {
        case .file(let path): easy.set(text, path)
        case .bytes(let value): easy.set(bytes, value)
        }
    }
}
#endif
