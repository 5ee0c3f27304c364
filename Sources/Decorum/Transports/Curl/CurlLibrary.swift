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
    let number: UInt32
    /// Whether OpenSSL or LibreSSL provides TLS.
    let usesOpenSSL: Bool

    /// Whether the library wrongly starts HTTP/2 again when it reuses a connection without TLS, as 7.88 does.
    var restartsHTTP2: Bool { (0x07_58_00..<0x08_00_00).contains(number) }

    /// Whether the library tells how long a transfer has waited for a connection, as it does since 8.6.
    var tellsQueueTime: Bool { number >= 0x08_06_00 }

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
        throw CurlUnavailableError(
            .missing,
            "CurlConnection cannot open \(names.joined(separator: " or ")); install libcurl 7.80 or later, "
                + "or use URLSessionConnection.")
    }

    static func check(_ version: String, _ number: UInt32, isComplete: Bool) throws(CurlUnavailableError) {
        guard number >= oldestVersion else {
            throw CurlUnavailableError(
                .tooOld, version: version,
                "CurlConnection needs libcurl 7.80 or later and found \(version); use URLSessionConnection.")
        }
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

        /// No library is installed.
        public static let missing = Reason(name: "missing")
        /// The library is older than 7.80.
        public static let tooOld = Reason(name: "tooOld")
        /// The library lacks a function, or could not be initialized.
        public static let unusable = Reason(name: "unusable")
        /// The library was built without support for an option.
        public static let unsupportedOption = Reason(name: "unsupportedOption")
    }

    /// The reason why the library cannot be used.
    public let reason: Reason
    /// The version that was found, as in `"7.76.1"`; nil if no library was found.
    public let version: String?
    /// A sentence that says what is wrong and how to fix it.
    public let description: String

    init(_ reason: Reason, version: String? = nil, _ description: String) {
        (self.reason, self.version, self.description) = (reason, version, description)
    }

    static func unusable(_ version: String) -> Self {
        Self(
            .unusable, version: version, "CurlConnection cannot use libcurl \(version); use URLSessionConnection.")
    }

    static func unsupportedOption(_ version: String, _ name: String, _ text: String) -> Self {
        let advice = name.hasSuffix("_BLOB") ? " Pass certificates as files, or use its OpenSSL build." : ""
        return Self(
            .unsupportedOption, version: version, "libcurl \(version) refuses CURLOPT_\(name): \(text).\(advice)")
    }
}

/// The result of a failed transfer, and the error that it stands for.
struct CurlFailure: Sendable {
    let code: Int32
    /// How far the exchange had come.
    let stage: TransportError.Stage
    /// The `errno` of the socket; 0 without one.
    var systemError: Int32 = 0
    /// The status with which a proxy refused to connect; 0 unless it has.
    var proxyStatus = 0
    /// Whether the system had no descriptor or memory for a socket.
    var lacksSockets = false
    /// Whether the connection that the request was sent on has served other requests.
    var isConnectionReused = false
    /// Whether a part of a response has arrived.
    var hasResponse = false
    /// The proxy that was to be used; nil for a direct connection.
    var proxy: CurlProxyAddress?
    /// The detailed text of libcurl, which may contain parts of the request.
    var detail = ""

    /// The cause, as precisely as libcurl reports it.
    var cause: TransportError.Code {
        if stage == .connecting, lacksSockets { return .limitExceeded }
        return switch code {
        case 5, 6: .hostNotFound
        case 7: connectingCause
        case 97: .unreachable
        case 28: .timedOut
        case 18: .truncated
        // Before the head, libcurl takes bytes that are not HTTP for another protocol, and reports a line that is too
        // long as too little memory.
        case 1, 8, 27, 100: stage == .connecting ? .other : .malformedResponse
        case 16: .malformedResponse
        // nghttp2 resets a stream with a malformed head with PROTOCOL_ERROR (RFC 9113, section 8.1.1).
        case 92: stage == .head && detail.contains("PROTOCOL_ERROR") ? .malformedResponse : .connectionLost
        case 52, 65, 95: .connectionLost
        // 43 means a wrong use of a function, which a head that starts with a folded line causes.
        case 43: stage == .connecting ? .other : .malformedResponse
        // Only the text distinguishes broken chunks from a broken connection.
        case 23, 55, 56: detail.contains("chunk") ? .malformedResponse : brokenCause
        case 61: .undecodableContent
        case 89: .limitExceeded
        case 35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98: .tls
        default: .other
        }
    }

    private var connectingCause: TransportError.Code {
        switch systemError {
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL, EACCES, EPERM: .unreachable
        case ETIMEDOUT: .timedOut
        default: .connectionRefused
        }
    }

    private var brokenCause: TransportError.Code {
        if stage == .connecting, proxyStatus >= 300 { return .proxyRefused }
        // The TLS connection ended without close_notify, in the words of GnuTLS and of OpenSSL.
        let isCut = detail.contains("non-properly terminated") || detail.contains("unexpected eof")
        if stage == .body, isCut { return .truncated }
        // With TLS 1.3, a server refuses the client's certificate only after the request was sent.
        return detail.contains("alert") ? .tls : .connectionLost
    }

    /// The error to throw.
    func error(underlying: CurlError) -> any Error {
        // libcurl checks a URL more strictly than `Request.validate()`.
        guard code != 3 else { return InvalidRequestError.invalidURL }
        var error = TransportError(cause, at: stage, underlying: underlying)
        error.detail = words(of: underlying)
        if cause == .tls { error.tlsProblem = tlsProblem }
        if isOnWayToProxy { error.proxy = proxy?.description }
        error.isUnprocessed = stage == .head && detail.contains("REFUSED_STREAM")
        // A stream that the server resets (92) tells nothing about its connection, and may be due to overload.
        error.hasLostReusedConnection =
            cause == .connectionLost && stage == .head && isConnectionReused && !hasResponse && code != 92
        return error
    }

    /// Whether the proxy was not reached, so that the failure says nothing about the server.
    private var isOnWayToProxy: Bool {
        guard let proxy, stage == .connecting, !lacksSockets else { return false }
        return switch code {
        case 5, 7: true
        // A TLS connection to the proxy comes before the request to it, and one to the server after its answer.
        default: cause == .tls && proxy.isSecure && proxyStatus == 0
        }
    }

    /// The words that are passed on, unless they may contain a part of the request, such as a proxy's password.
    private func words(of underlying: CurlError) -> String? {
        switch cause {
        // The words about a truncated response count the missing bytes.
        case .tls, .malformedResponse, .truncated: detail.isEmpty ? underlying.text : detail
        case .proxyRefused: "status \(proxyStatus)"
        case .unreachable where code == 97: proxy.map { "the proxy \($0) does not connect to it" }
        case .other: underlying.text
        default: nil
        }
    }

    private var tlsProblem: TransportError.TLSProblem? {
        switch code {
        case 58: .unusableIdentity
        case 77: .unusableRoots
        case 90: .wrongKey
        case 98: .refused
        case 51, 60: .init(words: detail, mayBeAlert: false) ?? .unverified
        default: .init(words: detail)
        }
    }
}

/// A failure as libcurl reports it, without any part of the request.
public struct CurlError: DescribableError, Hashable {
    /// The number of the failure, a `CURLcode`.
    public let code: Int
    /// The text of libcurl for the number.
    public let text: String

    /// The name of the library and the number, as a log shows them behind the error of the transport.
    public var shortDescription: String { "libcurl \(code)" }

    /// The number and the text.
    public var description: String { "libcurl failed with \(code): \(text)." }
}
#endif
