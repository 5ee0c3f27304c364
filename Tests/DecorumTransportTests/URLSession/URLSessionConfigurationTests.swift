import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A session that is made from a configuration of the app.
@Suite(.timeLimit(.minutes(3))) struct URLSessionConfigurationTests {
    let configuration = URLSessionConfiguration.default
    let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
        origin.route(nil, "*", .init(fields: ["Set-Cookie": "a=1", "Cache-Control": "max-age=600"], body: "ok"))
    }

    @Test func `Additional headers become fields of requests that do not have such fields`() async throws {
        configuration.httpAdditionalHeaders = ["X-Tenant": "a", "user-agent": "App/1.0", "Accept": "text/plain"]
        let connection = try URLSessionConnection(configuration: configuration)
        configuration.httpAdditionalHeaders = ["X-Tenant": "b"]

        let request = try Request.get(origin.url + "/", fields: [.userAgent: "Own/2.0"])
        try await connection.send(request).body.drain(upTo: 10)

        let fields = try #require(origin.requests.last).fields
        #expect(fields.values(of: "X-Tenant") == ["a"])
        #expect(fields.values(of: "User-Agent") == ["Own/2.0"])
        #expect(fields.values(of: "Accept") == ["text/plain"])
        #expect(
            connection.layers.first?.secretFields.map(\.canonicalName).sorted() == ["accept", "user-agent", "x-tenant"])
        let facts: Set<Layer.Fact> = [
            .readsClock, .resends, .waits, .changesSignedParts, .decodesContent, .changesResponse,
        ]
        #expect(connection.layers.first?.facts == facts)
        #expect(connection.layers.first?.sending.times == Self.sends)
        #expect(connection.layers.first?.description.contains("1.0") == false)
    }

    @Test func `Credentials among the additional headers are declared`() throws {
        configuration.httpAdditionalHeaders = ["Authorization": "Bearer s3cret"]
        let connection = try URLSessionConnection(configuration: configuration)

        #expect(connection.layers.first?.facts.contains(.addsCredentials) == true)
        #expect(!String(reflecting: connection.layers).contains("s3cret"))
        #expect(connection.followingRedirects().findings.map(\.hazard) == ["credentialsForEveryOrigin"])
    }

    @Test(arguments: [["no token": "a"], ["": "a"]])
    func `An additional header that cannot be a field is refused`(headers: [String: String]) {
        configuration.httpAdditionalHeaders = headers

        let error = #expect(throws: InvalidRequestError.self) { try URLSessionConnection(configuration: configuration) }
        #expect(error?.reason == .invalidField)
    }

    @Test func `A configuration of a background session is refused`() {
        let error = #expect(throws: InvalidRequestError.self) {
            try URLSessionConnection(configuration: Self.background)
        }
        #expect(error?.reason == .backgroundSession)
    }

    @Test func `Cookies, stored responses and timers of the configuration are overruled`() async throws {
        configuration.httpCookieStorage = HTTPCookieStorage.shared
        configuration.httpShouldSetCookies = true
        configuration.httpCookieAcceptPolicy = .always
        configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        configuration.requestCachePolicy = .returnCacheDataElseLoad
        // On Linux, with this time every request would fail at once.
        configuration.timeoutIntervalForRequest = 0
        let connection = try URLSessionConnection(configuration: configuration)

        for _ in 0..<3 { try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10) }

        #expect(origin.requests.map { $0.fields["Cookie"] } == [nil, nil, nil])
        #expect(HTTPCookieStorage.shared.cookies?.isEmpty != false)
        // The app's configuration is unchanged.
        #expect(configuration.urlCache != nil)
        #expect(configuration.timeoutIntervalForRequest == 0)
    }

    @Test func `The limit of the pool is that of the configuration`() async throws {
        configuration.httpMaximumConnectionsPerHost = 2
        let connection = try URLSessionConnection(configuration: configuration)
        let gate = Gate()
        origin.route(.get, "/wait", LoopbackOrigin.Answer(body: "ok").after(.wait(gate)))
        let request = try Request.get(origin.url + "/wait")
        let tasks = (0..<6).map { _ in Task { try await connection.send(request).body.text(upTo: 10) } }
        try await gate.waitForWaiting(2)
        gate.open()
        for task in tasks { #expect(try await task.value == "ok") }

        #expect(origin.connectionCount == 2)
        #expect(connection.layers.first?.settings.first?.value == "2")
    }
}

#if canImport(FoundationNetworking)
extension URLSessionConfigurationTests {
    private static let sends = 1...3

    private static var background: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.identifier = "decorum.test"
        return configuration
    }
}
#else
extension URLSessionConfigurationTests {
    private static let sends = 1...2

    private static var background: URLSessionConfiguration { .background(withIdentifier: "decorum.test") }

    @Test func `A session of the app in the background is refused`() {
        let session = URLSession(configuration: Self.background)
        defer { session.invalidateAndCancel() }
        let error = #expect(throws: InvalidRequestError.self) { try URLSessionConnection(session: session) }
        #expect(error?.reason == .backgroundSession)
    }

    @Test func `A session of the app sends, stores nothing, and outlives the connection`() async throws {
        configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        configuration.httpAdditionalHeaders = ["X-Tenant": "a"]
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        let connection = try URLSessionConnection(session: session)
        origin.route(.get, "/redirect", .init(.found, fields: ["Location": "/"]))

        #expect(try await connection.send(.get(origin.url + "/redirect")).status == .found)
        for _ in 0..<2 { try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10) }
        await connection.close()
        let error = await #expect(throws: TransportError.self) { try await connection.send(.get(origin.url + "/")) }

        #expect(error?.code == .closed)
        #expect(origin.requests.count == 3)
        #expect(origin.requests.allSatisfy { $0.fields["Cookie"] == nil && $0.fields["X-Tenant"] == "a" })
        #expect(connection.layers.first?.settings.first?.value == "the app's own")
        let url = try #require(URL(string: origin.url + "/"))
        #expect(try await session.data(from: url).0 == Data("ok".utf8))
        #expect(origin.requests.count == 4)
    }
}
#endif

#if !canImport(FoundationNetworking)
/// Options for TLS on URLSession of Apple's systems.
@Suite(.timeLimit(.minutes(3))) struct URLSessionTLSTests {
    @Test(.enabled(if: SecureServer.missingForTLS == nil, "openssl is not installed"))
    func `Roots, pinned keys and a closure decide about a server`() async throws {
        let server = try await SecureServer.openssl("-www")
        let pem = try String(contentsOf: server.certificate, encoding: .utf8)
        var tls = TLSOptions()
        tls.roots = .file(server.root)
        tls.pinnedKeys = [try server.pin]
        tls.reportsCertificates = true
        tls.evaluateTrust = { _, host in host == "127.0.0.1" }
        let response = try await URLSessionConnection(tls: tls).send(.get(server.url + "/"))
        #expect(response.status == .ok)
        #expect(response.metadata.serverCertificates.first == [Data](pemCertificates: pem)?.first)

        let changes: [(TransportError.TLSProblem, (inout TLSOptions) -> Void)] = [
            (.untrusted, { $0.roots = .file(server.stranger) }),
            (.wrongKey, { $0.pinnedKeys = [Data(repeating: 7, count: 32)] }),
            (.unverified, { $0.evaluateTrust = { _, _ in false } }),
        ]
        for (problem, change) in changes {
            var changed = tls
            change(&changed)
            let error = await #expect(throws: TransportError.self) {
                try await URLSessionConnection(tls: changed).send(.get(server.url + "/"))
            }
            #expect(error?.code == .tls)
            #expect(error?.stage == .connecting)
            #expect(error?.tlsProblem == problem)
        }
    }

    @Test(arguments: [TLSOptions.Roots.file(URL(filePath: "/nowhere.pem")), .pem("text")])
    func `Roots that cannot be read are refused`(roots: TLSOptions.Roots) {
        var tls = TLSOptions()
        tls.roots = roots
        let error = #expect(throws: TransportError.self) { try URLSessionConnection(tls: tls) }
        #expect(error?.tlsProblem == .unusableRoots)
    }

    @Test(arguments: [0, 1])
    func `An identity that URLSession cannot use is refused without its password`(index: Int) {
        var tls = TLSOptions()
        tls.identity =
            [
                .pkcs12(Data("file".utf8), password: "s3cret"),
                .pem(certificate: "text", key: "s3cret-key", password: "s3cret"),
            ][index]
        let error = #expect(throws: TransportError.self) { try SystemConnection(tls: tls) }
        #expect(error?.tlsProblem == .unusableIdentity)
        #expect(error?.description.contains("s3cret") == false)
    }
}
#endif
