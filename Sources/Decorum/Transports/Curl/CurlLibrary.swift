#if os(Linux)
import DecorumCurl

/// The system's libcurl, opened.
///
/// `@unchecked Sendable`, since the table of functions behind the pointer is neither changed nor freed after it is opened.
@safe struct CurlLibrary: @unchecked Sendable {
    /// The usual name, then the name of Debian's build with GnuTLS.
    static let names = ["libcurl.so.4", "libcurl-gnutls.so.4"]

    /// 7.80, the first version with a callback before each attempt to send.
    static let oldestVersion: UInt32 = 0x07_50_00

    let functions: OpaquePointer
    let version: String
    private let number: UInt32
    /// Whether OpenSSL or LibreSSL provides TLS.
    let usesOpenSSL: Bool

    /// Whether the library wrongly starts HTTP/2 again when it reuses a connection without TLS, as 7.88 does.
    var restartsHTTP2: Bool { (0x07_58_00..<0x08_00_00).contains(number) }

    /// Opens the first library that is installed.
    init(_ names: [String] = names) throws(CurlUnavailableError) {
        for name in names {
            var functions: OpaquePointer?
            let status = unsafe decorum_curl_open(name, &functions)
            guard let functions = unsafe functions else { continue }
            let version = unsafe String(cString: decorum_curl_version(functions))
            let number = unsafe decorum_curl_version_number(functions)
            try Self.check(version, number, isComplete: status == DECORUM_CURL_OPENED)
            unsafe self.functions = functions
            self.version = version
            self.number = number
            let tls = unsafe decorum_curl_tls_version(functions).map { unsafe String(cString: $0) } ?? ""
            usesOpenSSL = tls.hasPrefix("OpenSSL/") || tls.hasPrefix("LibreSSL/")
            return
        }
        throw .missing(names)
    }

    static func check(
        _ version: String, _ number: UInt32, isComplete: Bool
    ) throws(CurlUnavailableError) {
        guard number >= oldestVersion else { throw .tooOld(version) }
        guard isComplete else { throw .unusable(version) }
    }

    func error(_ code: Int32) -> CurlError {
        CurlError(code: Int(code), text: unsafe String(cString: decorum_curl_error_text(functions, code)))
    }
}
#endif
