import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum
@testable import DecorumArchive

/// Bytes that are made to be slow to read, or to hide a secret.
@Suite struct HostileContentTests {
    /// The texts that are repeated.
    private static let parts = [
        "eyJ", "eyJx.", "eyJabcd.abcd", "bearer+", "basic+", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----MIIEvQIBADANBg",
        "sk-", "ya29.", "SG.a", "glpat-a.", "\\u0041eyJ", "%25", "a=%7B&", ";a=", "://a:b", "{\"a\":", "\"{", "[\"a\",",
        "token=", "/[.", "?",
        "{\"a\":\"https%3A%2F%2F\"},",
    ]

    @Test func `A token that is planted between random bytes never survives`() {
        let generator = SeededGenerator(seed: 29)
        let token = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5"
        let separators = Array(" \t,;()<>[]{}|^`~!@#$*:?/&='\"".utf8)
        for _ in 0..<1_000 {
            func noise() -> [UInt8] {
                (0..<generator.next() % 40).map { _ in
                    let draw = generator.next()
                    return draw % 3 == 0
                        ? separators[Int(draw >> 8) % separators.count] : UInt8(truncatingIfNeeded: draw >> 8)
                }
            }
            let separator = separators[Int(generator.next() % UInt64(separators.count))]
            let bytes = noise() + [separator] + Array(token.utf8) + [separator] + noise()
            for mediaType in ["text/plain", "application/json", "application/x-www-form-urlencoded", "text/html", nil] {
                let output = Redaction.standard.applied(to: Data(bytes), mediaType: mediaType)
                #expect(output.firstRange(of: Data(token.utf8)) == nil, "\(bytes)")
            }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(!Redaction.standard.applied(toURL: text).contains(token))
            let field = HTTPField(name: .userAgent, value: text)
            let fields = Redaction.standard.applied(to: HTTPFields([field]))
            #expect(fields[.userAgent]?.contains(token) == false)
        }
    }

    @Test func `Arbitrary bytes can be redacted as any content`() {
        let generator = SeededGenerator(seed: 37)
        let parts = Self.parts.map { Array($0.utf8) } + [[0xFF], [0], [0xC3], Array("password".utf8)]
        let types = [
            nil, "application/json", "application/x-www-form-urlencoded", "text/plain", "text/html", "image/png",
            "multipart/form-data; boundary=a",
        ]
        for _ in 0..<1_000 {
            let bytes = (0...generator.next() % 12).flatMap { _ in parts[Int(generator.next() % UInt64(parts.count))] }
            for mediaType in types {
                #expect(Redaction.none.applied(to: Data(bytes), mediaType: mediaType) == Data(bytes))
                let planted = Data("token=s3cret&".utf8 + bytes)
                let output = Redaction.standard.applied(to: planted, mediaType: mediaType)
                let isForm = mediaType == "application/x-www-form-urlencoded"
                #expect(!isForm || output.firstRange(of: Data("s3cret".utf8)) == nil, "\(bytes)")
            }
        }
    }
}
