public import Decorum
public import Foundation

/// The properties of the transport that is made for a case.
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
    /// The certificate for a server that asks for one; nil for none.
    public let identity: Identity?

    init(clock: any DatedClock = SystemClock(), root: URL? = nil, identity: Identity? = nil) {
        self.clock = clock
        self.root = root
        self.identity = identity
    }
}
