public import Decorum
public import Foundation

/// What a case asks of the transport that is made for it.
///
/// Most cases ask for a clock alone. Those with TLS make certificates of their own, so they ask for a transport that
/// trusts their root, and that shows who the client is.
public struct TransportConditions: Sendable {
    /// A certificate and its key, for a server that asks who the client is.
    public struct Identity: Sendable, Hashable {
        /// The file of the certificate, in the PEM format.
        public let certificate: URL
        /// The file of the key, in the PEM format.
        public let key: URL
    }

    /// The clock that timeouts go by.
    public let clock: any DatedClock
    /// The file, in the PEM format, of the only certificate that a server's own may lead to; nil for the system's.
    public let root: URL?
    /// What is shown to a server that asks who the client is; nil for nothing.
    public let identity: Identity?

    init(clock: any DatedClock = SystemClock(), root: URL? = nil, identity: Identity? = nil) {
        self.clock = clock
        self.root = root
        self.identity = identity
    }
}

extension SecureServer {
    /// The certificate and the key that a client can show to an openssl server.
    package var identity: TransportConditions.Identity {
        TransportConditions.Identity(certificate: clientCertificate, key: clientKey)
    }
}
