import Decorum
import DecorumTesting
import HTTPTypes
import Synchronization
import Testing

/// The layers of a standard stack, for each of its settings.
@Suite struct StandardStackTests {
    static let url = "https://api.example.com/v1/"

    /// A stack that has all parts.
    static var full: StandardStack {
        var stack = StandardStack(.app, for: url)
        stack.callLog = .line
        stack.wireLog = .fields
        stack.idempotencyKeys = true
        stack.requestIDs = true
        stack.client = try? ClientInformation(name: "Reader", version: "1.2")
        stack.languages = ["pt-BR", "en"]
        stack.fields = [.accept: "application/json"]
        stack.coalescing = .standard
        stack.compression = .standard
        return stack
    }

    static func names(_ connection: any Connection) -> [String] { connection.layers.map(\.name) }

    @Test func `All parts stand in the canonical order`() throws {
        let connection = try Self.full.composed(
            over: StubConnection(), authentication: .with(.bearer("t0ken")), principal: Principal("user-42"),
            observer: ExchangeStatistics(), attemptObserver: ExchangeStatistics(), log: LogSink { _ in })

        #expect(
            Self.names(connection) == [
                "validatingStatus", "observing", "logging", "limitingTime", "addingIdempotencyKey", "addingRequestID",
                "acting", "resolving", "addingDefaultFields", "acceptingLanguages", "identifyingClient",
                "followingRedirects", "decompressing", "caching", "coalescing", "retrying", "pacing", "limitingTime",
                "compressing", "authenticating", "observing", "logging", "StubConnection",
            ])
        let scopes = connection.layers.filter { ["observing", "limitingTime"].contains($0.name) }
            .map { $0.settings.first?.value }
        #expect(scopes == ["call", "call", "attempt", "attempt"])
    }

    private struct Row: Sendable {
        let part: StandardStack.Part
        var layers: Set<String>
        let leavingOut: @Sendable (inout StandardStack) -> Void
    }

    private static let rows = [
        Row(part: .statusValidation, layers: ["validatingStatus"]) { $0.statusValidation = false },
        Row(part: .callLog, layers: ["logging"]) { stack in
            stack.callLog = nil
            stack.wireLog = nil
        },
        Row(part: .callTime, layers: ["limitingTime", "retrying"]) { stack in
            (stack.time, stack.attemptTime, stack.retries) = (nil, nil, nil)
        },
        Row(part: .idempotencyKeys, layers: ["addingIdempotencyKey"]) { $0.idempotencyKeys = false },
        Row(part: .requestIDs, layers: ["addingRequestID"]) { $0.requestIDs = false },
        Row(part: .baseURL, layers: ["resolving"]) { $0.baseURL = nil },
        Row(part: .fields, layers: ["identifyingClient"]) { $0.client = nil },
        Row(part: .fields, layers: ["acceptingLanguages"]) { $0.languages = [] },
        Row(part: .fields, layers: ["addingDefaultFields"]) { $0.fields = [:] },
        Row(part: .redirects, layers: ["followingRedirects"]) { $0.redirects = nil },
        Row(part: .decompression, layers: ["decompressing"]) { $0.decompression = nil },
        Row(part: .caching, layers: ["caching"]) { $0.caching = nil },
        Row(part: .coalescing, layers: ["coalescing"]) { $0.coalescing = nil },
        Row(part: .retries, layers: ["retrying"]) { $0.retries = nil },
        Row(part: .pacing, layers: ["pacing"]) { $0.pacing = nil },
        Row(part: .compression, layers: ["compressing"]) { $0.compression = nil },
    ]

    @Test(arguments: rows.indices) func `A part that is left out is not in the stack`(index: Int) throws {
        let row = Self.rows[index]
        let all = Self.names(try Self.full.composed(over: StubConnection()))
        #expect(row.layers.isSubset(of: all))
        var stack = Self.full
        row.leavingOut(&stack)
        let names = Self.names(try stack.composed(over: StubConnection()))
        #expect(names == all.filter { !row.layers.contains($0) })
    }

    @Test func `A layer of one's own stands where it was placed, also beside a part that is left out`() throws {
        let mark: @Sendable (String) -> @Sendable (any Connection) -> any Connection = { name in
            { base in base.intercepting(name) { try await $1.send($0) } }
        }
        let connection = try StandardStack(.tool).composed(
            over: StubConnection(),
            adding: [
                .outside(of: .caching, mark("outer 1")), .outside(of: .caching, mark("outer 2")),
                .inside(of: .caching, mark("inner")), .inPlace(of: .pacing, mark("own")),
                .outside(of: .statusValidation, mark("call")), .inside(of: .wireLog, mark("near")),
            ])
        #expect(
            Self.names(connection) == [
                "call", "validatingStatus", "limitingTime", "followingRedirects", "decompressing", "outer 2", "outer 1",
                "inner", "retrying", "own", "limitingTime", "near", "StubConnection",
            ])
    }

    @Test func `Credentials go to the origin of the base URL, unless they name others`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let other = try Origin("https://other.example")
        for origins in [[], [other]] as [Set<Origin>] {
            let connection = try StandardStack(for: Self.url).composed(
                over: stub, authentication: .with(.bearer("t0ken"), for: origins))
            _ = try await connection.send(.get("feed"))
            _ = try await connection.send(.get("https://other.example/feed"))
        }
        let authorized = stub.requests.map { $0.head.headerFields[.authorization] != nil }
        #expect(authorized == [true, false, false, true])
    }

    @Test func `A setting or an argument that cannot be used is refused with its name`() throws {
        let plain: @Sendable (any Connection) -> any Connection = { $0 }
        var unlimited = StandardStack(.tool)
        unlimited.time = nil
        var secret = StandardStack()
        secret.fields = [.authorization: "Bearer t"]
        let rows: [(path: String, compose: () throws -> any Connection)] = [
            ("authentication", { try StandardStack().composed(authentication: .with(.bearer("t0ken"))) }),
            ("store", { try StandardStack(.tool).composed(store: MemoryResponseStore()) }),
            ("log", { try StandardStack().composed(log: LogSink { _ in }) }),
            (
                "pauses",
                { try StandardStack().composed(pauses: ServerPauses(), adding: [.inPlace(of: .pacing, plain)]) }
            ),
            (
                "principal",
                { try StandardStack().composed(principal: .init("a"), adding: [.inPlace(of: .principal, plain)]) }
            ),
            ("retries", { try unlimited.composed() }), ("fields.Authorization", { try secret.composed() }),
            ("baseURL", { try StandardStack(for: "https://ghe.example/api/v3").composed() }),
            ("baseURL", { try StandardStack(for: "/v1").composed() }),
        ]
        for row in rows {
            let error = #expect(throws: StackSettingsError.self) { _ = try row.compose() }
            #expect(error?.path == row.path)
        }
        _ = try unlimited.composed(adding: [.inPlace(of: .callTime) { $0.limitingTime() }])
    }

    @Test(arguments: StandardStack.Preset.allCases)
    func `A preset has no findings, with and without credentials`(preset: StandardStack.Preset) throws {
        let transport = ClosureConnection(named: "transport", choosingFrom: []) { _ in .page }
        var whole = Self.full
        whole.caching = .standard
        for stack in [StandardStack(preset), StandardStack(preset, for: "https://a.example/"), whole] {
            for credentials in [
                nil, StandardStack.Authentication.with(try .bearer("t"), for: [site]),
                .with(.signer(VisibleSigner()), for: [site]), .from(CountingSource(), for: [site]),
            ] {
                let connection = try stack.composed(
                    over: transport, authentication: credentials, principal: Principal("user"))
                #expect(connection.findings.isEmpty && connection.composition.unknownLayers.isEmpty, "\(connection)")
            }
        }
        let users = StandardStack.Authentication.from(CountingSource(servesOneUser: false), for: [site])
        let shared = try StandardStack().composed(
            over: transport, authentication: users, principal: Principal("user"))
        #expect(shared.findings.map(\.hazard) == ["principalOfChangingUsers"])
    }

    @Test(arguments: StandardStack.Preset.allCases)
    func `A preset follows, retries, signs in and decodes`(preset: StandardStack.Preset) async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/v1/item", LoopbackOrigin.Answer(.found, fields: ["Location": "/v1/moved"]))
        origin.route(.get, "/v1/moved", LoopbackOrigin.Answer(body: "one"))
        var stack = StandardStack(preset, for: origin.url + "/v1/")
        stack.retries?.baseDelay = .milliseconds(1)
        stack.retries?.maximumDelay = .milliseconds(1)
        // The times of a preset are real, and a machine under load may need longer.
        (stack.time, stack.attemptTime) = (TimePolicy(call: .seconds(120)), .init(.seconds(60)))
        let connection = try stack.composed(authentication: .with(.bearer("t0ken")))

        origin.enqueue(LoopbackOrigin.Answer(.serviceUnavailable))
        #expect(try await connection.send(.get("item")).body.text(upTo: 9) == "one")

        #expect(origin.requests.map(\.target) == ["/v1/item", "/v1/item", "/v1/moved"])
        for request in origin.requests {
            #expect(request.fields[.authorization] == "Bearer t0ken")
            #expect(request.fields[.acceptEncoding]?.contains("gzip") == true)
        }
        let error = try await #require(throws: StatusError.self) { _ = try await connection.send(.get("missing")) }
        #expect(error.status == .notFound)
    }
}
