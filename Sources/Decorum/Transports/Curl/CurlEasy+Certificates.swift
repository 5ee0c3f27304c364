#if os(Linux)
import DecorumCurl
import Foundation

extension CurlEasy {
    // A server could send any number of them.
    private static let certificateLimit: Int32 = 16

    /// The certificates of the server in the form DER, its own first; empty unless the transfer has made a TLS handshake.
    var certificates: [Data] {
        var chain: [Data] = []
        for number in 0..<Self.certificateLimit {
            guard let text = unsafe decorum_curl_certificate(library.functions, pointer, number) else { break }
            guard let certificate = Data(pemCertificate: unsafe String(cString: text)) else { break }
            chain.append(certificate)
        }
        return chain
    }
}

extension Data {
    /// The bytes of a certificate in the PEM format (RFC 7468); nil for another text.
    init?(pemCertificate text: String) {
        let lines = text.split(whereSeparator: \.isNewline)
        guard lines.count > 2, lines.first == "-----BEGIN CERTIFICATE-----", lines.last == "-----END CERTIFICATE-----"
        else { return nil }
        self.init(base64Encoded: lines.dropFirst().dropLast().joined())
    }
}
#endif
