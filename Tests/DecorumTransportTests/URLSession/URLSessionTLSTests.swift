#if !canImport(FoundationNetworking)
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Options for TLS on URLSession of Apple's systems.
@Suite(.timeLimit(.minutes(3))) struct URLSessionTLSTests {
    @Test(.enabled(if: SecureServer.missingForTLS == nil, "openssl is not installed"))
    func `Roots, pinned keys and a closure decide about a server`() async throws {
        let server = try await SecureServer.openssl("-www")
        let pem = try String(contentsOf: server.certificate, encoding: .utf8)
        var tls = TLSOptions()
        tls.roots = .file(server.root)
        tls.pinnedKeys = [try server.pin]
        tls.reportsCertificates = true
        tls.evaluateTrust = { _, host in host == "127.0.0.1" }
        let response = try await URLSessionConnection(tls: tls).send(.get(server.url + "/"))
        #expect(response.status == .ok)
        #expect(response.metadata.serverCertificates.first == [Data](pemCertificates: pem)?.first)

        let changes: [(TransportError.TLSProblem, (inout TLSOptions) -> Void)] = [
            (.untrusted, { $0.roots = .file(server.stranger) }),
            (.wrongKey, { $0.pinnedKeys = [Data(repeating: 7, count: 32)] }),
            (.unverified, { $0.evaluateTrust = { _, _ in false } }),
        ]
        for (problem, change) in changes {
            var changed = tls
            change(&changed)
            let error = await #expect(throws: TransportError.self) {
                try await URLSessionConnection(tls: changed).send(.get(server.url + "/"))
            }
            #expect(error?.code == .tls)
            #expect(error?.stage == .connecting)
            #expect(error?.tlsProblem == problem)
        }
    }

    @Test(arguments: [TLSOptions.Roots.file(URL(filePath: "/nowhere.pem")), .pem("text")])
    func `Roots that cannot be read are refused`(roots: TLSOptions.Roots) {
        var tls = TLSOptions()
        tls.roots = roots
        let error = #expect(throws: TransportError.self) { try URLSessionConnection(tls: tls) }
        #expect(error?.tlsProblem == .unusableRoots)
    }

    @Test(arguments: [0, 1])
    func `An identity that URLSession cannot use is refused without its password`(index: Int) {
        var tls = TLSOptions()
        tls.identity =
            [
                .pkcs12(Data("file".utf8), password: "s3cret"),
                .pem(certificate: "text", key: "s3cret-key", password: "s3cret"),
            ][index]
        let error = #expect(throws: TransportError.self) { try SystemConnection(tls: tls) }
        #expect(error?.tlsProblem == .unusableIdentity)
        #expect(error?.description.contains("s3cret") == false)
    }
}
#endif
