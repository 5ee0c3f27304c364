#if Signing
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumSigning

@Suite(.timeLimit(.minutes(3)))
struct AWSCredentialTests {
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_790_000_000))

    private func credentials(_ id: String, expiresIn seconds: Double?) throws -> AWSCredentials {
        try AWSCredentials(
            accessKeyID: id, secretAccessKey: "secret", expiry: seconds.map { clock.date.addingTimeInterval($0) })
    }

    @Test func `A thousand callers cause one fetch, and a caller who is cancelled does not end it`() async throws {
        let gate = Gate()
        let source = CountedSource { number in
            try await gate.wait()
            return try AWSCredentials(accessKeyID: "ID\(number)", secretAccessKey: "secret")
        }
        let chain = AWSCredentialChain([source], clock: clock)
        let first = Task { try await chain.credentials() }
        #expect(await soon { source.count == 1 })
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }

        let ids = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<1_000 { group.addTask { try await chain.credentials()?.accessKeyID } }
            gate.open()
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(ids == ["ID1"] && source.count == 1)
    }

    @Test
    func `Credentials are fetched anew in the background before they expire, and used to their end after a failure`()
        async throws
    {
        let spawner = TrackingSpawner()
        let source = CountedSource { [clock] number in
            if number == 2 { throw AWSCredentialError("down", mayPass: true) }
            return try AWSCredentials(
                accessKeyID: "ID\(number)", secretAccessKey: "secret", expiry: clock.date.addingTimeInterval(3_600))
        }
        let chain = AWSCredentialChain([source], clock: clock, spawner: spawner)
        func id() async throws -> String? {
            let id = try await chain.credentials()?.accessKeyID
            try await spawner.finished()
            return id
        }
        #expect(try await id() == "ID1")
        clock.advance(by: .seconds(3_299))
        #expect(try await id() == "ID1" && source.count == 1)
        clock.advance(by: .seconds(2))
        #expect(try await id() == "ID1" && source.count == 2)
        #expect(try await id() == "ID1" && source.count == 2)
        clock.advance(by: .seconds(2))
        #expect(try await id() == "ID1" && source.count == 3)
        #expect(try await id() == "ID3" && source.count == 3)
        // A machine that slept gets others at once.
        clock.advance(by: .seconds(100_000))
        #expect(try await id() == "ID4")
    }

    @Test func `After a failure, callers get its error until the pause is over`() async throws {
        let source = CountedSource { number in
            guard number > 3 else { throw AWSCredentialError("down", mayPass: true) }
            return nil
        }
        let chain = AWSCredentialChain([source], clock: clock)
        for (pause, count) in [(0, 1), (0, 1), (1, 2), (1, 2), (1, 3)] {
            clock.advance(by: .seconds(pause))
            await #expect(throws: AWSCredentialError.self) { try await chain.credentials() }
            #expect(source.count == count)
        }
        clock.advance(by: .seconds(4))
        let error = await #expect(throws: SigningError.self) { try await chain.credentials() }
        #expect(error?.reason == .noCredentials && error?.description.contains("CountedSource") == true)
    }

    @Test func `Credentials that have expired when they arrive are used for a minute, as with a wrong clock`()
        async throws
    {
        let source = CountedSource { [self] in try credentials("ID\($0)", expiresIn: -100) }
        let chain = AWSCredentialChain([source], clock: clock)
        #expect(try await chain.credentials()?.accessKeyID == "ID1")
        #expect(try await chain.credentials()?.accessKeyID == "ID1")
        clock.advance(by: .seconds(61))
        #expect(try await chain.credentials()?.accessKeyID == "ID2")
    }

    @Test func `A source that hangs ends with the time limit, and a signer's error says that it may pass`() async throws
    {
        let source = CountedSource { [clock] _ in
            try await clock.sleep(until: clock.now + .seconds(1_000_000), tolerance: nil)
            return nil
        }
        let chain = AWSCredentialChain([source], clock: clock)
        let signer = SigV4(service: "s3", region: "us-east-1", credentials: chain, clock: clock)
        let call = Task { try await signer.sign(.get("https://example.com/")) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(90))
        let error = await #expect(throws: CredentialSourceError.self) { try await call.value }
        #expect(error?.mayPass == true && error?.underlying is AWSCredentialError)
    }

    @Test func `A signer takes what a chain holds, and the new credentials as soon as the chain has them`() async throws
    {
        let source = CountedSource { [self] in try credentials("ID\($0)", expiresIn: 600) }
        let spawner = TrackingSpawner()
        let chain = AWSCredentialChain([source], clock: clock, spawner: spawner)
        let signer = SigV4(service: "sqs", region: "us-east-1", credentials: chain, clock: clock)
        var ids: [String] = []
        for pause in [0, 0, 400, 100, 0] {
            clock.advance(by: .seconds(pause))
            let signed = try await signer.sign(.get("https://example.com/"))
            let value = try #require(signed.head.headerFields[.authorization])
            ids.append(String(value.dropFirst("AWS4-HMAC-SHA256 Credential=".count).prefix(3)))
            try await spawner.finished()
        }
        #expect(ids == ["ID1", "ID1", "ID1", "ID1", "ID2"] && source.count == 2)
    }

    @Test func `The environment gives credentials, and half of them is a mistake`() async throws {
        let whole = ["AWS_ACCESS_KEY_ID": "ID", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"]
        #expect(try await EnvironmentCredentials(whole).credentials()?.sessionToken == "t")
        #expect(try await EnvironmentCredentials([:]).credentials() == nil)
        await #expect(throws: SigningError.self) {
            try await EnvironmentCredentials(["AWS_ACCESS_KEY_ID": "ID", "AWS_SECRET_ACCESS_KEY": ""]).credentials()
        }
    }
}

/// A source that counts how often it is asked.
final class CountedSource: AWSCredentialSource {
    private let number = Mutex(0)
    private let answer: @Sendable (Int) async throws -> AWSCredentials?

    init(_ answer: @escaping @Sendable (Int) async throws -> AWSCredentials?) { self.answer = answer }

    var count: Int { number.withLock { $0 } }

    func credentials() async throws -> AWSCredentials? {
        try await answer(
            number.withLock { number in
                number += 1
                return number
            })
    }
}

@Suite(.timeLimit(.minutes(3)))
struct RemoteCredentialTests {
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_790_000_000))
    private let document = """
        {"Code": "Success", "LastUpdated": "2026-11-28T00:00:00Z", "Type": "AWS-HMAC", "AccessKeyId": "ASIA1",
        "SecretAccessKey": "wJalr/+=", "Token": "token", "Expiration": "2026-11-28T06:00:00Z"}
        """

    @Test func `An instance gives the credentials of its role by version 2`() async throws {
        let stub = StubConnection(
            Response(status: .ok, body: "session=="), Response(status: .ok, body: "role\n"),
            Response(status: .ok, body: Body(document)))
        let found = try await RemoteCredentials(.instance, over: stub, environment: [:], clock: clock).credentials()
        let credentials = try #require(found)
        #expect(credentials.accessKeyID == "ASIA1" && credentials.sessionToken == "token")
        #expect(credentials.expiry == Date(timeIntervalSince1970: 1_795_845_600))
        let base = "http://169.254.169.254/latest/"
        #expect(
            stub.requests.map { "\($0.head.method) \($0.url?.absoluteString ?? "")" } == [
                "PUT \(base)api/token", "GET \(base)meta-data/iam/security-credentials/",
                "GET \(base)meta-data/iam/security-credentials/role",
            ])
        let name = try #require(HTTPField.Name("X-aws-ec2-metadata-token"))
        let tokens = stub.requests.map { $0.head.headerFields[name] }
        #expect(tokens == [nil, "session==", "session=="])
        #expect(!stub.requests.contains { "\($0)".contains("session==") })
    }

    @Test func `An instance without a role has none, and a service that is turned off is not asked`() async throws {
        let stub = StubConnection(Response(status: .ok, body: "session"), Response(status: .notFound))
        #expect(try await RemoteCredentials(.instance, over: stub, environment: [:]).credentials() == nil)
        let off = ["AWS_EC2_METADATA_DISABLED": "TRUE"]
        #expect(try await RemoteCredentials(.instance, over: stub, environment: off).credentials() == nil)
        #expect(stub.requests.count == 2)
    }

    @Test func `A container gives credentials to its token, which is read for each fetch`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(
            path: "decorum-token-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: file) }
        let stub = StubConnection { [document] _ in Response(status: .ok, body: Body(document)) }
        let environment = [
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://[fd00:ec2::23]/v1/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": file.path,
        ]
        let source = RemoteCredentials(.container, over: stub, environment: environment)
        for token in ["first", "second"] {
            try Data("\(token)\n".utf8).write(to: file)
            #expect(try await source.credentials()?.accessKeyID == "ASIA1")
            #expect(stub.requests.last?.head.headerFields[.authorization] == token)
        }
        let relative = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/1"]
        _ = try await RemoteCredentials(.container, over: stub, environment: relative).credentials()
        #expect(stub.requests.last?.url?.absoluteString == "http://169.254.170.2/v2/credentials/1")
        #expect(try await RemoteCredentials(.container, over: stub, environment: [:]).credentials() == nil)
    }

    @Test(arguments: [
        "http://example.com/", "http://169.254.170.3/", "http://127.0.0.1.example.com/", "http://127.1/",
        "ftp://localhost/",
        "http://[::2]/", "http://user@localhost/", "http://169.254.170.2@example.com/", "http://169.254.169.254/",
        "/path", "x",
        "http://example.com\\@localhost/", "http://localhost /",
    ])
    func `A URI that leads elsewhere is refused before anything is sent`(uri: String) async throws {
        let stub = StubConnection()
        for (name, value) in [
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri), ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@example.com/"),
        ] {
            let environment = [name: value, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "secret"]
            let error = await #expect(throws: SigningError.self) {
                try await RemoteCredentials(.container, over: stub, environment: environment).credentials()
            }
            #expect(error?.reason == .invalidConfiguration)
            #expect(error?.description.contains(name) == true && error?.description.contains(value) == false)
        }
        #expect(stub.requests.isEmpty)
    }

    @Test func `The token service gives the credentials of a role as JSON and as XML`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(
            path: "decorum-token-\(UInt64.random(in: 0 ... .max))")
        try Data("TOKEN\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let json = """
            {"AssumeRoleWithWebIdentityResponse": {"AssumeRoleWithWebIdentityResult": {"Audience": "a", "Credentials":
            {"AccessKeyId": "ASIA1", "SecretAccessKey": "s", "SessionToken": "token", "Expiration": 1.7958456E9}}}}
            """
        let xml = """
            <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Credentials>
            <SessionToken>token</SessionToken><SecretAccessKey>s</SecretAccessKey>
            <Expiration>2026-11-28T06:00:00.000Z</Expiration><AccessKeyId>ASIA1</AccessKeyId></Credentials>
            </AssumeRoleWithWebIdentityResponse>
            """
        let refusal =
            "<ErrorResponse><Error><Code>ExpiredTokenException</Code><Message>TOKEN</Message></Error></ErrorResponse>"
        let stub = StubConnection(
            Response(status: .ok, body: Body(json)), Response(status: .ok, body: Body(xml)),
            Response(status: .badRequest, body: Body(refusal)))
        let environment = [
            "AWS_WEB_IDENTITY_TOKEN_FILE": file.path, "AWS_ROLE_ARN": "arn:aws:iam::1:role/r",
            "AWS_REGION": "eu-west-1",
        ]
        let source = RemoteCredentials(.webIdentity, over: stub, environment: environment, clock: clock)
        for _ in 0..<2 {
            let credentials = try await source.credentials()
            #expect(credentials?.sessionToken == "token")
            #expect(credentials?.expiry == Date(timeIntervalSince1970: 1_795_845_600))
        }
        let error = await #expect(throws: AWSCredentialError.self) { try await source.credentials() }
        #expect(error?.description.contains("ExpiredTokenException") == true && error?.mayPass == false)
        #expect(error?.description.contains("TOKEN") == false)

        let request = try #require(stub.requests.first)
        #expect(request.url?.absoluteString == "https://sts.eu-west-1.amazonaws.com/")
        let form = try #require(try await request.formItems())
        #expect(form.contains(QueryItem("WebIdentityToken", "TOKEN")))
        #expect(form.contains(QueryItem("RoleSessionName", "decorum-1790000000")))
    }

    @Test func `A service that answers HTML, an error or too much gives a typed error without its text`() async throws {
        let html = "<!DOCTYPE html><html><body>SECRET</body></html>"
        let large = Body(Data(repeating: UInt8(ascii: "{"), count: 1 << 20))
        let rows: [(Response, Bool)] = [
            (Response(status: .ok, body: Body(html)), false), (Response(status: .ok, body: large), false),
            (Response(status: .ok, body: Body(document.replacing("Success", with: "Failed"))), false),
            (Response(status: .ok, body: Body(document.replacing("2026-11-28T06", with: "soon"))), false),
            (Response(status: .ok, body: Body(document.replacing("ASIA1", with: "A\\n1"))), false),
            (Response(status: .found, body: Body(html)), false), (Response(status: .serviceUnavailable), true),
        ]
        for (response, mayPass) in rows {
            let container = ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "https://example.com/"]
            let error = await #expect(throws: AWSCredentialError.self) {
                try await RemoteCredentials(.container, over: StubConnection(response), environment: container)
                    .credentials()
            }
            #expect(error?.mayPass == mayPass && error?.description.contains("SECRET") == false)
            let second = await #expect(throws: AWSCredentialError.self) {
                let stub = StubConnection(Response(status: .ok, body: "session"), response)
                _ = try await RemoteCredentials(.instance, over: stub, environment: [:]).credentials()
                throw AWSCredentialError("none", mayPass: mayPass)
            }
            #expect(second?.mayPass == mayPass)
        }
    }

    @Test func `A service that hangs or cannot be reached ends in time with an error that may pass`() async throws {
        let clock = clock
        let hanging = StubConnection { _ in
            try await clock.sleep(until: clock.now + .seconds(1_000), tolerance: nil)
            return Response(status: .ok)
        }
        let call = Task {
            try await RemoteCredentials(.instance, over: hanging, environment: [:], clock: clock).credentials()
        }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(2))
        let late = await #expect(throws: AWSCredentialError.self) { try await call.value }
        #expect(late?.mayPass == true)

        let away = StubConnection { _ in throw TransportError(.unreachable, at: .connecting) }
        let error = await #expect(throws: AWSCredentialError.self) {
            try await RemoteCredentials(.instance, over: away, environment: [:], clock: clock).credentials()
        }
        #expect(error?.mayPass == true && error?.description.contains("AWS_EC2_METADATA_DISABLED") == true)
    }

    @Test func `Logs inside and outside show no key, token or signature, nor does the log of a presigned address`()
        async throws
    {
        let file = FileManager.default.temporaryDirectory.appending(
            path: "decorum-token-\(UInt64.random(in: 0 ... .max))")
        try Data("IDENTITYTOKEN\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let xml = """
            <R><Credentials><SessionToken>SESSIONTOKEN</SessionToken><SecretAccessKey>SECRETKEY</SecretAccessKey>
            <Expiration>2036-11-28T06:00:00.000Z</Expiration><AccessKeyId>ASIA1</AccessKeyId></Credentials></R>
            """
        let json = #"""
            {"AccessKeyId": "ASIA1", "SecretAccessKey": "SECRETKEY", "Token": "SESSIONTOKEN",
            "Expiration": "2036-11-28T06:00:00Z"}
            """#
        let stub = StubConnection { request in
            var fields: HTTPFields = [:]
            fields[.contentType] = request.head.method == .post ? "text/xml" : "application/json"
            return Response(status: .ok, fields: fields, body: Body(request.head.method == .post ? xml : json))
        }
        let written = Mutex("")
        let log = LogSink { entry in written.withLock { $0 += entry + "\n" } }
        let logged = stub.logging(to: log, detail: .bodies(upTo: 4096))
        let environment = [
            "AWS_WEB_IDENTITY_TOKEN_FILE": file.path, "AWS_ROLE_ARN": "role",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://localhost/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": "CONTAINERTOKEN",
        ]
        for kind in [RemoteCredentials.Kind.webIdentity, .container] {
            let source = RemoteCredentials(kind, over: logged, environment: environment)
            let credentials = try #require(try await source.credentials())
            let signer = SigV4(service: "s3", region: "us-east-1", credentials: credentials)
            let connection = logged.authenticating(with: .signer(signer), for: try Origin("https://example.com"))
                .logging(to: log, detail: .bodies(upTo: 4096))
            _ = try await connection.send(.put("https://example.com/a", body: "content")).body.data(upTo: 1_000)
            let presigned = try await signer.presigned(.get("https://example.com/b"))
            _ = try await logged.send(.get(presigned.absoluteString)).body.data(upTo: 1_000)
            let signed = try #require(
                stub.requests.compactMap { $0.head.headerFields[.authorization] }.last { $0.hasPrefix("AWS4") })
            for secret in [
                "IDENTITYTOKEN", "CONTAINERTOKEN", "SESSIONTOKEN", "SECRETKEY", String(signed.suffix(64)),
                String(presigned.absoluteString.suffix(64)),
            ] {
                #expect(!written.withLock { $0.contains(secret) }, "\(secret)")
            }
        }
        #expect(written.withLock { $0.contains("example.com/a") })
    }

    @Test func `A connection that follows redirections, has a cache or shows secrets in a log is refused`() async throws
    {
        let stub = StubConnection()
        let connections: [any Connection] = [
            stub.followingRedirects(), stub.caching(in: MemoryResponseStore()),
            stub.logging(to: LogSink { _ in }, redacting: .none),
        ]
        for connection in connections {
            let error = await #expect(throws: SigningError.self) {
                try await RemoteCredentials(.instance, over: AnyConnection(connection), environment: [:]).credentials()
            }
            #expect(error?.reason == .invalidConfiguration)
        }
        #expect(stub.requests.isEmpty)
    }
}
#endif
