#if os(Linux)
import DecorumCurl
import Foundation

/// A handle of libcurl for one transfer at a time, which one thread uses.
@safe final class CurlEasy {
    let library: CurlLibrary
    let pointer: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    /// The code of the first option that was refused since the last reset.
    private(set) var refusal: Int32 = 0
    private var refusedOption: UInt32?

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

    /// Resets all options; connections and resolved names stay, since they belong to the ``CurlMulti``.
    func reset() {
        unsafe decorum_curl_easy_reset(library.functions, pointer)
        unsafe errorText.pointee = 0
        refusal = 0
        refusedOption = nil
    }

    /// The name of the first option that was refused since the last reset.
    var refusedName: String? {
        guard let refusedOption else { return nil }
        guard let name = unsafe decorum_curl_option_name(library.functions, Int32(refusedOption)) else {
            return String(refusedOption)
        }
        return unsafe String(cString: name)
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
        set(DECORUM_CURL_OPTION_FORBID_REUSE, 1)
    }

    /// Sets an option, and ignores a refusal, because the transfer works without it.
    func suggest(_ option: decorum_curl_number_option, _ value: Int) {
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

    func setProgressCallback(_ value: @escaping decorum_curl_progress_callback) {
        note(
            unsafe decorum_curl_set_progress_callback(library.functions, pointer, value),
            of: DECORUM_CURL_OPTION_XFERINFOFUNCTION.rawValue)
    }

    func setTrailersCallback(_ value: @escaping decorum_curl_trailers_callback) {
        note(
            unsafe decorum_curl_set_trailers_callback(library.functions, pointer, value),
            of: DECORUM_CURL_OPTION_TRAILERFUNCTION.rawValue)
    }

    func setPrerequestCallback(_ value: @escaping decorum_curl_prerequest_callback) {
        note(
            unsafe decorum_curl_set_prerequest_callback(library.functions, pointer, value),
            of: DECORUM_CURL_OPTION_PREREQFUNCTION.rawValue)
    }

    func setCloseCallback(_ value: @escaping decorum_curl_close_callback) {
        note(
            unsafe decorum_curl_set_close_callback(library.functions, pointer, value),
            of: DECORUM_CURL_OPTION_CLOSESOCKETFUNCTION.rawValue)
    }

    func setDebugCallback(_ value: @escaping decorum_curl_debug_callback) {
        note(
            unsafe decorum_curl_set_debug_callback(library.functions, pointer, value),
            of: DECORUM_CURL_OPTION_DEBUGFUNCTION.rawValue)
    }

    func setSocketCallback(_ value: @escaping decorum_curl_socket_callback) {
        note(
            unsafe decorum_curl_set_socket_callback(library.functions, pointer, value),
            of: DECORUM_CURL_OPTION_OPENSOCKETFUNCTION.rawValue)
    }

    func refuseRewinding() {
        note(
            unsafe decorum_curl_refuse_rewinding(library.functions, pointer),
            of: DECORUM_CURL_OPTION_SEEKFUNCTION.rawValue)
    }

    private func note(_ code: Int32, of option: UInt32) {
        guard refusal == 0, code != 0 else { return }
        refusal = code
        refusedOption = option
    }

    func number(_ information: decorum_curl_number_information) -> Int {
        unsafe decorum_curl_number(library.functions, pointer, information)
    }

    /// A time since the start of the transfer; nil where libcurl has none.
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
        // They may be a private key.
        unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe bytes.deallocate()
    }

    var pointer: UnsafeRawPointer? { unsafe UnsafeRawPointer(bytes.baseAddress) }
    var count: Int { unsafe bytes.count }
}

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
