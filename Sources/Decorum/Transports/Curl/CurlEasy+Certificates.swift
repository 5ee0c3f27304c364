#if os(Linux)
import DecorumCurl
import Foundation

extension CurlEasy {
    /// The certificates of the server in the form DER, its own first; empty unless the transfer has made a TLS handshake.
    var certificates: [Data] {
        var chain: [Data] = []
        for number in 0..<Int32(ResponseMetadata.certificateLimit) {
            guard let text = unsafe decorum_curl_certificate(library.functions, pointer, number) else { break }
            guard let certificates = unsafe [Data](pemCertificates: String(cString: text)) else { break }
            chain += certificates
        }
        return chain
    }
}
#endif
