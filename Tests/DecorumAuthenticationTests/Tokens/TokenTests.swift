import DecorumTesting
import Foundation
import Testing

@testable import DecorumAuthentication

@Suite struct TokenTests {
    private let expiry = Date(timeIntervalSince1970: 1_700_000_000.75)

    @Test func `No description and no reflection shows a secret`() throws {
        let token = try Token("hunter2-access", expiry: expiry, refreshToken: "hunter2-refresh", scope: "hunter2-scope")
        var dumped = ""
        dump((token, Optional(token), MemoryTokenStore(token)), to: &dumped)
        let shown = "\(token) \(String(reflecting: token)) \([token]) \(MemoryTokenStore(token))" + dumped
        #expect(!shown.contains("hunter2"))
        #expect(shown.contains("with a refresh token"))
    }

    @Test(arguments: ["", "a b", "a\nb", "a\u{0}", "é", String(repeating: "x", count: Token.lengthLimit + 1)])
    func `Text that no field can carry is refused`(text: String) {
        #expect(throws: InvalidTokenError.self) { try Token(text) }
    }

    @Test func `An error does not show the text`() throws {
        let error = try #require(throws: InvalidTokenError.self) { try Token("a", refreshToken: "hunter2\n") }
        #expect(
            error.description == "The refresh token has a line break, a blank or another character that no token has.")
    }

    @Test(arguments: [-1e300, -1, 0, 1_700_000_000.75, 1e300, Double.infinity, Double.nan])
    func `A stored token is the same, with any expiry`(seconds: Double) throws {
        let token = try Token(
            #"a"\{"#, type: "bearer", expiry: Date(timeIntervalSince1970: seconds), refreshToken: "r r", scope: "x y")
        #expect(try Token(storedForm: token.storedForm) == token)
        let bare = try Token("a")
        #expect(try Token(storedForm: bare.storedForm) == bare)
    }

    @Test func `A token is valid until its expiry`() throws {
        let token = try Token("a", expiry: expiry)
        #expect(token.isValid(at: Date(timeIntervalSince1970: 1_699_999_999.9)))
        #expect(!token.isValid(at: Date(timeIntervalSince1970: 1_700_000_000)))
        #expect(try Token("a").isValid(at: .distantFuture))
    }

    @Test func `Bytes that are no token give an error without them`() throws {
        let whole = try Token("access-secret", expiry: expiry, refreshToken: "refresh-secret").storedForm
        let generator = SeededGenerator(seed: 7)
        var damaged = 0
        for round in 0..<3000 {
            var bytes = round % 3 == 0 ? whole.prefix(Int(generator.next() % UInt64(whole.count))) : whole
            for _ in 0..<(generator.next() % 4) where !bytes.isEmpty {
                let index = bytes.startIndex + Int(generator.next() % UInt64(bytes.count))
                bytes[index] = UInt8(truncatingIfNeeded: generator.next())
            }
            do {
                let token = try Token(storedForm: Data(bytes))
                #expect(token.accessToken.utf8.allSatisfy { (0x21...0x7E).contains($0) })
            } catch {
                damaged += 1
                #expect(!error.description.contains("secret"))
            }
        }
        #expect(damaged > 1000)
        let deep = Data(String(repeating: "[", count: 100_000).utf8)
        let large = Data(repeating: 0x20, count: Token.storedFormLimit + 1)
        for bytes in [Data(), deep, large, Data(#"{"version":2}"#.utf8)] {
            #expect(throws: InvalidTokenError.self) { try Token(storedForm: bytes) }
        }
    }
}
