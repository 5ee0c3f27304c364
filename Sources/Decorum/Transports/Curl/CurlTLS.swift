#if os(Linux)
import DecorumCurl
import Foundation

extension TLSOptions {
    func add(to options: inout CurlOptions) {
        options.reportsCertificates = reportsCertificates
        options.add(.number(DECORUM_CURL_OPTION_SSLVERSION, minimumVersion.curlNumber))
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
            options.add(.bytes(DECORUM_CURL_OPTION_SSLCERT_BLOB, CurlBytes(certificate.utf8)))
            options.add(.bytes(DECORUM_CURL_OPTION_SSLKEY_BLOB, CurlBytes(key.value.utf8)))
        case .pkcs12(let data):
            options.add(.bytes(DECORUM_CURL_OPTION_SSLCERT_BLOB, CurlBytes(data.value)))
            options.add(.text(DECORUM_CURL_OPTION_SSLCERTTYPE, "P12"))
        }
        if let password = identity.password { options.add(.secret(DECORUM_CURL_OPTION_KEYPASSWD, password)) }
    }

    /// The options that hold for a proxy too: not the pins, which name keys of other servers, nor the identity.
    var proxyOptions: [CurlOptions.Option] {
        [.number(DECORUM_CURL_OPTION_PROXY_SSLVERSION, minimumVersion.curlNumber)]
            + roots.options(
                DECORUM_CURL_OPTION_PROXY_CAINFO, DECORUM_CURL_OPTION_PROXY_CAINFO_BLOB,
                DECORUM_CURL_OPTION_PROXY_CAPATH)
    }
}

extension TLSOptions.Version {
    fileprivate var curlNumber: Int {
        Int(self == .tls13 ? DECORUM_CURL_SSLVERSION_TLSv1_3 : DECORUM_CURL_SSLVERSION_TLSv1_2)
    }
}

extension TLSOptions.Roots {
    /// The options for the roots alone: by default, libcurl trusts the system's file and the system's folder.
    fileprivate func options(
        _ file: decorum_curl_text_option, _ bytes: decorum_curl_bytes_option, _ folder: decorum_curl_text_option
    ) -> [CurlOptions.Option] {
        switch source {
        case .system: []
        case .pem(let text): [.bytes(bytes, CurlBytes(text.utf8)), .noText(folder)]
        case .locations(let path, let folderPath):
            [
                path.map { .text(file, $0) } ?? .noText(file), folderPath.map { .text(folder, $0) } ?? .noText(folder),
            ]
        }
    }
}
#endif
