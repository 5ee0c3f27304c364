public import Foundation

extension ResponseMetadata {
    /// The certificates that the server has shown, in the form DER, its own first (RFC 8446, section 4.4.2).
    ///
    /// They were verified before the request was sent. Use them to show who the server is, or to report which chain a network
    /// uses; to accept only some keys, a transport has `pinnedKeys`, which refuses a connection before anything is sent.
    ///
    /// `CurlConnection` reports them where its `TLS.reportsCertificates` is set, for the first response of a connection: on a
    /// connection that was used before there is no handshake, as ``TransferTimings/isConnectionReused`` tells. Otherwise, and with
    /// other transports, it is empty. URLSession on Linux and AsyncHTTPClient do not give them.
    public var serverCertificates: [Data] {
        get { self[ServerCertificatesKey.self] }
        set { self[ServerCertificatesKey.self] = newValue }
    }
}

private enum ServerCertificatesKey: ResponseMetadataKey {
    static let defaultValue: [Data] = []
}
