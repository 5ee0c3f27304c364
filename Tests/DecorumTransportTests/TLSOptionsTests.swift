import Foundation
import Testing

@testable import Decorum

struct TLSOptionsTests {
    @Test func `No description shows a password or a key`() {
        var tls = TLSOptions()
        let file = Data("p12-bytes".utf8)
        for identity: TLSOptions.Identity in [
            .pem(certificate: "certificate", key: "s3cret-key", password: "s3cret"),
            .files(certificate: URL(filePath: "/a.pem"), key: URL(filePath: "/k.pem"), password: "s3cret"),
            .pkcs12(file, password: "s3cret"),
        ] {
            tls.identity = identity
            var dumped = ""
            dump(tls, to: &dumped)
            #expect(dumped.contains("minimumVersion"))
            for text in [dumped, String(describing: tls), String(reflecting: tls)] {
                #expect(!text.contains("s3cret"))
                #expect(!text.contains(file.base64EncodedString()))
            }
        }
    }

    @Test(arguments: [
        ([], [0], true), ([0], [0], true), ([1], [0], false), ([1, 0], [0], true),
        // The key of an issuer does not count.
        ([1], [0, 1], false), ([0], [0, 1], true), ([0], [], false), ([], [], true),
    ])
    func `A chain is admitted by the key of its first certificate`(pins: [Int], chain: [Int], isAdmitted: Bool) {
        let certificates = (0...1).map { CertificateBytes.certificate(key: [UInt8($0)]) }
        var tls = TLSOptions()
        tls.pinnedKeys = pins.map { Data([7, 0x30, 1, UInt8($0)]) }
        // In place of SHA-256, a byte before the key.
        let admits = tls.admits(chain.map { Data(certificates[$0]) }) { Data([7]) + $0 }
        #expect(admits == isAdmitted)
    }

    @Test func `A first certificate that cannot be read is not admitted`() {
        var tls = TLSOptions()
        tls.pinnedKeys = [Data()]
        #expect(!tls.admits([Data([0x30])]) { _ in Data() })
        #expect(!tls.admits([Data([0x30]), Data(CertificateBytes.certificate(key: [0]))]) { _ in Data() })
    }

    @Test(arguments: [
        (-67818, TransportError.TLSProblem.expired), (-67819, .notYetValid), (-67602, .wrongName),
        (-67843, .untrusted), (-25318, .untrusted), (-67820, .unverified), (0, .unverified),
    ])
    func `The statuses of Apple's systems have their problems`(status: Int, problem: TransportError.TLSProblem) {
        #expect(TransportError.TLSProblem(trustStatus: status) == problem)
    }
}
