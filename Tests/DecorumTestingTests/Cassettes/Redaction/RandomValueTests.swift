import Decorum
import DecorumTesting
import Foundation
import Testing

/// Random values under names that are secret only with such values.
@Suite struct RandomValueTests {
    @Test(arguments: ["session", "sid", "key", "ticket", "code", "rt"])
    func `A random value is replaced`(name: String) {
        let generator = SeededGenerator(seed: 24)
        let signs = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        for _ in 0..<100 {
            let value = String((0..<24).map { _ in signs[Int(generator.next() % UInt64(signs.count))] })
            #expect(!Self.rewritten(value, name).contains(value))
        }
    }

    @Test(arguments: [
        "summer-sale-2026", "machine-learning_basics", "PAYMENT_METHOD_DECLINED", "camelCaseNameOfAField",
        "com.example.app-name", "A4-80-white-glossy-2026",
    ])
    func `A code of an API stays`(value: String) {
        #expect(Self.rewritten(value, "code").contains(value))
    }

    @Test(arguments: [("Stuttgart-Hauptbahnhof", "rt"), ("WWDC26-Swift-Concurrency", "session")])
    func `A name stays`(value: String, name: String) {
        #expect(Self.rewritten(value, name).contains(value))
    }

    private static func rewritten(_ value: String, _ name: String) -> String {
        let content = Data(#"{"\#(name)":"\#(value)"}"#.utf8)
        let rewriting = SecretRewriting(.standard, by: Pseudonyms())
        return String(decoding: rewriting.applied(to: content, mediaType: "application/json"), as: UTF8.self)
    }
}
