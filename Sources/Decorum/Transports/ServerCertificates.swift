public import Foundation

extension ResponseMetadata {
    /// The certificates that the server has shown, in the form DER, its own first (RFC 8446, section 4.4.2).
    ///
    /// The server was trusted before the request was sent, by a path from its own certificate to a root; it may have sent further
    /// certificates. Use them to show which chain a network uses. To accept only some keys, a transport has `pinnedKeys`, which
    /// refuses a connection before anything is sent.
    ///
    /// `CurlConnection` reports at most 16 of them where its `TLS.reportsCertificates` is set, for the response after a full
    /// handshake: on a connection that was used before there is none, as ``TransferTimings/isConnectionReused`` tells. Otherwise,
    /// over `http`, and with other transports, it is empty. URLSession on Linux and AsyncHTTPClient do not give them.
    public var serverCertificates: [Data] {
        get { self[ServerCertificatesKey.self] }
        set { self[ServerCertificatesKey.self] = newValue }
    }
}

private enum ServerCertificatesKey: ResponseMetadataKey {
    static let defaultValue: [Data] = []
}
