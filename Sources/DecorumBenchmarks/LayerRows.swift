import Decorum
import DecorumAuthentication
import DecorumCookies
import Foundation
import HTTPTypes
import Synchronization

/// The costs of a layer by itself, in each way of composing, compared with a hand-written function.
enum LayerRows {
    static func rows() throws -> [Row] {
        let request = try Request.sample()
        let memory = MemoryConnection()
        let hand = HandWritten(memory)
        return [
            Row(name: "layers/function") { count in
                for _ in 0..<count { _ = try await hand.answer(request) }
            },
            Row("layers/terminal", over: "layers/function", sending: request, through: memory),
            Row(name: "requests/get", bounds: [.instructions(4930)]) { count in
                for _ in 0..<count { _ = try Request.get("https://api.example.com/v1/feed?page=2") }
            },
            Row(name: "requests/get, relative", bounds: [.instructions(3250)]) { count in
                for _ in 0..<count { _ = try Request.get("/v1/feed?page=2") }
            },
        ] + empty(request, memory) + fields(request, memory, hand)
    }

    private static func empty(_ request: Request, _ memory: MemoryConnection) -> [Row] {
        let none: [Row] = [
            Row("layers/any", over: "layers/terminal", sending: request, through: passing(0, over: memory)),
            Row(
                "layers/AnyConnection", over: "layers/terminal", bounds: .allocationsPerLayer(0),
                sending: request, through: AnyConnection(memory)),
        ]
        return none
            + statically(1, request, memory.passing())
            + statically(5, request, memory.passingFive())
            + statically(10, request, memory.passingFive().passingFive())
            + statically(20, request, memory.passingFive().passingFive().passingFive().passingFive())
            + [1, 5, 10, 20].flatMap { depth in
                [
                    Row(
                        "layers/empty, any, \(depth)", over: "layers/any", layers: depth,
                        bounds: .instructionsPerLayer(390), .allocationsPerLayer(0),
                        sending: request, through: passing(depth, over: memory)),
                    Row(
                        "layers/empty, appended to any, \(depth)", over: "layers/any", layers: depth,
                        bounds: .instructionsPerLayer(590), .allocationsPerLayer(0),
                        sending: request, through: appending(depth, to: memory)),
                    Row(
                        "layers/empty, inlined, appended to any, \(depth)", over: "layers/any", layers: depth,
                        bounds: .instructionsPerLayer(365), .allocationsPerLayer(0),
                        sending: request, through: appendingInlined(depth, to: memory)),
                    Row(
                        "layers/empty, AnyConnection each, \(depth)", over: "layers/AnyConnection", layers: depth,
                        bounds: .instructionsPerLayer(970), .allocationsPerLayer(0),
                        sending: request, through: wrapping(depth, over: AnyConnection(memory))),
                ]
            }
    }

    private static func statically(_ depth: Int, _ request: Request, _ stack: some Connection) -> [Row] {
        [
            Row(
                "layers/empty, static, \(depth)", over: "layers/terminal", layers: depth,
                bounds: .instructionsPerLayer(60), .allocationsPerLayer(0), sending: request, through: stack),
            Row(
                "layers/empty, AnyConnection once, \(depth)", over: "layers/AnyConnection", layers: depth,
                bounds: .instructionsPerLayer(590), .allocationsPerLayer(0),
                sending: request, through: AnyConnection(stack)),
        ]
    }

    private static func fields(_ request: Request, _ memory: MemoryConnection, _ hand: HandWritten) -> [Row] {
        let one = memory.setting(.cacheControl)
        let five = one.setting(.acceptLanguage).setting(.acceptEncoding).setting(.userAgent).setting(.referer)
        return [
            Row(name: "layers/field, function", baseline: "layers/function") { count in
                for _ in 0..<count { _ = try await hand.setField(request) }
            },
            Row("layers/field, static, 1", over: "layers/field, function", sending: request, through: one),
            // The first layer copies the fields that the caller still holds; the difference is the cost of a further
            // layer.
            Row(
                "layers/field, static, 5", over: "layers/field, static, 1", layers: 4,
                bounds: .instructionsPerLayer(1500), sending: request, through: five),
            Row(
                "layers/field, AnyConnection, 5", over: "layers/field, static, 1", layers: 4,
                bounds: .instructionsPerLayer(2080), sending: request, through: AnyConnection(five)),
        ]
    }
}

extension Request {
    /// A request like that of an app, with two fields, a principal, and perhaps further fields.
    static func sample(
        _ url: String = "https://api.example.com/v1/feed?page=2", furtherFields count: Int = 0
    ) throws -> Request {
        var request = try Request.get(url, fields: [.accept: "application/json", .contentLanguage: "en"])
        for number in 0..<count {
            guard let name = HTTPField.Name("X-Further-\(number)") else { continue }
            request.head.headerFields[name] = "the value of a field"
        }
        request.options.principal = Principal("reader")
        return request
    }
}

/// The costs of each decorator when no error occurs.
enum DecoratorRows {
    static func rows() throws -> [Row] {
        let memory = MemoryConnection()
        return try [terminal(memory)] + preparation(memory) + decision(memory) + session(memory) + caching()
            + observation(memory)
    }

    private static func terminal(_ memory: MemoryConnection) throws -> Row {
        Row("decorators/terminal", sending: try .sample(), through: passing(0, over: memory))
    }

    private static func preparation(_ memory: MemoryConnection) throws -> [Row] {
        [
            try row("resolving", to: "/v1/feed?page=2", 3550, 1, memory.resolving(against: "https://api.example.com")),
            try row("relative, absolute URL", 465, 0, memory.resolving(against: "https://api.example.com")),
            try row("addingDefaultFields", 2210, 1, memory.addingDefaultFields([.acceptEncoding: "gzip"])),
            try row("addingDefaultFields, there already", 600, 0, memory.addingDefaultFields([.accept: "*/*"])),
            try row("overridingFields", 2430, 1, memory.overridingFields(with: [.cacheControl: "max-age=0"])),
            try row("identifyingClient", 2255, 1, memory.identifyingClient(as: ClientInformation(name: "benchmarks"))),
            try row("acceptingLanguages", 2210, 1, memory.acceptingLanguages(["en"])),
            try row("decompressing", 2710, 1, memory.decompressing()),
            try row("compressing", 415, 0, memory.compressing()),
        ]
    }

    private static func decision(_ memory: MemoryConnection) throws -> [Row] {
        let api = try Origin("https://api.example.com")
        return [
            try row("retrying", 2420, 0, memory.retrying()),
            try row("followingRedirects", 2090, 0, memory.followingRedirects()),
            try row("authenticating", 3460, 1, memory.authenticating(with: .bearer("token"), for: api)),
            try row("validatingStatus", 1330, 0, memory.validatingStatus()),
            try row("intercepting", 405, 0, memory.intercepting { request, base in try await base.send(request) }),
        ]
    }

    /// The costs of a user who is signed in.
    private static func session(_ memory: MemoryConnection) throws -> [Row] {
        let api = try Origin("https://api.example.com")
        let client = OAuthClient(
            "benchmarks", of: try AuthorizationServer(token: "https://id.example.com/token"), over: memory)
        let token = try Token("token", expiry: Date.now + 86_400)
        let tokens = Tokens(in: MemoryTokenStore(token), from: client.refreshing())
        return [
            try row("authenticating, valid token", 4880, 1, memory.authenticating(with: tokens, for: api)),
            try row("keepingCookies, 10 in the jar", 31_000, 10, memory.keepingCookies(in: jar(10))),
            try row("keepingCookies, 3000 in the jar", 31_000, 10, memory.keepingCookies(in: jar(3000))),
        ]
    }

    /// A jar with two cookies for the request, and others for other sites.
    private static func jar(_ count: Int) throws -> CookieJar {
        let jar = CookieJar(limits: .init(total: count))
        for index in 0..<(count / 2) {
            let host = index == 0 ? "api.example.com" : "api\(index).example\(index).com"
            guard let url = URL(string: "https://\(host)/") else { continue }
            for name in ["session", "theme"] { jar.set(SetCookie(name: name, value: "value"), from: url) }
        }
        guard jar.count == count else { throw BenchmarkFailure("The jar has \(jar.count) cookies.") }
        return jar
    }

    private static func caching() throws -> [Row] {
        let confirming = MemoryConnection(.notModified, fields: [.eTag: "\"1\""])
        let validatable = MemoryConnection(fields: [.eTag: "\"1\"", .contentType: "text/plain"])
        let fresh = try filledStore([.cacheControl: "max-age=86400"])
        // Stored each time, and never used again.
        let replaced = MemoryConnection(fields: [.cacheControl: "max-age=0", .contentType: "text/plain"])
        return [
            try row("caching, hit", 10_700, 4, MemoryConnection().caching(in: fresh)),
            try row("caching, miss", 20_800, 6.6, MemoryConnection().caching(in: MemoryResponseStore())),
            try firstMissRow(28_200, 8.9, MemoryConnection().caching(in: MemoryResponseStore())),
            try row("caching, miss, stored", 68_300, 25, replaced.caching(in: MemoryResponseStore())),
            try row("coalescing", 21_500, 7, MemoryConnection().coalescing()),
            try row("revalidating, miss", 16_200, 4.4, MemoryConnection().revalidating(in: MemoryResponseStore())),
            try row("revalidating, hit", 68_400, 31, confirming.revalidating(in: filledStore())),
            try row("revalidating, changed", 52_200, 22, validatable.revalidating(in: filledStore())),
        ]
    }

    /// The first request for each URL, whose response may turn out to be one for several callers.
    private static func firstMissRow(
        _ instructions: Double, _ allocations: Double, _ connection: some Connection
    ) throws -> Row {
        // More than there are measured, and than a cache remembers.
        let requests = try (0..<2000).map { try Request.sample("https://api.example.com/v1/feed?page=\($0)") }
        let next = Atomic(0)
        return Row(
            name: "decorators/caching, first miss", baseline: "decorators/terminal",
            bounds: [.instructionsPerLayer(instructions), .allocationsPerLayer(allocations)]
        ) { count in
            for _ in 0..<count {
                let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
                _ = try await connection.send(requests[number % requests.count])
            }
        }
    }

    private static func filledStore(_ fields: HTTPFields = [:]) throws -> MemoryResponseStore {
        let store = MemoryResponseStore()
        let request = try Request.sample()
        let described: HTTPFields = [.eTag: "\"1\"", .contentType: "text/plain"]
        let head = HTTPResponse(status: .ok, headerFields: HTTPFields(described + fields))
        if let key = ResponseKey(request) {
            let response = StoredResponse(head: head, body: "hello, world", request: request.head, date: .now)
            store.store(response, for: key, with: store.ticket(for: key))
        }
        return store
    }

    private static func observation(_ memory: MemoryConnection) throws -> [Row] {
        [
            try row("observing", 5080, 1, memory.observing { _ in }),
            try row("observing, statistics", 7220, 1, memory.observing(ExchangeStatistics())),
            try row("logging", 31_500, 7, memory.logging(to: LogSink { _ in })),
        ]
    }

    /// A row whose bounds are the counted values, plus a tenth for instructions.
    private static func row(
        _ name: String, to url: String = "https://api.example.com/v1/feed?page=2", _ instructions: Double,
        _ allocations: Double,
        _ connection: some Connection
    ) throws -> Row {
        Row(
            "decorators/\(name)", over: "decorators/terminal", bounds: .instructionsPerLayer(instructions),
            .allocationsPerLayer(allocations),
            sending: try .sample(url), through: passing(0, over: connection))
    }
}

/// The costs of whole stacks over a transport in memory.
enum StackRows {
    static func rows() throws -> [Row] {
        let memory = MemoryConnection()
        let hand = HandWritten(memory)
        let request = try Request.sample()
        return try [
            Row("stacks/terminal", sending: request, through: passing(0, over: memory)),
            Row(name: "stacks/six by hand", baseline: "stacks/terminal") { count in
                for _ in 0..<count { _ = try await hand.work(request) }
            },
            Row(
                "stacks/six working layers", over: "stacks/six by hand", bounds: .instructions(34_100),
                .allocations(8),
                sending: request, through: passing(0, over: six(over: memory))),
            Row(
                "stacks/six working layers, AnyConnection", over: "stacks/six by hand", bounds: .instructions(34_100),
                .allocations(8), sending: request, through: AnyConnection(six(over: memory))),
            Row(
                "stacks/canonical", over: "stacks/terminal", bounds: .instructions(76_500), .allocations(12),
                sending: .sample("/v1/feed"), through: canonical(memory)),
            Row(
                "stacks/canonical, hit", over: "stacks/terminal", bounds: .instructions(56_500), .allocations(10),
                sending: .sample("/v1/feed"),
                through: canonical(MemoryConnection(fields: [.cacheControl: "max-age=86400"]))),
            Row(
                "stacks/canonical, each further field", over: "stacks/canonical", layers: 16,
                bounds: .instructionsPerLayer(2190), sending: .sample("/v1/feed", furtherFields: 16),
                through: canonical(memory)),
            Row(
                "stacks/canonical, hit, each further field", over: "stacks/canonical, hit", layers: 16,
                bounds: .instructionsPerLayer(1510), sending: .sample("/v1/feed", furtherFields: 16),
                through: canonical(MemoryConnection(fields: [.cacheControl: "max-age=86400"]))),
            Row(
                "stacks/standard", over: "stacks/terminal", bounds: .instructions(76_500), .allocations(12),
                sending: .sample("/v1/feed"), through: standard(memory)),
            Row("stacks/streamed", reading: request, through: StreamingConnection()),
            Row(
                "stacks/canonical, streamed", over: "stacks/streamed", bounds: .instructionsPerLayer(105_500),
                .allocationsPerLayer(30), reading: request, through: canonical(StreamingConnection())),
        ]
            + [1, 5, 10, 20].map { depth in
                Row(
                    "stacks/depth \(depth)", over: "stacks/terminal", layers: depth,
                    bounds: .instructionsPerLayer(depth == 1 ? 2390 : 2120), sending: request,
                    through: stack(depth, memory))
            }
    }

    /// Names the client, signs, retries, looks into a cache, follows redirections, measures.
    private static func six(over memory: MemoryConnection) throws -> some Connection {
        try memory
            .authenticating(with: .bearer("token"), for: Origin("https://api.example.com"))
            .retrying()
            .revalidating(in: MemoryResponseStore())
            .followingRedirects()
            .identifyingClient(as: ClientInformation(name: "benchmarks"))
            .observing { _ in }
    }

    private static func canonical(_ transport: any Connection) throws -> any Connection {
        try canonicalStack(over: transport, for: Origin("https://api.example.com"))
    }

    /// The layers of the canonical stack, composed from settings.
    private static func standard(_ transport: any Connection) throws -> any Connection {
        var stack = StandardStack(for: "https://api.example.com/")
        (stack.time, stack.attemptTime, stack.pacing, stack.retries) = (nil, nil, nil, nil)
        stack.callLog = .line
        stack.client = try ClientInformation(name: "benchmarks", version: "1")
        stack.languages = ["en"]
        stack.fields = [.accept: "*/*"]
        let statistics = ExchangeStatistics()
        return try stack.composed(
            over: transport, authentication: .with(.bearer("token")), observer: statistics, attemptObserver: statistics,
            log: LogSink { _ in }, adding: [.inPlace(of: .retries) { $0.retrying() }])
    }

    /// The decorators in turn, repeated up to the given depth.
    static func stack(_ depth: Int, _ memory: MemoryConnection) -> any Connection {
        let modifiers: [(any Connection) -> any Connection] = [
            { $0.retrying() },
            { $0.overridingFields(with: [.cacheControl: "max-age=0"]) },
            { $0.followingRedirects() },
            { $0.addingDefaultFields([.acceptEncoding: "gzip"]) },
            { $0.validatingStatus() },
        ]
        return (0..<depth).reduce(memory as any Connection) { modifiers[$1 % modifiers.count]($0) }
    }
}

/// The stack that README recommends, as far as its layers exist.
func canonicalStack(over transport: any Connection, for origin: Origin) throws -> any Connection {
    let statistics = ExchangeStatistics()
    return
        try transport
        .observing(statistics, as: .attempt)
        .authenticating(with: .bearer("token"), for: origin)
        .retrying()
        .caching(in: MemoryResponseStore())
        .decompressing()
        .followingRedirects()
        .acceptingLanguages(["en"])
        .identifyingClient(as: ClientInformation(name: "benchmarks", version: "1"))
        .addingDefaultFields([.accept: "*/*"])
        .resolving(against: origin.description)
        .logging(to: LogSink { _ in })
        .observing(statistics)
        .validatingStatus()
}
