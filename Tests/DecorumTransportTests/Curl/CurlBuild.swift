#if os(Linux)
@testable import Decorum
import DecorumConformance
import DecorumTesting
import Testing

/// An installed build of libcurl.
struct CurlBuild: Sendable, CustomTestStringConvertible {
    let testDescription: String

    /// The installed ones of Debian's builds with OpenSSL and GnuTLS; the build with NSS does not accept PEM files.
    static let all = CurlLibrary.names
        .filter { name in (try? CurlLibrary([name])) != nil }.map(CurlBuild.init)

    func library() throws -> CurlLibrary { try CurlLibrary([testDescription]) }

    /// Makes the transport for a case of the conformance suite.
    func connection(
        _ conditions: TransportConditions, _ protocols: CurlConnection.Protocols = .negotiated
    ) throws -> CurlConnection {
        var tls = TLSOptions()
        if let root = conditions.root { tls.roots = .file(root) }
        tls.identity = conditions.identity.map { .files(certificate: $0.certificate, key: $0.key) }
        return try CurlConnection(library: library(), protocols: protocols, tls: tls, clock: conditions.clock)
    }
}
#endif
