#if os(Linux)
import DecorumCurl
import Foundation

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

/// The system's libcurl is missing, too old, or does not support an option.
public struct CurlUnavailableError: DescribableError, Hashable {
    /// The reason why the library cannot be used, as an open set.
    public struct Reason: Hashable, Sendable {
        /// The name of the reason, suitable for a metric.
        public let name: String

        /// Creates a custom reason.
        ///
        /// - Parameter name: The name of the reason.
        package init(_ name: String) {
            self.name = name
        }

        /// No library is installed.
        public static let missing = Reason("missing")
        /// The library is older than 7.80.
        public static let tooOld = Reason("tooOld")
        /// The library lacks a function, or could not be initialized.
        public static let unusable = Reason("unusable")
        /// The library was built without support for an option.
        public static let unsupportedOption = Reason("unsupportedOption")
    }

    /// The reason why the library cannot be used.
    public let reason: Reason
    /// The version that was found, as in `"7.76.1"`; nil where no library was found.
    public let version: String?
    /// A sentence that says what is wrong and how to fix it.
    public let description: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: The reason why the library cannot be used.
    ///   - version: The version that was found; nil where no library was found.
    ///   - description: A sentence that says what is wrong and how to fix it.
    package init(_ reason: Reason, version: String? = nil, _ description: String) {
        self.reason = reason
        self.version = version
        self.description = description
    }
}

extension CurlUnavailableError {
    static func missing(_ names: [String]) -> Self {
        Self(
            .missing,
            "CurlConnection cannot open \(names.joined(separator: " or ")); install libcurl 7.80 or later, "
                + "or use URLSessionConnection.")
    }

    static func tooOld(_ version: String) -> Self {
        Self(
            .tooOld, version: version,
            "CurlConnection needs libcurl 7.80 or later and found \(version); use URLSessionConnection.")
    }

    static func unusable(_ version: String?) -> Self {
        Self(
            .unusable, version: version,
            "CurlConnection cannot use libcurl \(version ?? "of an unknown version"); use URLSessionConnection.")
    }

    static func unsupportedOption(_ version: String, _ name: String, _ text: String) -> Self {
        let advice = name.hasSuffix("_BLOB") ? " Pass certificates as files, or use its OpenSSL build." : ""
        return Self(
            .unsupportedOption, version: version, "libcurl \(version) refuses CURLOPT_\(name): \(text).\(advice)")
    }
}
#endif
