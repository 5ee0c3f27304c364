import Testing

@testable import Decorum

/// Random texts are told from the words of an API's language.
@Suite struct RandomTextTests {
    private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    private static let alphabets: [(alphabet: String, lengths: [Int])] = [
        (letters + letters.lowercased() + "0123456789-_", [16, 22, 24, 32, 43]),
        ("0123456789abcdef", [16, 20, 32, 64]),
        (letters + letters.lowercased() + "0123456789", [16, 22, 24, 32, 43]),
        (letters + "234567", [16, 20, 26, 32, 52]),
        (letters.lowercased() + "234567", [16, 20, 26, 32, 52]),
    ]

    @Test(arguments: alphabets.flatMap { kind in kind.lengths.map { (kind.alphabet, $0) } })
    func `At most one in a thousand random texts looks like words or a number`(alphabet: String, length: Int) {
        let generator = SeededGenerator(seed: UInt64(length))
        let signs = Array(alphabet.utf8)
        let missed = (0..<2000).count(where: { _ in
            let text = (0..<length).map { _ in signs[Int(generator.next() % UInt64(signs.count))] }
            return !OpaqueText.isOpaque(text[...])
        })
        #expect(missed <= 2)
    }

    @Test(arguments: [
        "KxVR-9oVsSbL5G-IxlXS7x1g", "2FiKJUQgrcyJEiyZvR-ZQvGj", "-EaRJdwgSRftEgTCqKmFqwIt", "JXL_gWr1_xFOcQXK_GLXdl3m",
        "qzxkv-bwtrp-mnlgd-hfjcs", "XKQRT-PLMNZ-7WDHV-GBJ2C", "wqhxzkvb-mtrnpldg-jfcsvkzq",
        "Stuttgart-Kx7VR9oVsSbL5GqZ", "Session-tXlQpVRwKbHdJzNm",
    ])
    func `Base64 for URLs, a recovery code in groups, and a token behind a name look random`(text: String) {
        #expect(OpaqueText.isOpaque(Array(text.utf8)[...]))
        let json = Array(#"{"session":"\#(text)"}"#.utf8)
        #expect(JSONSecrets(json, rules: Redaction.standard.rules).places.contains { $0.kind == .value })
    }

    @Test func `A token without a digit is found in the path of a URL too`() {
        let url = "https://api.example.com/reset/QZkXwVbNtRsLmPqKhJdF"
        #expect(!Redaction.standard.applied(toURL: url).contains("QZkXwVbNtRsLmPqKhJdF"))
    }

    @Test(arguments: [
        "EUR", "de", "en-US-x-private", "zh-Hant-TW-x-private", "summer-sale-2026", "machine-learning_basics",
        "order-created", "error.not_found", "invalid_request", "com.example.app-name", "PAYMENT_METHOD_DECLINED",
        "ERR_SSL_PROTOCOL_ERROR", "HTTP_429_TOO_MANY_REQUESTS", "camelCaseNameOfAField", "XMLHttpRequestError",
        "v2-beta-1", "v2026.01.15-rc.1", "1.2.3-beta.4+build.5678", "SKU-12345", "SKU-12345-XL-BLUE", "A4-80-white",
        "A4-80-white-glossy-2026", "INV-2026-00012345", "2026-01-15T09:30:00Z", "1234-5678-9012-3456",
        "payment_intent.succeeded", "zahlungsmethode-abgelehnt", "tarjeta_de_credito_rechazada",
        "internationalization", "oauth2_access_token_v1", "application/vnd.example.v2+json", "kyoto-tokyo-yokohama",
        "buyer_payer_buyer", "%D0%9F%D1%80%D0%B8%D0%B2%D0%B5%D1%82", "Stuttgart-Hauptbahnhof", "stuttgart-hauptbahnhof",
        "Frankfurt-Flughafen-Fernbahnhof", "Wolfsburg-Hauptbahnhof", "Schwaebisch-Gmuend-Mitte",
        "oeuvres-completes-Hugo", "Boulogne-sur-Mer-Nord", "Sevilla-Santa-Justa", "contrasena-incorrecta-usuario",
        "s-Hertogenbosch-Oost", "wachtwoord-vergeten-link", "Wroclaw-Swiebodzki", "Bydgoszcz-Wschod-PKS",
        "nieprawidlowe-haslo-uzytkownika", "Reggio-di-Calabria-Centrale", "utente-non-autorizzato",
        "gecersiz-dogrulama-kodu", "Diyarbakir-Havalimani", "Tokyo-Shinjuku-Gyoen", "Mythbusters-Rhythm-Night",
        "WWDC26-Swift-Concurrency", "wwdc26-swift-concurrency", "NBA-NFL-NHL-Playoffs", "HTWK-Leipzig-RWTH",
        "ZKM-Karlsruhe-BW", "MTB-XC-Carbon-29er", "AWS-reInvent-2026-DAT301",
    ])
    func `A code, a slug, a date, a version or a name does not look random`(text: String) {
        #expect(!OpaqueText.isOpaque(Array(text.utf8)[...]))
    }

    @Test func `A path and the name of a file are told from a random text with slashes or a point`() {
        let paths = [
            "uploads/2024/photo1.jpg", "images/a1b2c3d4/thumb_200x300.png", "report-2024-11-22.pdf", "a/b/c",
            "uploads/550e8400-e29b-41d4-a716-446655440000.jpg",
        ]
        let others = [
            "Zm9v/YmFyMTIz/NDU2Nzg5YWJjZGVmZ2hpamts", "q8Zr2VtX/k3LmN9pQs7w/B4yT6uJhG1fDx7", "a/b/c+d1e2f3g4h5i6j7",
            "k3LmN9pQs7wB4yT6uJhG1fD.aB3x", "QUJD/REVGMTIz/NDU2Nw==",
        ]
        #expect((paths + others).filter { OpaqueText.isPath(Array($0.utf8)[...]) } == paths)
    }
}
