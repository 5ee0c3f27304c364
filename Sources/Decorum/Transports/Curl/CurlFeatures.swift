#if os(Linux)
import DecorumCurl

/// The system's libcurl, as a command shows it.
package struct CurlFeatures: Sendable {
    /// The version, as in `8.5.0`.
    package let version: String
    /// The library for TLS and its version, as in `OpenSSL/3.0.13`; empty without one.
    package let tls: String
    /// The features that matter to a client of HTTP, each with whether the library has it.
    package let features: KeyValuePairs<String, Bool>
    /// The protocols, as in `["http", "https", "ws"]`.
    package let protocols: [String]

    /// Opens the library that a ``CurlConnection`` uses.
    package init() throws(CurlUnavailableError) {
        let library = try CurlLibrary()
        version = library.version
        tls = unsafe decorum_curl_tls_version(library.functions).map { unsafe String(cString: $0) } ?? ""
        let bits = unsafe decorum_curl_features(library.functions)
        func has(_ bit: Int) -> Bool { bits & 1 << bit != 0 }
        // Each number is the bit of a `CURL_VERSION_…` in the header of libcurl.
        features = [
            "HTTP/2": has(16), "HTTP/3": has(25), "gzip": has(3), "brotli": has(23), "zstd": has(26), "IPv6": has(0),
            "HTTPS proxy": has(21), "Unix sockets": has(19), "HSTS": has(28), "Alt-Svc": has(24),
            "asynchronous DNS": has(7),
        ]
        var names: [String] = []
        while let name = unsafe decorum_curl_protocol(library.functions, Int32(names.count)) {
            unsafe names.append(String(cString: name))
        }
        protocols = names
    }
}
#endif
