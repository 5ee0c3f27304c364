import DecorumTestSupport
import DecorumTesting
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

struct CertificateFormsTests {
    @Test func `Certificates are read among other lines`() {
        let text = """
            # Root one\r
            -----BEGIN CERTIFICATE-----\r
            AAEC\r
            AwQF\r
            -----END CERTIFICATE-----\r
            -----BEGIN PRIVATE KEY-----
            AAAA
            -----END PRIVATE KEY-----

            -----BEGIN CERTIFICATE-----
            Bg==
            -----END CERTIFICATE-----
            """
        #expect([Data](pemCertificates: text) == [Data([0, 1, 2, 3, 4, 5]), Data([6])])
    }

    @Test(arguments: [
        "", "-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----", "AAAA", "-----END CERTIFICATE-----",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\nAAAA",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
    ])
    func `A text with no certificate, or an invalid one, has none`(text: String) {
        #expect([Data](pemCertificates: text) == nil)
    }

    @Test(
        .enabled(if: SecureServer.missingForTLS == nil, "openssl is not installed"),
        arguments: [
            "rsa:2048", "rsa:4096", "ec -pkeyopt ec_paramgen_curve:prime256v1",
            "ec -pkeyopt ec_paramgen_curve:secp384r1",
            "ed25519",
        ], [1, 3])
    func `The key of a certificate is the one that openssl finds`(key: String, version: Int) async throws {
        let signing =
            version == 1
            ? "-new -out r.pem && $openssl x509 -req -in r.pem -signkey k.pem -out c.pem"
            : "-x509 -extensions root -out c.pem"
        let configuration =
            "[req]\ndistinguished_name=name\nprompt=no\n[name]\ncommonName=a\n[root]\nsubjectKeyIdentifier=hash\n"
        let output = try await RunningScript.output(
            of: """
                openssl=${DECORUM_OPENSSL:-openssl}
                { $openssl req -config openssl.conf -newkey \(key) -nodes -keyout k.pem \(signing) ; } 2>openssl.log
                $openssl x509 -in c.pem -outform der | $openssl base64 -A
                echo
                $openssl pkey -in k.pem -pubout -outform der | $openssl base64 -A
                """,
            files: ["openssl.conf": Data(configuration.utf8)])
        let parts = output.split(separator: 0x0A).compactMap { Data(base64Encoded: $0) }
        let certificate = try #require(parts.first)
        #expect(certificate.subjectPublicKeyInfo == parts.last)
        #expect(parts.count == 2)
        for end in certificate.indices { #expect(certificate[..<end].subjectPublicKeyInfo == nil) }
        // A slice, whose first index is not 0.
        #expect((Data([1, 2, 3]) + certificate).dropFirst(3).subjectPublicKeyInfo == parts.last)
    }

    @Test(
        arguments: [
            // A length that is longer or shorter than the content, has no end, has zeros in front, or is too long.
            [0x30, 3, 1, 2], [0x30, 1, 1, 2], [0x30, 0x80, 1, 2], [0x30, 0x81, 2, 1, 2], [0x30, 0x82, 0, 2, 1, 2],
            [0x30, 0x84, 0, 0, 0, 2, 1, 2], [0x30, 0x88, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x30, 0xFF],
            // Another type, and no value.
            [0x31, 2, 1, 2], [],
        ] as [[UInt8]])
    func `A certificate with an invalid subject has no key`(subject: [UInt8]) {
        #expect(Data(CertificateBytes.certificate(key: [9], subject: [0x30, 2, 1, 2])).subjectPublicKeyInfo != nil)
        #expect(Data(CertificateBytes.certificate(key: [9], subject: subject)).subjectPublicKeyInfo == nil)
    }

    @Test func `Any changed byte ends in a key or in none`() {
        let whole = CertificateBytes.certificate(key: Array(repeating: 9, count: 300))
        var outcomes: [Bool: Int] = [:]
        for index in whole.indices {
            for value: UInt8 in [0, 1, 0x30, 0x7F, 0x80, 0x81, 0x82, 0x83, 0x84, 0xFF, whole[index] ^ 1] {
                var changed = whole
                changed[index] = value
                outcomes[Data(changed).subjectPublicKeyInfo != nil, default: 0] += 1
            }
        }
        #expect(outcomes[true, default: 0] > 3000)
        #expect(outcomes[false, default: 0] > 100)
    }

    @Test func `Long certificates are read in linear time`() {
        expectLinearTime(upTo: 1_000_000, "PEM") { size in
            let text = String(
                repeating: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", count: size / 60)
            return { _ = [Data](pemCertificates: text) }
        }
        expectLinearTime(upTo: 8_000_000, "DER") { size in
            let data = Data(CertificateBytes.certificate(key: Array(repeating: 0x30, count: size)))
            return { _ = data.subjectPublicKeyInfo }
        }
    }
}

/// Certificates that hold no more than their fields.
enum CertificateBytes {
    static func certificate(key: [UInt8], subject: [UInt8] = [0x30, 0]) -> [UInt8] {
        let fields =
            value(0xA0, value(2, [2])) + value(2, [1]) + value(0x30, []) + value(0x30, []) + value(0x30, [])
            + subject + value(0x30, key)
        return value(0x30, value(0x30, fields) + value(0x30, []) + value(3, [0]))
    }

    private static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let bytes = [16, 8, 0].map { (shift: Int) -> UInt8 in UInt8(count >> shift & 0xFF) }.drop { $0 == 0 }
        let length: [UInt8] = count < 0x80 ? [UInt8(count)] : [0x80 + UInt8(bytes.count)] + bytes
        return [tag] + length + content
    }
}
