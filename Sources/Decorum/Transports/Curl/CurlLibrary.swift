#if os(Linux)
import DecorumCurl

/// The machine's libcurl, opened.
///
/// `@unchecked Sendable`, since the table of functions behind the pointer is neither changed nor freed once it is open.
@safe struct CurlLibrary: @unchecked Sendable {
    /// Debian's and everybody else's name, then that of Debian's build with GnuTLS.
    static let names = ["libcurl.so.4", "libcurl-gnutls.so.4"]

    /// 7.80, the first that tells before each attempt to send.
    static let oldestVersion: UInt32 = 0x07_50_00

    let functions: OpaquePointer
    let version: String
    private let number: UInt32

    /// Whether the library starts HTTP/2 a second time on a connection without TLS that it uses again, as 7.88 does.
    var restartsHTTP2: Bool { (0x07_58_00..<0x08_00_00).contains(number) }

    /// Opens the first library that is there.
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
