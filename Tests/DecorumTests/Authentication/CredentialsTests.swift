import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct CredentialsTests {
    private func fields(of credentials: Credentials) async throws -> HTTPFields {
        let stub = StubConnection(Response(status: .ok))
        let connection = stub.authenticating(with: credentials, for: try Origin("https://api.example.com"))
        _ = try await connection.send(.get("https://api.example.com/"))
        return stub.requests[0].head.headerFields
    }

    /// The first two rows are the examples of RFC 7617, sections 2 and 2.1.
    @Test(arguments: [
        ("Aladdin", "open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ("test", "123\u{A3}", "dGVzdDoxMjPCow=="),
        ("test", "a:b:c", "dGVzdDphOmI6Yw=="),
        ("", "", "Og=="),
        ("key", "", "a2V5Og=="),
        ("e\u{301}", "x", "w6k6eA=="),
        ("\u{E9}", "x", "w6k6eA=="),
    ])
    func `Basic encodes the name and the password`(user: String, password: String, encoded: String) async throws {
        let fields = try await fields(of: .basic(user: user, password: password))
        #expect(fields == [.authorization: "Basic \(encoded)"])
    }

    @Test(arguments: [
        ("a:b", "secret"), (":", "secret"), ("a\r\nX-Evil: 1", "secret"), ("a", "secret\n"), ("a", "secret\0"),
        ("a\u{7F}", "secret"), ("a\t", "secret"), ("a\u{301}:", "secret"),
    ])
    func `Basic refuses users and passwords that it cannot send`(user: String, password: String) throws {
        let error = try #require(throws: InvalidRequestError.self) {
            try Credentials.basic(user: user, password: password)
        }
        #expect(error.reason == .invalidCredentials)
        #expect(!String(reflecting: error).contains("secret"))
    }

    @Test(arguments: ["a", "mF_9.B5f-4.1JqM", "abc==", "a+b/c~d", "eyJhbGciOiJIUzI1NiJ9.e30.x-_", "0"])
    func `Bearer takes a token`(token: String) async throws {
        #expect(try await fields(of: .bearer(token)) == [.authorization: "Bearer \(token)"])
    }

    @Test(arguments: [
        "", " ", "=", "==", "secret\r\n", "secret\n", "secret\r\nX-Evil: 1", "secret token", "secret=a", "secret\u{E9}",
        "secret\0", "1|secret", "\"secret\"", " secret", "secret\u{FF21}",
    ])
    func `Bearer refuses text that is not a token`(token: String) throws {
        let error = try #require(throws: InvalidRequestError.self) { try Credentials.bearer(token) }
        #expect(error.reason == .invalidCredentials)
        #expect(!String(reflecting: error).contains("secret"))
    }

    @Test func `Bearer refuses every byte that is invalid in a token`() {
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/".utf8)
        for byte in UInt8.min...UInt8.max {
            let isAccepted = (try? Credentials.bearer("\(Character(Unicode.Scalar(byte)))x")) != nil
            #expect(isAccepted == allowed.contains(byte), "byte \(byte)")
        }
    }

    @Test func `A field keeps its whole value`() async throws {
        let name = try #require(HTTPField.Name("X-API-Key"))
        #expect(try await fields(of: .field(name, "1|a b, \"c\"")) == [name: "1|a b, \"c\""])
        #expect(try await fields(of: .field(.authorization, "Token 1|x")) == [.authorization: "Token 1|x"])
        #expect(try await fields(of: .field(.cookie, "a=1; b=2"))[values: .cookie] == ["a=1; b=2"])
    }

    @Test(arguments: ["", " hunter2", "hunter2 ", "hunter2\r\nX-Evil: 1", "hunter2\n", "hunter2\0", "hunter2\u{7F}"])
    func `A field refuses an invalid value`(value: String) throws {
        let error = try #require(throws: InvalidRequestError.self) { try Credentials.field(.authorization, value) }
        #expect(error.reason == .invalidCredentials)
        #expect(error.description.hasPrefix("The value of the field Authorization "))
        #expect(!String(reflecting: error).contains("hunter2"))
    }

    @Test func `A field refuses the name of a pseudo-header field`() throws {
        let name = try #require(HTTPField.Name(parsed: ":path"))
        let error = try #require(throws: InvalidRequestError.self) { try Credentials.field(name, "secret") }
        #expect(error.reason == .invalidField)
    }

    @Test(arguments: [
        try Credentials.basic(user: "hunter", password: "hunter2"),
        try Credentials.bearer("hunter2"),
        try Credentials.field(.authorization, "hunter2"),
        Credentials.signer(LeakySigner(key: "hunter2")),
    ])
    func `No description and no reflection shows a secret`(credentials: Credentials) throws {
        let stub = StubConnection()
        let connection = stub.authenticating(with: credentials, for: try Origin("https://api.example.com"))

        for value: Any in [
            credentials, Mirror(reflecting: credentials), [credentials], Optional(credentials) as Any, connection,
            connection.layers, connection.retagged(), ["key": credentials],
        ] {
            var dumped = ""
            dump(value, to: &dumped)
            let shown = [String(describing: value), String(reflecting: value), "\(value)", dumped]
            for text in shown {
                #expect(!text.contains("hunter"))
                #expect(!text.contains("aHVudGVy"))
            }
        }
        #expect(credentials.description.hasSuffix("credentials"))
    }
}

private struct LeakySigner: RequestSigner {
    let key: String
    let secretFields: Set<HTTPField.Name> = [.authorization]

    func sign(_ request: Request) async throws -> Request {
        var request = request
        request.head.headerFields[.authorization] = key
        return request
    }
}

extension Connection {
    /// A layer around the stack, so that the reflection starts one level further out.
    fileprivate func retagged() -> some Connection {
        overridingFields(with: [.accept: "*/*"])
    }
}
