public import Decorum
public import Foundation

/// The settings that a case asks of the transport that is made for it.
///
/// Most cases ask for a clock alone. The cases with TLS make their own certificates, so they ask for a transport that
/// trusts their root certificate, and that shows a client certificate.
public struct TransportConditions: Sendable {
    /// A certificate and its key, for a server that asks for a client certificate.
    public struct Identity: Sendable, Hashable {
        /// The file of the certificate, in the PEM format.
        public let certificate: URL
        /// The file of the key, in the PEM format.
        public let key: URL
    }

    /// The clock that measures timeouts.
    public let clock: any DatedClock
    /// The PEM file of the only root certificate to trust; nil to trust those of the system.
    public let root: URL?
    /// The certificate for a server that asks for a client certificate; nil for none.
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
