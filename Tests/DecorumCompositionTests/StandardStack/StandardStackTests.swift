import Decorum
import DecorumTesting
import Foundation
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
        stack.client = StandardStack.Client(name: "Reader", version: "1.2")
        stack.languages = ["pt-BR", "en"]
        stack.fields = [.accept: "application/json"]
        stack.coalescing = .standard
        stack.compression = .standard
        return stack
    }

    static func names(_ connection: any Connection) -> [String] { connection.layers.map(\.name) }

    @Test(arguments: [(true, true), (true, false), (false, true)])
    func `The entries of two logs begin with words, and those of one log do not`(call: Bool, wire: Bool) async throws {
        var stack = StandardStack(for: Self.url)
        stack.callLog = call ? .line : nil
        stack.wireLog = wire ? .line : nil
        let entries = Mutex<[String]>([])
        let stub = StubConnection(Response(status: .ok, body: "x"))
        let connection = try stack.composed(
            over: stub, log: LogSink { entry in entries.withLock { $0.append(entry) } })
        _ = try await connection.send(.get("feed")).body.data(upTo: 9)
        let words = entries.withLock { $0.map { $0.prefix { $0 != " " } } }.sorted()
        #expect(words == (call && wire ? ["call", "wire"] : ["GET"]))
    }

    @Test(arguments: [(Duration.zero, 2), (.seconds(60), 1)])
    func `A response without a lifetime is fresh only where the setting says so`(limit: Duration, count: Int)
        async throws
    {
        var stack = StandardStack(for: Self.url)
        if limit > .zero { stack.caching?.heuristicLimit = limit }
        let stub = StubConnection { _ in
            Response(status: .ok, fields: [.lastModified: "Sun, 09 Sep 2001 01:46:40 GMT"], body: "{}")
        }
        let connection = try stack.composed(over: stub)
        for _ in 1...2 { #expect(try await connection.send(.get("feed")).body.text(upTo: 9) == "{}") }
        #expect(stub.requests.count == count)
    }

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

    @Test(arguments: StandardStack.Preset.allCases)
    func `A preset has the layers of its table`(preset: StandardStack.Preset) throws {
        let expected: [StandardStack.Preset: [String]] = [
            .app: [
                "validatingStatus(accepted: 2xx, 304)",
                "limitingTime(as: call, head: 30.0 seconds, idle: 15.0 seconds)",
                "followingRedirects(upTo: 20, policy: standard)", "decompressing",
                "caching", "retrying(retries: 3)", "pacing(longestWait: 60.0 seconds)",
                "limitingTime(as: attempt, head: 10.0 seconds)", "StubConnection",
            ],
            .server: [
                "validatingStatus(accepted: 2xx, 304)",
                "limitingTime(as: call, head: 15.0 seconds, idle: 15.0 seconds)", "addingRequestID(as: X-Request-ID)",
                "followingRedirects(upTo: 20, policy: standard)", "decompressing",
                "retrying(retries: 3, maximumRetryAfter: 5.0 seconds)", "pacing(longestWait: 60.0 seconds)",
                "limitingTime(as: attempt, head: 5.0 seconds)", "StubConnection",
            ],
            .tool: [
                "validatingStatus(accepted: 2xx, 304)",
                "limitingTime(as: call, head: 60.0 seconds, idle: 30.0 seconds)",
                "followingRedirects(upTo: 20, policy: standard)", "decompressing",
                "retrying(retries: 2, budget: 2 per call)", "pacing(longestWait: 60.0 seconds)",
                "limitingTime(as: attempt, head: 20.0 seconds)", "StubConnection",
            ],
        ]
        let layers = try StandardStack(preset).composed(over: StubConnection()).layers
            .map { ["caching", "decompressing"].contains($0.name) ? $0.name : "\($0)" }
        #expect(layers == expected[preset])
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
            stack.time = nil
            stack.retries = nil
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
        #expect(stack != Self.full)
        let names = Self.names(try stack.composed(over: StubConnection()))
        #expect(names == all.filter { !row.layers.contains($0) })
        #expect(stack.description.contains("–"))
    }

    @Test func `The times of a call and of attempts can be left out one by one`() throws {
        var stack = StandardStack()
        stack.time?.attempt = nil
        #expect(Self.names(try stack.composed(over: StubConnection())).filter { $0 == "limitingTime" }.count == 1)
        stack.retries = nil
        stack.time = .init(call: nil, attempt: .seconds(1), idle: nil)
        let layers = try stack.composed(over: StubConnection()).layers.filter { $0.name == "limitingTime" }
        #expect(layers.map(\.description) == ["limitingTime(as: attempt, head: 1.0 seconds)"])
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
                .aroundCall(mark("call")), .aroundAttempt(mark("attempt")), .nearTransport(mark("near")),
            ])
        #expect(
            Self.names(connection) == [
                "call", "validatingStatus", "limitingTime", "followingRedirects", "decompressing", "outer 2", "outer 1",
                "inner", "retrying", "attempt", "own", "limitingTime", "near", "StubConnection",
            ])
    }

    @Test func `A layer between two parts is inside of the outer and outside of the inner`() throws {
        for part in StandardStack.Part.allCases {
            let connection = try Self.full.composed(
                over: StubConnection(), authentication: .with(.bearer("t0ken")), principal: Principal("a"),
                observer: ExchangeStatistics(), attemptObserver: ExchangeStatistics(),
                adding: [
                    .outside(of: part) { $0.intercepting("out") { try await $1.send($0) } },
                    .inside(of: part) { $0.intercepting("in") { try await $1.send($0) } },
                ])
            let names = Self.names(connection)
            let (out, inner) = (names.firstIndex(of: "out"), names.firstIndex(of: "in"))
            #expect(try #require(inner) - #require(out) == (part == .fields ? 4 : 2), "\(part)")
        }
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

    private struct FixedSource: CredentialSource {
        func credentials(for attempt: AuthenticationAttempt) async throws -> Credentials? { try .bearer("fr0m") }
    }

    @Test func `A source is asked for the credentials`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = try StandardStack(for: Self.url).composed(over: stub, authentication: .from(FixedSource()))
        _ = try await connection.send(.get("feed"))
        #expect(stub.requests.first?.head.headerFields[.authorization] == "Bearer fr0m")
    }

    @Test func `Contradictions between settings and what is passed are refused`() {
        let refused: (_ compose: () throws -> any Connection) -> String? = { compose in
            do { _ = try compose() } catch { return "\(error)" }
            return nil
        }
        let stack = StandardStack(.tool)
        #expect(
            refused { try stack.composed(authentication: .with(.bearer("t0ken"))) }
                == "`authentication` has no origin; pass `for:` or set `baseURL`.")
        #expect(
            refused { try stack.composed(store: MemoryResponseStore()) }
                == "`store` is not used, because `caching` is left out.")
        #expect(
            refused { try stack.composed(log: LogSink { _ in }) } == "`log` is not used; set `callLog` or `wireLog`.")
        var without = stack
        without.pacing = nil
        without.time?.call = nil
        #expect(
            refused { try without.composed(pauses: ServerPauses()) } == """
                `retries` need a limit for a whole call; set `time.call`. `pauses` is not used, because `pacing` is \
                left out.
                """)
    }

    @Test func `The description shows each part`() {
        let text = StandardStack(.tool, for: "https://api.example.com/v1/").description
        let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(lines.count == StandardStack.Part.allCases.count + 1)
        #expect(lines[0] == "StandardStack")
        #expect(
            lines.contains {
                $0.hasPrefix("baseURL") && $0.hasSuffix("resolving(against: https://api.example.com/v1/)")
            })
        #expect(lines.contains { $0.hasPrefix("caching") && $0.hasSuffix("–") })
        #expect(lines.contains { $0.hasPrefix("retries") && $0.hasSuffix("retrying(retries: 2, budget: 2 per call)") })
    }
}
