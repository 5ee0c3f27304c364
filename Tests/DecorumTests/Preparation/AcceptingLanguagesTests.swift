import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// RFC 9110, section 12.5.4, and RFC 4647, section 2.1.
@Suite struct AcceptedLanguagesTests {
    let stub = StubConnection { _ in Response(status: .ok) }

    @Test(arguments: [
        (["en"], "en"),
        (["de-CH", "de", "en"], "de-CH, de;q=0.9, en;q=0.8"),
        (["zh-Hant-TW", "sr-x-private", "es-419", "*"], "zh-Hant-TW, sr-x-private;q=0.9, es-419;q=0.8, *;q=0.7"),
        (["en", "EN", "de", "en"], "en, de;q=0.9"),
        (["a", "b", "c", "d", "e", "f", "g", "h"], "a, b;q=0.9, c;q=0.8, d;q=0.7, e;q=0.6, f;q=0.5"),
    ])
    func `Languages are requested in the order of preference`(languages: [String], field: String) async throws {
        let connection = try stub.acceptingLanguages(languages)

        _ = try await connection.send(.get("https://api.example.com/"))
        _ = try await connection.send(.get("https://api.example.com/", fields: [.acceptLanguage: "own"]))

        #expect(stub.requests.map { $0.head.headerFields[values: .acceptLanguage] } == [[field], ["own"]])
        #expect(connection.layers[0].description == "acceptingLanguages(languages: \(field))")
    }

    @Test(arguments: [
        [], [""], ["en", ""], ["pt_BR"], ["en US"], ["en;q=0.5"], ["en,de"], ["-en"], ["en-"], ["en--US"],
        ["abcdefghi"],
        ["en-abcdefghi"], ["1en"], ["en\r\nX-Evil: 1"], ["en\n"], ["d\u{E9}"], ["*-US"], ["en-*"], ["en\u{301}"],
        ["C.UTF-8"], ["\u{212A}o"],
    ])
    func `An invalid language tag is refused`(languages: [String]) throws {
        let error = try #require(throws: InvalidRequestError.self) { _ = try stub.acceptingLanguages(languages) }
        #expect(error.reason == .invalidField)
    }

    @Test func `The user's languages are requested`() async throws {
        let connection = stub.acceptingLanguages()
        _ = try await connection.send(.get("https://api.example.com/"))
        _ = try await connection.send(.get("https://api.example.com/", fields: [.acceptLanguage: "own"]))

        let preferred = Locale.preferredLanguages.filter(\.isLanguageRange).acceptLanguage
        #expect(stub.requests[0].head.headerFields[.acceptLanguage] == (preferred.isEmpty ? nil : preferred))
        #expect(stub.requests[1].head.headerFields[values: .acceptLanguage] == ["own"])
        #expect([].acceptLanguage.isEmpty)
    }

    @Test func `Every accepted tag has only valid characters`() {
        let generator = SeededGenerator(seed: 5)
        let alphabet = Array("aZ09-*_;,= \r\n\u{E9}")
        for _ in 0..<5000 {
            let length = 1 + generator.next() % 9
            let tag = String((0..<length).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] })
            guard tag.isLanguageRange else { continue }
            #expect(tag == "*" || tag.utf8.allSatisfy { "aZ09-".utf8.contains($0) }, "\(tag.debugDescription)")
            #expect(!tag.hasPrefix("-") && !tag.hasSuffix("-") && !tag.contains("--"))
        }
    }
}
