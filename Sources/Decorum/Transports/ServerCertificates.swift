public import Foundation

extension ResponseMetadata {
    // A server could send any number of them.
    static let certificateLimit = 16

    /// The certificates of the server in the form DER, its own first (RFC 8446, section 4.4.2), where
    /// ``TLSOptions/reportsCertificates`` is set.
    ///
    /// The server was trusted before the request was sent, by a path from its own certificate to a root. Use them to show which
    /// chain a network uses. To accept only some keys, set ``TLSOptions/pinnedKeys``, which refuse a connection before
    /// anything is sent.
    ///
    /// At most 16 are reported, for the response to the request that has opened the connection; other responses on it have
    /// none, as ``TransferTimings/isConnectionReused`` tells on libcurl. `CurlConnection` has those that the server has sent,
    /// after a full handshake. URLSession on Apple's systems has the path that it was trusted by, up to the root. Over
    /// `http`, and with URLSession on Linux and AsyncHTTPClient, there are none.
    public var serverCertificates: [Data] {
        get { self[ServerCertificatesKey.self] }
        set { self[ServerCertificatesKey.self] = newValue }
    }
}

private enum ServerCertificatesKey: ResponseMetadataKey {
    static let defaultValue: [Data] = []
}
