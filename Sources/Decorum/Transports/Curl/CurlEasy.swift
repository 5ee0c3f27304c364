#if os(Linux)
import DecorumCurl
import Foundation
import HTTPTypes

/// A handle of libcurl for one transfer at a time, which one thread uses.
@safe final class CurlEasy {
    let library: CurlLibrary
    let pointer: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    /// The code of the first option that was refused since the last reset.
    private(set) var refusal: Int32 = 0
    private var refusedOption: UInt32 = 0
    /// Whether the handle has the options of its connection and of each request, and no others.
    var isPlain = false

    init?(_ library: CurlLibrary) {
        guard let pointer = unsafe decorum_curl_easy_init(library.functions) else { return nil }
        self.library = library
        unsafe self.pointer = pointer
        unsafe errorText = .allocate(capacity: Int(DECORUM_CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(DECORUM_CURL_ERROR_SIZE))
    }

    deinit {
        unsafe decorum_curl_easy_cleanup(library.functions, pointer)
        unsafe errorText.deallocate()
    }

    /// The number under which a ``CurlMulti`` returns the handle; no other handle has it at the same time.
    var identifier: Int { unsafe Int(bitPattern: pointer) }

    /// Resets the options of the last transfer; connections and resolved names stay, since they belong to the ``CurlMulti``.
    func reset() {
        if !isPlain { unsafe decorum_curl_easy_reset(library.functions, pointer) }
        unsafe errorText.pointee = 0
        (refusal, refusedOption) = (0, 0)
    }

    /// The name of the first option that was refused since the last reset.
    var refusedName: String? {
        guard refusal != 0 else { return nil }
        let name = unsafe decorum_curl_option_name(library.functions, Int32(refusedOption))
        return unsafe name.map { unsafe String(cString: $0) } ?? String(refusedOption)
    }

    /// The text of libcurl about the last failure; it may contain parts of the request.
    var detail: String { unsafe String(cString: errorText) }

    func keepDetail() {
        unsafe set(DECORUM_CURL_OPTION_ERRORBUFFER, errorText)
    }

    func set(_ option: decorum_curl_number_option, _ value: Int) {
        note(unsafe decorum_curl_set_number(library.functions, pointer, option, value), of: option.rawValue)
    }

    /// Closes the connection at the end of the transfer, unless others use it.
    ///
    /// Where an HTTP/2 stream ends early, libcurl 7.88 queues its RST_STREAM frame behind the next frame that the
    /// connection sends. Where the connection has nothing else to send, the server would never receive it.
    func closeConnection() {
        isPlain = false
        set(DECORUM_CURL_OPTION_FORBID_REUSE, 1)
    }

    /// Sets an option, and ignores a refusal, because the transfer works without it.
    func suggest(_ option: decorum_curl_number_option, _ value: Int) {
        isPlain = false
        _ = unsafe decorum_curl_set_number(library.functions, pointer, option, value)
    }

    func set(_ option: decorum_curl_offset_option, _ value: Int64) {
        note(unsafe decorum_curl_set_offset(library.functions, pointer, option, value), of: option.rawValue)
    }

    func set(_ option: decorum_curl_text_option, _ value: String) {
        note(unsafe decorum_curl_set_text(library.functions, pointer, option, value), of: option.rawValue)
    }

    /// Removes a text, also one that libcurl has by default; a library without the option has no such text.
    func clear(_ option: decorum_curl_text_option) {
        _ = unsafe decorum_curl_set_text(library.functions, pointer, option, nil)
    }

    func set(_ option: decorum_curl_pointer_option, _ value: UnsafeMutableRawPointer?) {
        note(unsafe decorum_curl_set_pointer(library.functions, pointer, option, value), of: option.rawValue)
    }

    /// Sets bytes, which the caller must keep for as long as the handle has them.
    func set(_ option: decorum_curl_bytes_option, _ value: CurlBytes) {
        note(
            unsafe decorum_curl_set_bytes(library.functions, pointer, option, value.pointer, value.count),
            of: option.rawValue)
    }

    func set(_ option: decorum_curl_data_callback_option, _ value: @escaping decorum_curl_data_callback) {
        note(unsafe decorum_curl_set_data_callback(library.functions, pointer, option, value), of: option.rawValue)
    }

    /// Keeps the result of setting an option, if it is the first refusal.
    func note(_ code: Int32, of option: UInt32 = 0) {
        if refusal == 0, code != 0 { (refusal, refusedOption) = (code, option) }
    }

    func number(_ information: decorum_curl_number_information) -> Int {
        unsafe decorum_curl_number(library.functions, pointer, information)
    }

    /// A time since the start of the transfer; nil if libcurl has no such time.
    func time(_ information: decorum_curl_offset_information) -> Duration? {
        let microseconds = unsafe decorum_curl_offset(library.functions, pointer, information)
        return microseconds > 0 ? .microseconds(microseconds) : nil
    }

    func text(_ information: decorum_curl_text_information) -> String? {
        guard let text = unsafe decorum_curl_text(library.functions, pointer, information) else { return nil }
        return unsafe text.pointee == 0 ? nil : String(cString: text)
    }

    /// Pauses the given directions and resumes the others, which may call back before this returns.
    func pause(receiving: Bool, sending: Bool) {
        let directions =
            (receiving ? DECORUM_CURL_PAUSE_RECEIVING : 0) | (sending ? DECORUM_CURL_PAUSE_SENDING : 0)
        _ = unsafe decorum_curl_easy_pause(library.functions, pointer, Int32(directions))
    }

    /// The certificates of the server in the form DER, its own first; empty unless the transfer has made a TLS handshake.
    var certificates: [Data] {
        var chain: [Data] = []
        for number in 0..<Int32(ResponseMetadata.certificateLimit) {
            guard let text = unsafe decorum_curl_certificate(library.functions, pointer, number),
                let certificates = unsafe [Data](pemCertificates: String(cString: text))
            else { break }
            chain += certificates
        }
        return chain
    }
}

@available(*, unavailable)
extension CurlEasy: Sendable {}

/// Bytes at a fixed address, so that every handle can point to them.
///
/// `@unchecked Sendable`, since they never change, and are freed when the last reference to them is released.
@safe final class CurlBytes: @unchecked Sendable {
    private let bytes: UnsafeMutableRawBufferPointer

    init(_ bytes: some Collection<UInt8>) {
        unsafe self.bytes = .allocate(byteCount: bytes.count, alignment: 1)
        unsafe self.bytes.copyBytes(from: bytes)
    }

    deinit {
        // The bytes may be a private key.
        unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe bytes.deallocate()
    }

    var pointer: UnsafeRawPointer? { unsafe UnsafeRawPointer(bytes.baseAddress) }
    var count: Int { unsafe bytes.count }
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

    /// Adds a line, or ignores it if the system has no memory for it.
    func append(_ line: String) {
        unsafe pointer = decorum_curl_list_append(library.functions, pointer, line) ?? pointer
    }

    /// Adds the line of a field, byte for byte; the memory of `line` serves the next fields too.
    func append(_ field: HTTPField, using line: inout [UInt8]) {
        // libcurl sends a field with an empty value for a line that ends with a semicolon.
        guard !field.value.isEmpty else { return append(field.name.rawName + ";") }
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

    // Large enough for few wake-ups in a large body, small enough that the allocator serves it without a system call.
    static let bufferSize = 64 << 10

    /// The versions of HTTP to offer with TLS, and without.
    private var secureVersion: Int
    private let clearVersion: Int
    /// The limits of all transfers together.
    var limits: [(decorum_curl_multi_option, Int)] = []
    /// The largest number of connections to a host.
    var connectionsPerHost = Int.max
    /// Whether the connections to all hosts together are limited too.
    var limitsAllHosts = false
    /// The path of the Unix socket that all requests go to; nil for the network.
    var unixSocket: String?
    /// Whether the certificates of servers are kept for their responses.
    var reportsCertificates = false
    var added: [Option] = []

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

    mutating func add(_ options: Option...) { added += options }

    /// Whether connections with TLS, or without, may use HTTP/2.
    func offersHTTP2(isSecure: Bool) -> Bool {
        (isSecure ? secureVersion : clearVersion) != Int(DECORUM_CURL_HTTP_VERSION_1_1)
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
        easy.note(
            unsafe decorum_curl_refuse_rewinding(easy.library.functions, easy.pointer),
            of: DECORUM_CURL_OPTION_SEEKFUNCTION.rawValue)
        if reportsCertificates { easy.set(DECORUM_CURL_OPTION_CERTINFO, 1) }
        for option in added { option.apply(to: easy) }
        if let unixSocket { easy.set(DECORUM_CURL_OPTION_UNIX_SOCKET_PATH, unixSocket) }
    }

    /// Sets the versions of HTTP to offer.
    func applyVersion(to easy: CurlEasy, isSecure: Bool) {
        easy.set(DECORUM_CURL_OPTION_HTTP_VERSION, isSecure ? secureVersion : clearVersion)
        let offersHTTP2 = offersHTTP2(isSecure: isSecure)
        let needsOwnConnection = !isSecure && offersHTTP2 && easy.library.restartsHTTP2
        if needsOwnConnection {
            easy.set(DECORUM_CURL_OPTION_FRESH_CONNECT, 1)
            easy.closeConnection()
        }
        // A request waits to learn whether it can share the connection that another request opens. Over HTTP/1.1 it
        // cannot.
        easy.set(DECORUM_CURL_OPTION_PIPEWAIT, offersHTTP2 && !needsOwnConnection ? 1 : 0)
    }

    /// Checks that the library accepts all options, also the options of some requests, so that it ignores no option in silence.
    func check(_ library: CurlLibrary, and further: [Option]) throws(CurlUnavailableError) {
        guard let easy = CurlEasy(library) else { throw .unusable(library.version) }
        apply(to: easy)
        for option in further { option.apply(to: easy) }
        guard easy.refusal == DECORUM_CURL_OK else {
            throw .unsupportedOption(library.version, easy.refusedName ?? "an option", library.error(easy.refusal).text)
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

extension TLSOptions {
    func add(to options: inout CurlOptions) {
        options.reportsCertificates = reportsCertificates
        options.add(.number(DECORUM_CURL_OPTION_SSLVERSION, minimumVersion.curlNumber))
        options.added += roots.options(
            DECORUM_CURL_OPTION_CAINFO, DECORUM_CURL_OPTION_CAINFO_BLOB, DECORUM_CURL_OPTION_CAPATH)
        if !pinnedKeys.isEmpty {
            let pins = pinnedKeys.map { "sha256//" + $0.base64EncodedString() }
            options.add(.text(DECORUM_CURL_OPTION_PINNEDPUBLICKEY, pins.joined(separator: ";")))
        }
        switch identity?.source {
        case nil: return
        case .files(let certificate, let key):
            options.add(
                .text(DECORUM_CURL_OPTION_SSLCERT, certificate.path), .text(DECORUM_CURL_OPTION_SSLKEY, key.path))
        case .pem(let certificate, let key):
            options.add(
                .bytes(DECORUM_CURL_OPTION_SSLCERT_BLOB, CurlBytes(certificate.utf8)),
                .bytes(DECORUM_CURL_OPTION_SSLKEY_BLOB, CurlBytes(key.value.utf8)))
        case .pkcs12(let data):
            options.add(
                .bytes(DECORUM_CURL_OPTION_SSLCERT_BLOB, CurlBytes(data.value)),
                .text(DECORUM_CURL_OPTION_SSLCERTTYPE, "P12"))
        }
        if let password = identity?.password { options.add(.secret(DECORUM_CURL_OPTION_KEYPASSWD, password)) }
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
