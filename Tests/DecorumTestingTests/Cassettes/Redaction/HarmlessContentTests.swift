import Decorum
import DecorumArchive
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Ordinary content of APIs is neither replaced nor refused.
@Suite struct HarmlessContentTests {
    private static let json: [String] = [
        #"{"token":"Hello"}"#, #"{"token":" world","logprob":-0.31,"bytes":[32,119]}"#,
        #"{"tokens":["Ġthe","▁a"," the"]}"#,
        #"{"token":"<|im_end|>"}"#, #"{"token":","}"#, #"{"token":"\n\n"}"#, #"{"token":"你好"}"#, #"{"token":"don't"}"#,
        #"{"token":"unbelievable"}"#, #"{"auth":"required"}"#, #"{"session_id":null,"token":true}"#,
        #"{"token":"[CLS]","token_type":"bearer","expires_in":3600}"#, #"{"max_tokens":100,"total_tokens":12345}"#,
        #"{"next_page_token":"CAUQAA7Rq2LmZ9sKd4"}"#, #"{"csrf":"invalid_token"}"#, #"{"token":"token expired"}"#,
        #"{"id":"3f2b8c1e-5d4a-4b6f-9e7d-2a1c0b9f8e7d"}"#, #"{"sha":"5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b"}"#,
        #"{"etag":"\"33a64df551425fcc55e4d42a148795d9f25f89d4\""}"#, #"{"id":4111111111111111}"#,
        #"{"id":"4111111111111111"}"#, #"{"order":"2024-4111-0000-1234"}"#, #"{"phone":"+49 170 1234567"}"#,
        #"{"code":"ERR_TOO_MANY_REQUESTS"}"#, #"{"code":"E1234"}"#, #"{"code":"3f2b8c1e-5d4a-4b6f-9e7d-2a1c0b9f8e7d"}"#,
        #"{"country":{"code":"de"}}"#, #"{"key":"PROJ-1234"}"#, #"{"name":"color","value":"x7Rq2LmZ9sKd4TbVw8Nc"}"#,
        #"{"key":"uploads/2024/x7Rq2LmZ9sKd4TbVw8Nc.png"}"#, #"{"key":"x7Rq2LmZ9sKd4TbVw8Nc.png"}"#,
        #"{"keys":["theme","size"],"pin":13,"pinned":true,"spin":"4821"}"#,
        #"{"idempotencyKey":"x7Rq2LmZ9sKd4TbVw8Nc","cacheKey":"x7Rq2LmZ9sKd4TbVw8Nc"}"#,
        #"{"primary_key":"x7Rq2LmZ9sKd4TbVw8Nc","public_key":"x7Rq2LmZ9sKd4TbVw8Nc","monkey":"x7Rq2LmZ9sKd4TbVw8Nc"}"#,
        #"{"method":"eth_call","params":["0x742d35Cc6634C0532925a3b844Bc454e4438f44e","latest","page-2"]}"#,
        #"{"key":"theme","value":"dark"}"#, #"{"name":"key","value":"3f2b8c1e-5d4a-4b6f-9e7d-2a1c0b9f8e7d"}"#,
        #"{"name":"page_token","value":"x7Rq2LmZ9sKd4TbVw8Nc"}"#, #"{"key":"sign","value":"positive"}"#,
        #"{"avatar":"https://cdn.example.com/3f2b8c1e-5d4a-4b6f-9e7d-2a1c0b9f8e7d/256.png"}"#,
        #"{"self":"https://api.example.com/webhooks/3f2b8c1e-5d4a-4b6f-9e7d-2a1c0b9f8e7d"}"#,
        #"{"self":"https://api.example.com/repos/o/r/hooks/12345678/deliveries"}"#,
        #"{"url":"https://example.com/articles/how-to-reset-a-password-in-10-steps"}"#,
        #"{"url":"https://example.com/reset/how-to-do-it-in-2024-and-later"}"#,
        #"{"image":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"}"#,
        #"{"text":"SGVsbG8sIHRoaXMgaXMgYW4gb3JkaW5hcnkgdGV4dCBpbiBCYXNlNjQu"}"#,
        #"{"message":"The password: it must have 8 characters."}"#, #"{"message":"Invalid token: expected a string"}"#,
        #"{"note":"Secret: see the documentation."}"#, #"{"time":"12:30:45","ratio":"16:9"}"#,
        #"{"pagination":{"cursor":"eyJpZCI6MTIzfQ"}}"#,
        #"{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#,
        #"{"version":"1.2.3-beta.4+build.5678"}"#,
        #"{"class":"sk-fading-circle sk-cube-grid-animation-with-many-words"}"#,
        #"{"count":1000001,"session":"open"}"#, #"{"path":"/tokens/3f2b8c1e-5d4a-4b6f-9e7d-2a1c0b9f8e7d"}"#,
        #"{"placeholder":"xxxxxxxxxxxxxxxxxxxxxxxx","docs":"ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#,
    ]
    private static let texts: [(String, String)] = [
        ("text/plain", "The token: it is issued once. Password: see the manual."),
        ("text/plain", "key=value; a == b; tokens: 42; max_token=100"), ("text/plain", "if (token == null) return"),
        ("text/yaml", "name: app\nversion: 1.2.3\ntoken: ${TOKEN}\ntokens: 5\n"), ("text/plain", "user:group 12:30:45"),
        ("text/csv", "id,name,total_tokens\n1,a,100\n"), ("text/csv", "id,page_token\n1,x7Rq2LmZ9sKd4TbV\n"),
        ("text/html", "<p>password: <b>required</b></p><input name=\"q\" value=\"x7Rq2LmZ9sKd4TbV\">"),
        ("text/markdown", "# Authorization\nSend `Authorization: Bearer <token>`."),
        ("text/event-stream", "data: {\"token\":\" Hello\"}\n\ndata: [DONE]\n\n"),
        ("text/plain", "5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b"),
    ]

    @Test(arguments: json.map { ("application/json", $0) } + texts)
    func `It is recorded as it is`(mediaType: String, text: String) async throws {
        let folder = TemporaryFolder()
        var rules = CassetteRules()
        let replaced = Mutex("")
        rules.reportReplacements = { list, _ in replaced.withLock { $0 = "\(list)" } }
        let cassette = try Cassette(at: folder.path("a.json"), mode: .append, rules: rules)
        let content = Data(text.utf8)
        let stub = StubConnection { _ in
            Response(
                status: .ok, fields: [.contentType: mediaType, .eTag: "W/\"5f4dcc3b5aa765d6\""], body: Body(content))
        }
        let request = try Request.post(
            "https://api.example.com/items", fields: [.contentType: mediaType], body: Body(content))
        _ = try await CassetteConnection(cassette, recording: stub).send(request).body.collect(upTo: 10_000)
        try await cassette.finish()
        #expect(replaced.withLock { $0 } == "")

        let replaying = try Cassette(at: folder.path("a.json"), mode: .replay)
        let response = try await CassetteConnection(replaying).send(request)
        if mediaType == "application/json" {
            // A cassette holds JSON in a layout of its own.
            let played = try JSONValue(parsing: Array(try await response.body.collect(upTo: 10_000).0))
            #expect(try played == JSONValue(parsing: Array(content)))
        } else {
            #expect(try await response.body.text(upTo: 10_000) == text)
        }
    }

    @Test(arguments: [
        "https://api.example.com/users/3f2b8c1e-5d4a-4b6f-9e7d-2a1c0b9f8e7d/posts?page=2&sort=date",
        "https://api.example.com/repos/o/r/commits/5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b",
        "https://api.example.com/items?ids=1234567,2345678&q=reset+password&lang=de",
        "https://api.example.com/webhooks/1234567890", "https://api.example.com/verify",
        "https://discord.com/api/users",
        "https://api.example.com/items?sort_key=x7Rq2LmZ9sKd4TbVw8Nc&startKey=x7Rq2LmZ9sKd4TbVw8Nc&app_id=1234567",
        "https://api.example.com/articles/reset-your-password-2024-edition?token=Hello",
    ])
    func `A URL stays`(url: String) {
        #expect(SecretRewriting(.standard, by: Pseudonyms()).applied(toURL: url) == url)
        let isMasked = Redaction.standard.applied(toURL: url) != url
        #expect(isMasked == url.contains("token="))
    }
}

/// Secrets of a few digits or letters have the form of a placeholder, and reach no file all the same.
@Suite struct ShortSecretTests {
    let folder = TemporaryFolder()
    let rules = CassetteRules.silent

    /// Sends a PIN, and gets others.
    private func exchange(_ connection: some Connection, pin: String) async throws -> String {
        let request = try Request.post(
            "https://example.com/pin", fields: [.contentType: "application/json"],
            body: Body(Data(#"{"pin":"\#(pin)"}"#.utf8)))
        return try await connection.send(request).body.text(upTo: 1000)
    }

    private func record(_ content: String, pin: String, _ mode: CassetteMode = .once) async throws -> String {
        let cassette = try Cassette(at: folder.path("a.json"), mode: mode, rules: rules)
        let stub = StubConnection(
            Response(status: .ok, fields: [.contentType: "application/json"], body: Body(Data(content.utf8))))
        _ = try await exchange(CassetteConnection(cassette, recording: stub), pin: pin)
        try await cassette.finish()
        return try folder.text("a.json")
    }

    @Test(arguments: ["1234", "1001", "1002", "10234", "101234", "acd", "aac", "ab1"])
    func `It is replaced, in a text and as a number`(pin: String) async throws {
        let isNumber = pin.allSatisfy(\.isNumber)
        let content = #"{"pin":"\#(pin)","otp":\#(isNumber ? pin : "4821"),"password":"4821","cvv":"7391"}"#
        let text = try await record(content, pin: pin)
        for secret in [pin, "4821", "7391"] {
            #expect(!text.contains("\"\(secret)\"") && !text.contains(": \(secret),"), "\(secret): \(text)")
        }
        let replaying = try Cassette(at: folder.path("a.json"), mode: .replay, rules: rules)
        let played = try await exchange(CassetteConnection(replaying), pin: pin)
        #expect(!isNumber || played.utf8.count == content.utf8.count)
        try await replaying.finish()
    }

    @Test func `A test's own secret is sent in append`() async throws {
        // The digits 1234 are a part of another number of the file.
        _ = try await record(#"{"pin":"4821","id":912345}"#, pin: "1234")
        let cassette = try Cassette(at: folder.path("a.json"), mode: .append, rules: rules)
        let stub = StubConnection(Response(status: .ok))
        let connection = CassetteConnection(cassette, recording: stub)
        _ = try await connection.send(
            .post(
                "https://example.com/verify", fields: [.contentType: "application/json"], body: Body(#"{"pin":"1234"}"#)
            ))
        #expect(stub.requests.count == 1)
    }
}
