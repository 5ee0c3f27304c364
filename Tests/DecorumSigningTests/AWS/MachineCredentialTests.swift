#if Signing
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

@Suite(.timeLimit(.minutes(3)))
struct MachineCredentialTests {
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_790_000_000))
    private let examples: AWSExamples

    init() throws { examples = try AWSExamples() }

    private func credentials(
        _ place: MachineCredentials.Place, _ environment: [String: String] = [:], over connection: some Connection
    ) async throws -> AWSCredentials? {
        try await MachineCredentials(place, over: connection, environment: environment, clock: clock).credentials()
    }

    private func expectDocumented(_ credentials: AWSCredentials?) {
        #expect(credentials?.accessKeyID == "ASIA1" && credentials?.secretAccessKey == "SECRETKEY/+=")
        #expect(credentials?.sessionToken == "SECRETTOKEN")
        #expect(credentials?.expiry == Date(timeIntervalSince1970: 1_795_845_600))
    }

    @Test func `The environment gives credentials, and half of them is a mistake`() async throws {
        let whole = ["AWS_ACCESS_KEY_ID": "ID", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"]
        #expect(try await credentials(.environment, whole, over: StubConnection())?.sessionToken == "t")
        #expect(try await credentials(.environment, over: StubConnection()) == nil)
        let half = whole.merging(["AWS_SECRET_ACCESS_KEY": ""]) { $1 }
        await #expect(throws: SigningError.self) {
            try await credentials(.environment, half, over: StubConnection())
        }
    }

    @Test func `An instance gives the credentials of its role by version 2, and none without a role or when it is off`()
        async throws
    {
        let stub = StubConnection(
            Response(status: .ok, body: "session=="), Response(status: .ok, body: "role\n"),
            Response(status: .ok, body: Body(examples.json)), Response(status: .ok, body: "session"),
            Response(status: .notFound))
        expectDocumented(try await credentials(.instance, over: stub))
        let list = "http://169.254.169.254/latest/meta-data/iam/security-credentials/"
        #expect(
            stub.requests.map { "\($0.head.method) \($0.url?.absoluteString ?? "")" } == [
                "PUT http://169.254.169.254/latest/api/token", "GET \(list)", "GET \(list)role",
            ])
        let name = try #require(HTTPField.Name("X-aws-ec2-metadata-token"))
        #expect(stub.requests.map { $0.head.headerFields[name] } == [nil, "session==", "session=="])
        #expect(!stub.requests.contains { "\($0)".contains("session==") })
        #expect(try await credentials(.instance, over: stub) == nil)
        #expect(try await credentials(.instance, ["AWS_EC2_METADATA_DISABLED": "TRUE"], over: stub) == nil)
        #expect(stub.requests.count == 5)
    }

    @Test func `A container gives credentials to its token, which is read for each fetch`() async throws {
        let folder = try FileFolder()
        let stub = StubConnection { [examples] _ in Response(status: .ok, body: Body(examples.json)) }
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

    @Test func `A URI that leads elsewhere is refused before anything is sent`() async throws {
        let stub = StubConnection()
        let full = examples.refusedURIs.map { ("AWS_CONTAINER_CREDENTIALS_FULL_URI", $0) }
        for (name, value) in full + [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@example.com/")] {
            let error = await #expect(throws: SigningError.self) {
                try await credentials(
                    .container, [name: value, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "secret"], over: stub)
            }
            #expect(error?.reason == .invalidConfiguration)
            #expect(error?.description.contains(name) == true && error?.description.contains(value) == false)
        }
        #expect(full.count > 10 && stub.requests.isEmpty)
    }

    @Test func `The token service gives the credentials of a role`() async throws {
        let folder = try FileFolder(["token": "TOKEN\n"])
        let stub = StubConnection(
            Response(status: .ok, body: Body(examples.xml)),
            Response(status: .badRequest, body: Body(examples.refusal)))
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
        let broken = [("Success", "Failed"), ("2026-11-28T06", "soon"), ("ASIA1", "A\\n1")].map { text, other in
            Response(status: .ok, body: Body(examples.json.replacing(text, with: other)))
        }
        let large = Response(status: .ok, body: Body(Data(repeating: UInt8(ascii: "{"), count: 1 << 20)))
        let pages = [Response(status: .ok, body: Body(html)), Response(status: .found, body: Body(html)), large]
        let container = ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "https://example.com/"]
        for response in broken + pages + [Response(status: .serviceUnavailable)] {
            for (place, before) in [(MachineCredentials.Place.container, 0), (.instance, 0), (.instance, 1)] {
                let answer: StubConnection.Answer = { _ in Response(status: .ok, body: "session") }
                let stub = StubConnection(answers: Array(repeating: answer, count: before)) { _ in response }
                let error = await #expect(throws: AWSCredentialError.self) {
                    try await credentials(place, container, over: stub)
                }
                #expect(error?.description.contains("SECRET") == false)
                #expect(error?.mayPass == (response.head.status == .serviceUnavailable))
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
                try await credentials(.instance, over: AnyConnection(connection))
            }
            #expect(error?.reason == .invalidConfiguration)
        }
        #expect(stub.requests.isEmpty)
    }
}

/// A transport that has a proxy.
private struct ProxiedConnection: Connection {
    let layers = [Layer(name: "Proxied", role: .transport, settings: [.init("proxies", "http://proxy")])]

    func send(_ request: consuming Request) async throws -> Response { Response(status: .ok) }
}
#endif
