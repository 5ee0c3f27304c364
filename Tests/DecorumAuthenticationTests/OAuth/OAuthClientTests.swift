import DecorumAuthentication
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct OAuthClientTests {
    private let clock = VirtualClock()

    private func server() throws -> AuthorizationServer {
        try AuthorizationServer(
            issuer: "https://id.example.com", authorization: "https://id.example.com/authorize?tenant=1",
            token: "https://id.example.com/token", deviceAuthorization: "https://id.example.com/device",
            revocation: "https://id.example.com/revoke", pushedRequests: "https://id.example.com/par")
    }

    private func client(
        _ authentication: ClientAuthentication = .none, over connection: some Connection
    ) throws -> OAuthClient {
        OAuthClient("app", of: try server(), authentication: authentication, over: connection, clock: clock)
    }

    private func json(_ text: String, status: HTTPResponse.Status = .ok, fields: HTTPFields = [:]) -> Response {
        var fields = fields
        fields[.contentType] = "application/json;charset=UTF-8"
        return Response(status: status, fields: fields, body: Body(text))
    }

    private func form(_ stub: StubConnection) -> String? {
        stub.requests.last?.body.bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `Client credentials are sent in one of three ways`() async throws {
        let answer = #"{"access_token":"t","token_type":"bearer","expires_in":3600,"scope":"a b"}"#
        for (authentication, expected, field) in [
            (ClientAuthentication.none, "&client_id=app", nil),
            (.post("s&t"), "&client_id=app&client_secret=s%26t", nil),
            // RFC 6749, section 2.3.1: both parts are encoded like fields of a form first.
            (.basic("s t:"), "", "Basic " + Data("app:s+t%3A".utf8).base64EncodedString()),
        ] {
            let stub = StubConnection(json(answer))
            let source = try client(authentication, over: stub).clientCredentials(
                scope: "a b", resources: ["https://r/"])
            let token = try await source.token(replacing: nil)
            #expect(token == (try Token("t", expiry: clock.date + 3600, scope: "a b")))
            #expect(form(stub) == "grant_type=client_credentials&scope=a+b&resource=https%3A%2F%2Fr%2F" + expected)
            let request = try #require(stub.requests.first)
            #expect(request.head.headerFields[.authorization] == field)
            #expect(request.head.headerFields[.contentType] == "application/x-www-form-urlencoded")
            #expect(request.options.skipsAuthentication && request.options.secretFields.contains(.authorization))
            #expect(source.startsWithoutToken)
        }
    }

    @Test func `A refresh token is exchanged, and its absence is invalid_grant`() async throws {
        let stub = StubConnection(json(#"{"access_token":"n","token_type":"Bearer","refresh_token":"r2"}"#))
        let source = try client(over: stub).refreshing()
        let token = try await source.token(replacing: Token("o", refreshToken: "r 1"))
        #expect(token == (try Token("n", refreshToken: "r2")))
        #expect(form(stub) == "grant_type=refresh_token&refresh_token=r+1&client_id=app")
        let error = try await #require(throws: OAuthError.self) { try await source.token(replacing: Token("o")) }
        #expect(error.code == .invalidGrant && stub.requests.count == 1)
    }

    @Test func `An answer may be a form`() async throws {
        let fields: HTTPFields = [.contentType: "application/x-www-form-urlencoded; charset=utf-8"]
        let stub = StubConnection(
            Response(
                status: .ok, fields: fields, body: "access_token=a%2Bb&token_type=bearer&expires_in=60&scope=x+y"))
        let token = try await client(over: stub).clientCredentials().token(replacing: nil)
        #expect(token == (try Token("a+b", expiry: clock.date + 60, scope: "x y")))
    }

    @Test(arguments: [
        (#"{"access_token":"t","refresh_token":987654321}"#, "987654321"),
        (#"{"access_token":"t","refresh_token":12345678901234567890123}"#, "12345678901234567890123"),
        (#"{"access_token":"t","refresh_token":"","scope":"","token_type":"","expires_in":"","error":""}"#, nil),
        (#"{"access_token":"t","refresh_token":null,"extra":{"a":[1,{}]},"scope":true}"#, nil),
    ])
    func `A JSON object is an answer whatever its type, a number its digits, and an empty member none`(
        row: (content: String, refreshToken: String?)
    ) async throws {
        for type in ["application/json", "text/html", "text/plain", "application/x-www-form-urlencoded", nil] {
            let fields: HTTPFields = type.map { [.contentType: $0] } ?? [:]
            let stub = StubConnection(
                Response(status: .ok, fields: fields, body: Body(row.content)),
                Response(status: .badRequest, fields: fields, body: #"{"error":"invalid_grant"}"#))
            let source = try client(over: stub).clientCredentials()
            #expect(try await source.token(replacing: nil) == Token("t", refreshToken: row.refreshToken))
            let error = try await #require(throws: OAuthError.self) { try await source.token(replacing: nil) }
            #expect(error.code == .invalidGrant)
        }
    }

    @Test(arguments: [
        (#"{"device_code":"d","user_code":"u","expires_in":8}"#, "verification_uri"),
        (#"{"device_code":"d","verification_uri":"https://x/","expires_in":8}"#, "user_code"),
        (#"{"device_code":"","user_code":"u","verification_url":"https://x/","expires_in":8}"#, "device_code"),
        (#"{"device_code":"d","user_code":"u","verification_url":"https://x/"}"#, "expires_in"),
        (#"{"access_token":""}"#, "access_token"), (#"{"refresh_token":"r"}"#, "access_token"),
        (#"{"access_token":"t","refresh_token":"r\n"}"#, "refresh_token"),
    ])
    func `An error names the member that is missing`(row: (content: String, member: String)) async throws {
        let client = try client(over: StubConnection(json(row.content)))
        let error = try await #require(throws: OAuthError.self) {
            if row.content.contains("code") {
                _ = try await client.authorizeDevice()
            } else {
                _ = try await client.clientCredentials().token(replacing: nil)
            }
        }
        #expect(error.missingMember == row.member && error.mayPass)
        #expect(
            error.description.hasPrefix(
                "The authorization server has answered with status 200, but without a usable `\(row.member)`. Look"))
    }

    @Test(arguments: [(#""3600""#, 3600), ("3600.9", 3600), ("-5", 0), ("1e300", 315_360_000), ("0", 0)])
    func `An expiry may be a text, a fraction, negative or huge`(text: String, seconds: Double) async throws {
        let stub = StubConnection(json(#"{"access_token":"t","token_type":"Bearer","expires_in":\#(text)}"#))
        let token = try await client(over: stub).clientCredentials().token(replacing: nil)
        #expect(token.expiry == clock.date + seconds)
    }

    @Test(arguments: [
        ("application/json", "<html>Welcome to Hotel WiFi, hunter2</html>"),
        ("text/html", "<html>hunter2</html>"), ("application/json", ""), ("application/json", "null"),
        ("application/json", "[]"), ("application/json", #"{"access_token":[7]}"#), ("application/json", "{}"),
        ("application/json", #"{"access_token":"hunter2\n","token_type":"Bearer"}"#),
        ("application/json", #"{"access_token":"","token_type":"Bearer"}"#),
        ("application/x-www-form-urlencoded", "<p>hunter2</p>"),
        ("application/x-www-form-urlencoded", "access_token=hunter2&access_token=b"),
        ("application/x-www-form-urlencoded", "access_token=%FF"),
        ("application/json", String(repeating: "[", count: 200_000)),
    ])
    func `An answer without a token is an error that keeps the session and shows nothing`(
        type: String, content: String
    ) async throws {
        let stub = StubConnection(Response(status: .ok, fields: [.contentType: type], body: Body(content)))
        let client = try client(over: stub)
        let error = try await #require(throws: OAuthError.self) {
            try await client.clientCredentials().token(replacing: nil)
        }
        var dumped = ""
        dump(error, to: &dumped)
        #expect(!(error.description + dumped).contains("hunter2"))
        #expect(error.code == nil && error.mayPass)
    }

    @Test func `A token of another type is refused`() async throws {
        let stub = StubConnection(json(#"{"access_token":"t","token_type":"mac"}"#))
        let client = try client(over: stub)
        await #expect(throws: InvalidTokenError.self) { try await client.clientCredentials().token(replacing: nil) }
    }

    @Test func `Errors are typed, and their text is not shown`() async throws {
        let stub = StubConnection(
            json(#"{"error":"invalid_grant","error_description":"hunter2"}"#, status: .badRequest),
            json(#"{"error":"hunter2"}"#, status: .badRequest), json(#"{"error":"bad_refresh_token"}"#),
            json(#"{"error":"invalid_client"}"#, status: .unauthorized),
            json(#"{"error":"invalid_grant"}"#, status: .serviceUnavailable, fields: [.retryAfter: "7"]))
        let source = try client(over: stub.validatingStatus()).clientCredentials()
        var errors: [OAuthError] = []
        for _ in 0..<5 {
            errors.append(try await #require(throws: OAuthError.self) { try await source.token(replacing: nil) })
        }
        #expect(
            errors.map(\.code) == [.invalidGrant, .init("hunter2"), .init("bad_refresh_token"), .invalidClient, nil])
        #expect(errors.map(\.mayPass) == [false, false, false, false, true])
        #expect(errors[0].serverDescription == "hunter2" && errors[4].retryAfter == .seconds(7))
        #expect(
            errors[0].description
                == "The authorization server refuses with status 400: invalid_grant. Ask the user to sign in again.")
        var dumped = ""
        dump(errors, to: &dumped)
        #expect(!"\(errors) \(dumped) \(errors.map(\.shortDescription))".contains("hunter2"))
    }

    @Test func `No redirection is followed with the secrets`() async throws {
        let stub = StubConnection { request in
            request.head.authority == "id.example.com"
                ? Response(status: .temporaryRedirect, fields: [.location: "https://id.example.com/login"])
                : Response(status: .ok)
        }
        let client = try client(.post("secret"), over: stub.followingRedirects())
        let error = try await #require(throws: OAuthError.self) {
            try await client.clientCredentials().token(replacing: nil)
        }
        #expect(error.status == .temporaryRedirect && error.mayPass && stub.requests.count == 1)
    }

    @Test func `Endpoints without encryption are refused, except on this machine`() throws {
        #expect(throws: AuthorizationError.self) { try AuthorizationServer(token: "http://id.example.com/token") }
        #expect(throws: AuthorizationError.self) {
            try AuthorizationServer(issuer: "http://127.0.0.1.evil.example/")
        }
        for host in ["127.0.0.1:8080", "127.0.0.2", "[::1]", "localhost", "id.localhost"] {
            #expect(try AuthorizationServer(token: "http://\(host)/token").token != nil)
        }
    }

    @Test func `Revocation sends the refresh token where there is one`() async throws {
        let stub = StubConnection(
            Response(status: .ok), json(#"{"error":"unsupported_token_type"}"#, status: .badRequest))
        let client = try client(over: stub)
        try await client.revoke(Token("a", refreshToken: "r"))
        #expect(form(stub) == "token=r&token_type_hint=refresh_token&client_id=app")
        let error = try await #require(throws: OAuthError.self) { try await client.revoke(Token("a")) }
        #expect(error.code == .init("unsupported_token_type"))
        #expect(form(stub) == "token=a&token_type_hint=access_token&client_id=app")
    }

    @Test func `A token is exchanged for another one`() async throws {
        let stub = StubConnection(json(#"{"access_token":"x","token_type":"Bearer"}"#))
        #expect(try await client(over: stub).exchange("a", audience: "b", scope: "c").accessToken == "x")
        #expect(
            form(stub)
                == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&scope=c&subject_token=a"
                + "&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&audience=b&client_id=app"
        )
    }

    @Test func `A device waits for its user`() async throws {
        let pending = json(#"{"error":"authorization_pending"}"#, status: .badRequest)
        let stub = StubConnection(
            json(
                #"{"device_code":"d","user_code":"AB-CD","verification_uri":"https://x/","expires_in":900,"interval":5}"#
            ),
            pending, json(#"{"error":"slow_down"}"#, status: .badRequest), pending,
            json(#"{"access_token":"t","token_type":"Bearer"}"#))
        let client = try client(over: stub)
        let device = try await client.authorizeDevice(scope: "notes")
        #expect(device.userCode == "AB-CD" && device.interval == .seconds(5))
        #expect(!"\(device)".contains("AB-CD"))
        let call = Task { try await client.token(for: device) }
        for seconds in [5, 5, 10, 10] {
            try await clock.waitForSleepers()
            #expect(clock.pendingSleeps == [.seconds(seconds)])
            clock.advance(by: .seconds(seconds))
            try await yield { !clock.pendingSleeps.isEmpty || stub.requests.count >= 5 }
        }
        #expect(try await call.value.accessToken == "t")
    }

    @Test func `A device gives up when its code expires or its user refuses`() async throws {
        let start = #"{"device_code":"d","user_code":"u","verification_url":"https://x/","expires_in":8}"#
        let stub = StubConnection(
            json(start), json(#"{"error":"authorization_pending"}"#, status: .badRequest), json(start),
            json(#"{"error":"access_denied"}"#, status: .badRequest))
        let client = try client(over: stub)
        for code in [OAuthError.Code.expiredToken, .accessDenied] {
            let device = try await client.authorizeDevice()
            #expect(device.verificationURI == "https://x/")
            let call = Task { try await client.token(for: device) }
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(5))
            let error = try await #require(throws: OAuthError.self) { try await call.value }
            #expect(error.code == code)
        }
    }

    @Test func `A server names its endpoints, and only its own`() async throws {
        let metadata =
            #"{"issuer":"https://id.example.com/t1","token_endpoint":"https://id.example.com/t1/token","#
            + #""authorization_response_iss_parameter_supported":true}"#
        let stub = StubConnection { _ in
            Response(status: .ok, fields: [.contentType: "application/json"], body: Body(metadata))
        }
        let server = try await AuthorizationServer.discover("https://id.example.com/t1", over: stub)
        #expect(server.token == "https://id.example.com/t1/token" && server.namesIssuerInAnswers)
        #expect(
            stub.requests.first?.url?.absoluteString
                == "https://id.example.com/.well-known/oauth-authorization-server/t1")
        let error = try await #require(throws: AuthorizationError.self) {
            try await AuthorizationServer.discover("https://id.example.com", over: stub)
        }
        #expect(error.reason == .otherMetadata && error.subject == "https://id.example.com/t1")
        for other in ["https://id.example.com/", "https://ID.example.com/K", "https://id.example.com/\u{212A}"] {
            let stub = StubConnection { _ in Response(status: .ok, body: Body(#"{"issuer":"\#(other)"}"#)) }
            let error = try await #require(throws: AuthorizationError.self) {
                try await AuthorizationServer.discover("https://id.example.com/K", over: stub)
            }
            #expect(error.subject == other)
        }
        let insecure = StubConnection { _ in
            Response(status: .ok, body: #"{"issuer":"https://id.example.com","token_endpoint":"http://evil.example/"}"#)
        }
        await #expect(throws: AuthorizationError.self) {
            try await AuthorizationServer.discover("https://id.example.com", over: insecure)
        }
    }

    private static let wellKnown = (
        oauth: "/.well-known/oauth-authorization-server", openID: "/.well-known/openid-configuration"
    )

    @Test(arguments: [
        ("https://a.example", nil, [wellKnown.oauth, wellKnown.openID]),
        ("https://a.example/", nil, [wellKnown.oauth, wellKnown.openID]),
        (
            "https://a.example/realms/r", nil,
            [wellKnown.oauth + "/realms/r", "/realms/r" + wellKnown.openID, wellKnown.openID + "/realms/r"]
        ),
        (
            "https://a.example/t/v2.0/", nil,
            [wellKnown.oauth + "/t/v2.0", "/t/v2.0" + wellKnown.openID, wellKnown.openID + "/t/v2.0"]
        ),
        ("https://a.example/t", "own", ["/.well-known/own/t", "/t/.well-known/own"]),
        ("https://a.example", "own", ["/.well-known/own"]),
    ])
    func `The metadata of an issuer are looked for at each URL of the standards`(
        row: (issuer: String, name: String?, paths: [String])
    ) async throws {
        for path in row.paths {
            let stub = StubConnection { request in
                // A server may answer an unknown path with a page, or with the metadata of its root.
                let issuer = request.head.path == path ? row.issuer : "https://A.example"
                return request.head.path == path || path == row.paths.last
                    ? Response(
                        status: .ok, body: Body(#"{"issuer":"\#(issuer)","token_endpoint":"https://a.example/"}"#))
                    : Response(status: request.head.path == row.paths.first ? .notFound : .ok, body: "<html>")
            }
            let server = try await AuthorizationServer.discover(
                row.issuer, at: row.name, over: stub.validatingStatus())
            #expect(server.issuer == row.issuer && server.token == "https://a.example/")
            let tried = stub.requests.compactMap(\.url?.absoluteString)
            #expect(tried == row.paths.prefix(tried.count).map { "https://a.example" + $0 })
        }
    }

    @Test func `The time of the call limits the reading of metadata`() async throws {
        let gate = Gate()
        let stub = StubConnection { _ in
            Response(
                status: .ok,
                body: Body(
                    chunks: AsyncStream<Data> {
                        try? await gate.wait()
                        return nil
                    }))
        }
        let connection = stub.limitingTime(clock: clock)
        let call = Task { try await AuthorizationServer.discover("https://id.example.com", over: connection) }
        try await gate.waitForWaiting(1)
        clock.advance(by: .seconds(600))
        let error = try await #require(throws: TransportError.self) { try await call.value }
        #expect(error.code == .deadlineExceeded && stub.requests.count == 1)
    }

    @Test func `A resource names its authorization servers`() async throws {
        let metadata =
            #"{"resource":"https://api.example.com/mcp","authorization_servers":["https://id.example.com"],"#
            + #""scopes_supported":["a"]}"#
        let stub = StubConnection { _ in Response(status: .ok, body: Body(metadata)) }
        let resource = try await ProtectedResource.discover("https://api.example.com/mcp", over: stub)
        #expect(resource.authorizationServers == ["https://id.example.com"] && resource.scopes == ["a"])
        #expect(
            stub.requests.first?.url?.absoluteString
                == "https://api.example.com/.well-known/oauth-protected-resource/mcp")
        await #expect(throws: AuthorizationError.self) {
            try await ProtectedResource.discover("https://api.example.com/", over: stub)
        }
        let missing = StubConnection { _ in Response(status: .notFound) }
        await #expect(throws: AuthorizationError.self) {
            try await ProtectedResource.discover("https://api.example.com/", over: missing)
        }
    }
}
