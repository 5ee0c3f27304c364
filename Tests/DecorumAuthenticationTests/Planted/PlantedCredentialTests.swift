import DecorumCookies
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumAuthentication

/// Tokens, codes, cookies and passwords of a whole session reach no log, error, description, recording or file.
@Suite(.timeLimit(.minutes(5))) struct PlantedCredentialTests {
    @Test(arguments: SecretSink.allCases)
    func `A sink holds none of the credentials`(sink: SecretSink) async throws {
        let session = try PlantedSession(into: sink)
        let output = try await session.run()
        let exchanged = session.servers.exchanged
        #expect(!output.isEmpty)
        for credential in PlantedCredential.allCases {
            // The state goes over the browser alone.
            let isPlanted = credential == .state || credential.forms.contains(where: exchanged.contains)
            #expect(isPlanted, "\(credential) was not planted")
            for form in credential.forms {
                guard let range = output.range(of: form) else { continue }
                let start = output.index(range.lowerBound, offsetBy: -200, limitedBy: output.startIndex)
                Issue.record("\(sink) holds \(credential): \(output[(start ?? output.startIndex)..<range.upperBound])")
            }
        }
    }
}

/// A whole session of a user, from signing in to signing out, with one sink that gets all that it can.
struct PlantedSession {
    let sink: SecretSink
    let servers = PlantedServers()
    private let clock = VirtualClock()
    private let folder = TokenFolder()

    init(into sink: SecretSink) throws {
        self.sink = sink
    }

    func run() async throws -> String {
        let collector = Collector()
        let cassette: Cassette?
        switch sink {
        case .cassette: cassette = try Cassette(at: path("a.json"), mode: .rewrite, rules: .quiet)
        case .archive: cassette = try Cassette(at: path("a.har"), mode: .rewrite, rules: .quiet)
        default: cassette = nil
        }
        let transport = watched(servers.connection, cassette, by: collector)
        try await use(transport, collector)
        if let cassette {
            try await cassette.finish()
            collector.add("\(cassette)")
        }
        if [.cassette, .archive, .storedFiles].contains(sink) {
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder.url.path) {
                let bytes = FileManager.default.contents(atPath: path(name)) ?? Data()
                collector.add(String(decoding: bytes, as: UTF8.self))
            }
        }
        return collector.text
    }

    private func path(_ name: String) -> String { folder.url.appending(path: name).path }

    /// Adds the layers that write into the sink, innermost, where they see what is sent.
    private func watched(
        _ base: some Connection, _ cassette: Cassette?, by collector: Collector
    ) -> any Connection {
        let log = LogSink { collector.add($0) }
        switch sink {
        case .lines: return base.logging(to: log, detail: .line)
        case .fields: return base.logging(to: log, detail: .fields)
        case .bodies: return base.logging(to: log, detail: .bodies(upTo: 4096))
        case .events: return base.observing(as: .attempt) { collector.add($0, String(reflecting: $0)) }
        case .cassette, .archive: return cassette.map { base.recording(on: $0) } ?? base
        default: return base
        }
    }

    private func use(_ transport: any Connection, _ collector: Collector) async throws {
        typealias Planted = PlantedCredential
        let api = try Origin("https://api.example.com")
        let statistics = ExchangeStatistics()
        let server = try AuthorizationServer(
            issuer: "https://id.example.com", authorization: "https://id.example.com/authorize",
            token: "https://id.example.com/token", deviceAuthorization: "https://id.example.com/device",
            revocation: "https://id.example.com/revoke")
        let basic = OAuthClient(
            "app", of: server, authentication: .basic(Planted.clientSecret.value), over: transport, clock: clock)
        let post = OAuthClient(
            "app", of: server, authentication: .post(Planted.clientSecret.value), over: transport, clock: clock)
        let tokens = Tokens(in: MemoryTokenStore(), from: post.refreshing(), servesOneUser: true, clock: clock)
        let jar = CookieJar(suffixes: .conservative, clock: clock)
        let key = try #require(HTTPField.Name("X-API-Key"))
        let store =
            sink == .storedFiles
            ? FileResponseStore(directory: folder.url.appending(path: "responses")) as any ResponseStore
            : MemoryResponseStore()
        let stack =
            try transport
            .authenticating(with: tokens, for: api)
            .authenticating(with: .field(key, Planted.apiKey.value), for: api)
            .retrying(clock: clock)
            .observing(statistics, as: .attempt)
            .caching(in: store, clock: clock)
            .keepingCookies(in: jar)
            .followingRedirects()
            .acting(for: Principal("user"))
        let connection = watched(stack, nil, by: collector)

        // Signing in, in three ways.
        let proofKey = try ProofKey(verifier: Planted.verifier.value, sha256: { SHA256.hash(data: $0) })
        let request = try basic.authorizationRequest(redirectURI: "app:/in", proofKey: proofKey)
        let callback = try #require(
            URL(string: "app:/in?code=\(Planted.code.value)&state=\(request.state)&iss=https://id.example.com"))
        let forged = try #require(
            URL(string: "app:/in?code=\(Planted.code.value)&state=\(Planted.state.value)"))
        await collector.error(in: sink) { try await basic.token(from: forged, for: request) }
        try await tokens.signIn(with: basic.token(from: callback, for: request))
        let device = try await basic.authorizeDevice()
        let signingIn = Task { try await post.token(for: device) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        let deviceToken = try await signingIn.value
        let exchanged = try await basic.exchange(Planted.subjectToken.value)

        // Calls, with a refresh, a cookie, a stored response, a challenge and refusals.
        let url = try #require(URL(string: "https://api.example.com/"))
        jar.set(SetCookie(name: "session", value: Planted.cookie.value), from: url, of: Principal("user"))
        let answering: any Connection = transport.answeringChallenges(with: [PlantedPassword()], for: [api])
            .validatingStatus()
        let challenged = watched(answering, nil, by: collector)
        var responses: [Response] = []
        var requests: [Request] = []
        let context = CallContext(keepingHistory: 100)
        for (path, connection) in [
            ("notes", connection), ("notes", connection), ("other", connection), ("locked", challenged),
        ] {
            var request = try Request.get("https://api.example.com/\(path)")
            request.options.callContext = context
            requests.append(request)
            let response = try await connection.send(request)
            _ = try await response.body.data(upTo: 1000)
            responses.append(response)
        }
        var own = try Request.post(
            "https://api.example.com/refusing?access_token=\(Planted.accessToken.value)",
            body: Body(form: ["refresh_token": Planted.refreshToken.value]))
        own.head.headerFields[.cookie] = "session=\(Planted.cookie.value)"
        own.head.headerFields[.authorization] = "Bearer \(Planted.accessToken.value)"
        requests.append(own)
        let refused = own
        await collector.error(in: sink) { try await challenged.send(refused) }

        // Signing out, and errors of the token endpoint.
        let old = try await tokens.signOut()
        await collector.error(in: sink) { try await basic.revoke(Token(Planted.revokedToken.value)) }
        await collector.error(in: sink) { try await connection.send(.get("https://api.example.com/signed-out")) }
        await collector.error(in: sink) { try Token(Planted.revokedToken.value + "\n") }

        switch sink {
        case .statistics: collector.add(statistics, statistics.snapshot())
        case .histories: collector.add(context, context.history)
        case .layers: collector.add(connection.layers, connection.composition, connection.findings)
        case .requests: collector.add(requests)
        case .values:
            collector.add(
                tokens, jar, jar.allCookies(of: Principal("user")), basic, post, request, proofKey, device, deviceToken,
                exchanged, old as Any, key, store, server)
        case .metadata: collector.add(responses, responses.map(\.metadata), responses.map(\.challenges))
        default: break
        }
    }
}

private struct PlantedPassword: ChallengeHandler {
    func answer(_ request: ChallengedRequest) async throws -> Credentials? {
        try .basic(user: "user", password: PlantedCredential.password.value)
    }
}

extension CassetteRules {
    /// The default rules, without the list of replaced secrets that a recording prints.
    fileprivate static let quiet: CassetteRules = {
        var rules = CassetteRules()
        rules.reportReplacements = nil
        return rules
    }()
}

/// All that a sink got.
private final class Collector: Sendable {
    private let parts = Mutex<[String]>([])

    var text: String { parts.withLock { $0.joined(separator: "\n") } }

    func add(_ text: String...) { parts.withLock { $0 += text } }

    /// Adds the descriptions, the debug descriptions and the dumps of values.
    func add(_ values: Any...) {
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            parts.withLock { $0 += ["\(value)", String(reflecting: value), dumped] }
        }
    }

    /// Runs something that fails, and adds the error where the sink is that of errors.
    func error(in sink: SecretSink, _ body: () async throws -> some Any) async {
        do {
            _ = try await body()
            Issue.record("There is no error.")
        } catch {
            guard sink == .errors else { return }
            let text = Redaction.standard.description(of: error)
            add("\(error)", String(reflecting: error), text, error.localizedDescription)
            var dumped = ""
            dump(error, to: &dumped)
            add(dumped)
        }
    }
}
