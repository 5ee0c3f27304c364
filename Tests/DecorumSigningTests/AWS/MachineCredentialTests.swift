#if Signing
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

/// A folder with files, which is removed at the end.
final class FileFolder: Sendable {
    private let url = FileManager.default.temporaryDirectory.appending(path: "aws-\(UInt64.random(in: 0 ... .max))")

    init(_ files: [String: String] = [:]) throws {
        try FileManager.default.createDirectory(at: url.appending(path: ".aws"), withIntermediateDirectories: true)
        for (name, text) in files { try write(Data(text.utf8), to: name) }
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    var path: String { url.path }

    func path(of name: String) -> String { url.appending(path: name).path }

    func write(_ data: Data, to name: String) throws { try data.write(to: url.appending(path: name)) }
}

/// What the services of AWS answer.
enum AWSDocument {
    static let json = """
        {"Code": "Success", "LastUpdated": "2026-11-28T00:00:00Z", "Type": "AWS-HMAC", "AccessKeyId": "ASIA1",
        "SecretAccessKey": "SECRETKEY/+=", "Token": "SECRETTOKEN", "Expiration": "2026-11-28T06:00:00Z"}
        """
    static let xml = """
        <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Credentials>
        <SessionToken>SECRETTOKEN</SessionToken><SecretAccessKey>SECRETKEY/+=</SecretAccessKey>
        <Expiration>2026-11-28T06:00:00.000Z</Expiration><AccessKeyId>ASIA1</AccessKeyId></Credentials>
        </AssumeRoleWithWebIdentityResponse>
        """
}

@Suite(.timeLimit(.minutes(3)))
struct MachineCredentialTests {
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_790_000_000))

    private func credentials(
        _ place: MachineCredentials.Place, _ environment: [String: String] = [:], over stub: StubConnection
    ) async throws -> AWSCredentials? {
        try await MachineCredentials(place, over: stub, environment: environment, clock: clock).credentials()
    }

    private func expectDocumented(_ credentials: AWSCredentials?) {
        #expect(credentials?.accessKeyID == "ASIA1" && credentials?.secretAccessKey == "SECRETKEY/+=")
        #expect(credentials?.sessionToken == "SECRETTOKEN")
        #expect(credentials?.expiry == Date(timeIntervalSince1970: 1_795_845_600))
    }

    @Test func `The environment gives credentials, and half of them is a mistake`() async throws {
        let whole = ["AWS_ACCESS_KEY_ID": "ID", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"]
        let stub = StubConnection()
        #expect(try await credentials(.environment, whole, over: stub)?.sessionToken == "t")
        #expect(try await credentials(.environment, over: stub) == nil)
        await #expect(throws: SigningError.self) {
            try await credentials(.environment, whole.merging(["AWS_SECRET_ACCESS_KEY": ""]) { $1 }, over: stub)
        }
    }

    @Test func `An instance gives the credentials of its role by version 2`() async throws {
        let stub = StubConnection(
            Response(status: .ok, body: "session=="), Response(status: .ok, body: "role\n"),
            Response(status: .ok, body: Body(AWSDocument.json)))
        expectDocumented(try await credentials(.instance, over: stub))
        let base = "http://169.254.169.254/latest/"
        #expect(
            stub.requests.map { "\($0.head.method) \($0.url?.absoluteString ?? "")" } == [
                "PUT \(base)api/token", "GET \(base)meta-data/iam/security-credentials/",
                "GET \(base)meta-data/iam/security-credentials/role",
            ])
        let name = try #require(HTTPField.Name("X-aws-ec2-metadata-token"))
        #expect(stub.requests.map { $0.head.headerFields[name] } == [nil, "session==", "session=="])
        #expect(!stub.requests.contains { "\($0)".contains("session==") })
    }

    @Test func `An instance without a role has none, and a service that is turned off is not asked`() async throws {
        let stub = StubConnection(Response(status: .ok, body: "session"), Response(status: .notFound))
        #expect(try await credentials(.instance, over: stub) == nil)
        #expect(try await credentials(.instance, ["AWS_EC2_METADATA_DISABLED": "TRUE"], over: stub) == nil)
        #expect(stub.requests.count == 2)
    }

    @Test func `A container gives credentials to its token, which is read for each fetch`() async throws {
        let folder = try FileFolder()
        let stub = StubConnection { _ in Response(status: .ok, body: Body(AWSDocument.json)) }
        let full = [
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://[fd00:ec2::23]/v1/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": folder.path(of: "token"),
        ]
        for token in ["first", "second"] {
            try folder.write(Data("\(token)\n".utf8), to: "token")
            expectDocumented(try await credentials(.container, full, over: stub))
            #expect(stub.requests.last?.head.headerFields[.authorization] == token)
        }
        let relative = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/1"]
        _ = try await credentials(.container, relative, over: stub)
        #expect(stub.requests.last?.url?.absoluteString == "http://169.254.170.2/v2/credentials/1")
        #expect(try await credentials(.container, over: stub) == nil)
    }

    @Test(arguments: [
        "http://example.com/", "http://169.254.170.3/", "http://127.0.0.1.example.com/", "http://127.1/",
        "ftp://localhost/", "http://[::2]/", "http://user@localhost/", "http://169.254.170.2@example.com/",
        "http://169.254.169.254/", "/path", "x", "http://example.com\\@localhost/", "http://localhost /",
    ])
    func `A URI that leads elsewhere is refused before anything is sent`(uri: String) async throws {
        let stub = StubConnection()
        for (name, value) in [
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri), ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@example.com/"),
        ] {
            let environment = [name: value, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "secret"]
            let error = await #expect(throws: SigningError.self) {
                try await credentials(.container, environment, over: stub)
            }
            #expect(error?.reason == .invalidConfiguration)
            #expect(error?.description.contains(name) == true && error?.description.contains(value) == false)
        }
        #expect(stub.requests.isEmpty)
    }

    @Test func `The token service gives the credentials of a role`() async throws {
        let folder = try FileFolder(["token": "TOKEN\n"])
        let refusal =
            "<ErrorResponse><Error><Code>ExpiredTokenException</Code><Message>TOKEN</Message></Error></ErrorResponse>"
        let stub = StubConnection(
            Response(status: .ok, body: Body(AWSDocument.xml)), Response(status: .badRequest, body: Body(refusal)))
        let environment = [
            "AWS_WEB_IDENTITY_TOKEN_FILE": folder.path(of: "token"), "AWS_ROLE_ARN": "arn:aws:iam::1:role/r",
            "AWS_REGION": "eu-west-1",
        ]
        expectDocumented(try await credentials(.webIdentity, environment, over: stub))
        let error = await #expect(throws: AWSCredentialError.self) {
            try await credentials(.webIdentity, environment, over: stub)
        }
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
            (Response(status: .ok, body: Body(AWSDocument.json.replacing("Success", with: "Failed"))), false),
            (Response(status: .ok, body: Body(AWSDocument.json.replacing("2026-11-28T06", with: "soon"))), false),
            (Response(status: .ok, body: Body(AWSDocument.json.replacing("ASIA1", with: "A\\n1"))), false),
            (Response(status: .found, body: Body(html)), false), (Response(status: .serviceUnavailable), true),
        ]
        let container = ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "https://example.com/"]
        let session = Response(status: .ok, body: "session")
        for (response, mayPass) in rows {
            for (place, stub) in [
                (MachineCredentials.Place.container, StubConnection(response)),
                (.instance, StubConnection(response, response, response)),
                (.instance, StubConnection(session, response, response)),
            ] {
                let error = await #expect(throws: AWSCredentialError.self) {
                    try await credentials(place, container, over: stub)
                }
                #expect(error?.description.contains("SECRET") == false && error?.mayPass == mayPass)
            }
        }
    }

    @Test func `A service that hangs or cannot be reached ends in time with an error that may pass`() async throws {
        let hanging = StubConnection { [clock] _ in
            try await clock.sleep(until: clock.now + .seconds(1_000), tolerance: nil)
            return Response(status: .ok)
        }
        let call = Task { try await credentials(.instance, over: hanging) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(2))
        let late = await #expect(throws: AWSCredentialError.self) { try await call.value }
        #expect(late?.mayPass == true)

        let away = StubConnection { _ in throw TransportError(.unreachable, at: .connecting) }
        let error = await #expect(throws: AWSCredentialError.self) { try await credentials(.instance, over: away) }
        #expect(error?.mayPass == true && error?.description.contains("AWS_EC2_METADATA_DISABLED") == true)
    }

    @Test func `A connection that redirects, has a cache or a proxy, or shows secrets in a log is refused`()
        async throws
    {
        let stub = StubConnection()
        let connections: [any Connection] = [
            stub.followingRedirects(), stub.caching(in: MemoryResponseStore()),
            stub.logging(to: LogSink { _ in }, redacting: .none), ProxiedConnection(),
        ]
        for connection in connections {
            let error = await #expect(throws: SigningError.self) {
                try await MachineCredentials(.instance, over: AnyConnection(connection), environment: [:]).credentials()
            }
            #expect(error?.reason == .invalidConfiguration)
        }
        #expect(stub.requests.isEmpty)
    }
}

/// A transport that has a proxy.
private struct ProxiedConnection: Connection {
    var layers: [Layer] {
        [Layer(name: "Proxied", role: .transport, settings: [.init("proxies", "http://proxy")])]
    }

    func send(_ request: consuming Request) async throws -> Response { Response(status: .ok) }
}
#endif
