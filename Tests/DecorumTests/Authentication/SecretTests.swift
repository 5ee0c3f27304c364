import HTTPTypes
import Testing

@testable import Decorum

@Suite struct SecretTests {
    @Test func `A secret shows only that it is a secret`() {
        let secret = Secret(value: "hunter2")
        var dumped = ""
        dump([secret], to: &dumped)

        for text in ["\(secret)", String(reflecting: secret), dumped] {
            #expect(text.contains("redacted"))
            #expect(!text.contains("hunter2"))
        }
        #expect(secret.value == "hunter2")
    }

    @Test func `Fields of credentials show no secret in reflections`() {
        var dumped = ""
        dump(Credentials.Source.fields([.authorization: "hunter2"]), to: &dumped)
        #expect(dumped.contains("Source"))
        #expect(!dumped.contains("hunter2"))
    }
}
