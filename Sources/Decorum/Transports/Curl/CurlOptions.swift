#if os(Linux)
import DecorumCurl
import HTTPTypes

/// The options of a connection in the form that libcurl takes, the same for each of its transfers.
///
/// They must exist for as long as a handle has them, because libcurl keeps pointers to some of them.
struct CurlOptions: Sendable {
    enum Option: Sendable {
        case number(decorum_curl_number_option, Int)
        case text(decorum_curl_text_option, String)
        case secret(decorum_curl_text_option, Secret<String>)
        /// Removes a text that libcurl has by default.
        case noText(decorum_curl_text_option)
        case bytes(decorum_curl_bytes_option, CurlBytes)
        case list(decorum_curl_pointer_option, CurlList)
    }

    // Large enough for few wake-ups in a large body, small enough that the allocator serves it without a system call.
    static let bufferSize = 64 << 10

    /// The versions of HTTP to offer with TLS, and without.
    private var secureVersion: Int
    private let clearVersion: Int
    /// The limits of all transfers together.
    var limits: [(decorum_curl_multi_option, Int)] = []
    /// The largest number of connections to a host.
    var connectionsPerHost = Int.max
    /// The path of the Unix socket that all requests go to; nil for the network.
    var unixSocket: String?
    /// Whether the certificates of servers are kept for their responses.
    var reportsCertificates = false
    private var added: [Option] = []

    init(secureVersion: Int, clearVersion: Int) {
        self.secureVersion = secureVersion
        self.clearVersion = clearVersion
    }

    /// The same options, with HTTP/1.1 only.
    var avoidingHTTP2: CurlOptions {
        var options = self
        options.secureVersion = Int(DECORUM_CURL_HTTP_VERSION_1_1)
        return options
    }

    mutating func add(_ option: Option) {
        added.append(option)
    }

    /// Sets the limits of a handle for many transfers.
    func apply(to multi: CurlMulti) {
        for (option, value) in limits {
            multi.set(option, min(value, Int(Int32.max)))
        }
    }

    /// Sets the options of a fresh handle.
    func apply(to easy: CurlEasy) {
        easy.keepDetail()
        easy.set(DECORUM_CURL_OPTION_NOSIGNAL, 1)
        easy.set(DECORUM_CURL_OPTION_PROTOCOLS, Int(DECORUM_CURL_PROTOCOL_HTTP | DECORUM_CURL_PROTOCOL_HTTPS))
        easy.set(DECORUM_CURL_OPTION_PATH_AS_IS, 1)
        easy.set(DECORUM_CURL_OPTION_HTTP_CONTENT_DECODING, 0)
        easy.set(DECORUM_CURL_OPTION_SUPPRESS_CONNECT_HEADERS, 1)
        // libcurl 7.88 refuses on a handle whose last stream left others on its connection; its buffer is there already.
        easy.suggest(DECORUM_CURL_OPTION_BUFFERSIZE, Self.bufferSize)
        easy.suggest(DECORUM_CURL_OPTION_UPLOAD_BUFFERSIZE, Self.bufferSize)
        // Otherwise a transfer that ends during its name lookup makes the thread, and all transfers, wait for the lookup.
        easy.suggest(DECORUM_CURL_OPTION_QUICK_EXIT, 1)
        easy.refuseRewinding()
        if reportsCertificates { easy.set(DECORUM_CURL_OPTION_CERTINFO, 1) }
        for option in added { option.apply(to: easy) }
        if let unixSocket { easy.set(DECORUM_CURL_OPTION_UNIX_SOCKET_PATH, unixSocket) }
    }

    /// Sets the versions of HTTP to offer.
    func applyVersion(to easy: CurlEasy, isSecure: Bool) {
        let version = isSecure ? secureVersion : clearVersion
        easy.set(DECORUM_CURL_OPTION_HTTP_VERSION, version)
        let isHTTP1 = version == Int(DECORUM_CURL_HTTP_VERSION_1_1)
        let needsOwnConnection = !isSecure && !isHTTP1 && easy.library.restartsHTTP2
        if needsOwnConnection {
            easy.set(DECORUM_CURL_OPTION_FRESH_CONNECT, 1)
            easy.closeConnection()
        }
        // A request waits to learn whether it can share the connection that another request opens. Over HTTP/1.1 it
        // cannot.
        easy.set(DECORUM_CURL_OPTION_PIPEWAIT, isHTTP1 || needsOwnConnection ? 0 : 1)
    }

    /// Whether several requests may share a connection to a host, as streams of HTTP/2.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - http1Hosts: The hosts that have answered with HTTP/1 alone.
    /// - Returns: Whether they may.
    func allowsSharing(with host: CurlHost, not http1Hosts: Set<CurlHost>) -> Bool {
        let version = host.isSecure ? secureVersion : clearVersion
        return version != Int(DECORUM_CURL_HTTP_VERSION_1_1) && !(host.isSecure && http1Hosts.contains(host))
    }

    /// Checks that the library accepts all options, and those that some requests have in addition, so that none is
    /// ignored in silence.
    func check(_ library: CurlLibrary, and further: [Option]) throws(CurlUnavailableError) {
        guard let easy = CurlEasy(library) else { throw .unusable(library.version) }
        apply(to: easy)
        for option in further { option.apply(to: easy) }
        guard easy.refusal == DECORUM_CURL_OK else {
            throw .unsupportedOption(
                library.version, easy.refusedName ?? "an option", library.error(easy.refusal).text)
        }
        // libcurl accepts it with each TLS library, and then shows no certificate with most of them.
        let hasIdentity = added.contains { option in
            if case .bytes(DECORUM_CURL_OPTION_SSLCERT_BLOB, _) = option { true } else { false }
        }
        guard library.usesOpenSSL || !hasIdentity else {
            throw .unsupportedOption(library.version, "SSLCERT_BLOB", "its TLS library ignores it")
        }
    }
}

extension CurlOptions.Option {
    func apply(to easy: CurlEasy) {
        switch self {
        case .number(let option, let value): easy.set(option, value)
        case .text(let option, let value): easy.set(option, value)
        case .secret(let option, let value): easy.set(option, value.value)
        case .noText(let option): easy.clear(option)
        case .bytes(let option, let value): easy.set(option, value)
        case .list(let option, let value): unsafe easy.set(option, value.pointer)
        }
    }
}

/// A list of lines as libcurl takes them.
///
/// `@unchecked Sendable`, since it is only read after it is shared, and is freed when the last reference is released.
@safe final class CurlList: @unchecked Sendable {
    private let library: CurlLibrary
    private(set) var pointer: UnsafeMutableRawPointer?

    init(_ library: CurlLibrary) {
        self.library = library
    }

    deinit {
        unsafe decorum_curl_list_free(library.functions, pointer)
    }

    /// Adds a line, or ignores it where the system has no memory for it.
    func append(_ line: String) {
        unsafe pointer = decorum_curl_list_append(library.functions, pointer, line) ?? pointer
    }

    /// Adds the line of a field, byte for byte.
    func append(_ field: HTTPField) {
        var line: [UInt8] = []
        append(field, using: &line)
    }

    /// Adds the line of a field, and uses an array for it whose memory serves the next ones.
    func append(_ field: HTTPField, using line: inout [UInt8]) {
        // libcurl sends a field with an empty value for a line that ends with a semicolon.
        guard !field.value.isEmpty else {
            append(field.name.rawName + ";")
            return
        }
        line.removeAll(keepingCapacity: true)
        line.append(contentsOf: field.name.rawName.utf8)
        line.append(UInt8(ascii: ":"))
        line.append(UInt8(ascii: " "))
        unsafe field.withUnsafeBytesOfValue { unsafe line.append(contentsOf: $0) }
        line.append(0)
        unsafe line.withUnsafeBufferPointer { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { line in
                unsafe pointer = decorum_curl_list_append(library.functions, pointer, line.baseAddress) ?? pointer
            }
        }
    }

    /// Transfers ownership of the lines to libcurl, which frees them.
    func release() -> UnsafeMutableRawPointer? {
        defer { unsafe pointer = nil }
        return unsafe pointer
    }
}

extension TaskPriority {
    /// The weight of a stream over HTTP/2, from 1 to 256, where a stream without a priority has 16 (RFC 7540, section 5.3).
    var streamWeight: Int {
        switch self {
        case .high...: 256
        case .medium...: 16
        case .low...: 4
        default: 1
        }
    }
}
#endif
