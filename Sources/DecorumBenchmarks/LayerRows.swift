import Decorum
import DecorumAuthentication
import DecorumCookies
import DecorumTraffic
import Foundation
import HTTPTypes
import Synchronization

extension Row {
    /// A row that sends a request through a connection.
    ///
    /// Generic, so that a stack whose type is known here is as fast as it can be.
    init(
        _ name: String, over baseline: String? = nil, layers: Int = 1, _ bounds: [Quantity: Double] = [:],
        sending request: Request, through connection: some Connection
    ) {
        self.init(name, over: baseline, layers: layers, bounds: bounds) { count in
            for _ in 0..<count { _ = try await connection.send(request) }
        }
    }

    /// A row that sends a request through a connection and reads the body of the response.
    init(
        _ name: String, over baseline: String? = nil, _ bounds: [Quantity: Double] = [:], reading request: Request,
        through connection: any Connection
    ) {
        self.init(name, over: baseline, bounds: bounds) { count in
            for _ in 0..<count { _ = try await connection.send(request).body.data(upTo: 1000) }
        }
    }
}

/// The costs of a layer by itself, in each way of composing, compared with a hand-written function.
enum LayerRows {
    static func rows() throws -> [Row] {
        let request = try Request.sample()
        let memory = MemoryConnection()
        let hand = HandWritten(memory)
        return [
            Row("layers/function") { count in
                for _ in 0..<count { _ = try await hand.answer(request) }
            },
            Row("layers/terminal", over: "layers/function", sending: request, through: memory),
            Row("requests/get", bounds: [.instructions: 4930]) { count in
                for _ in 0..<count { _ = try Request.get("https://api.example.com/v1/feed?page=2") }
            },
            Row("requests/get, relative", bounds: [.instructions: 3250]) { count in
                for _ in 0..<count { _ = try Request.get("/v1/feed?page=2") }
            },
        ] + empty(request, memory) + fields(request, memory, hand)
    }

    private static func empty(_ request: Request, _ memory: MemoryConnection) -> [Row] {
        let (terminal, any, once) = ("layers/terminal", "layers/any", "layers/AnyConnection")
        func row(
            _ kind: String, _ depth: Int, over baseline: String, _ limit: Double, _ connection: some Connection
        ) -> Row {
            Row(
                "layers/empty, \(kind), \(depth)", over: baseline, layers: depth,
                [.instructionsPerLayer: limit, .allocationsPerLayer: 0], sending: request, through: connection)
        }
        func known(_ depth: Int, _ stack: some Connection) -> [Row] {
            [
                row("static", depth, over: terminal, 60, stack),
                row("AnyConnection once", depth, over: once, 590, AnyConnection(stack)),
            ]
        }
        return [
            Row(any, over: terminal, sending: request, through: composed(0, over: memory) { $0 }),
            Row(once, over: terminal, [.allocationsPerLayer: 0], sending: request, through: AnyConnection(memory)),
        ] + known(1, memory.passing()) + known(5, memory.passingFive()) + known(10, memory.passingFive().passingFive())
            + known(20, memory.passingFive().passingFive().passingFive().passingFive())
            + [1, 5, 10, 20].flatMap { depth in
                [
                    row(
                        "any", depth, over: any, 390, composed(depth, over: memory) { ErasedEmptyConnection(base: $0) }),
                    row("appended to any", depth, over: any, 590, composed(depth, over: memory) { $0.appending() }),
                    row(
                        "inlined, appended to any", depth, over: any, 365,
                        composed(depth, over: memory) { $0.appendingInlined() }),
                    row("AnyConnection each", depth, over: once, 970, wrapping(depth, over: AnyConnection(memory))),
                ]
            }
    }

    private static func fields(_ request: Request, _ memory: MemoryConnection, _ hand: HandWritten) -> [Row] {
        let one = memory.setting(.cacheControl)
        let five = one.setting(.acceptLanguage).setting(.acceptEncoding).setting(.userAgent).setting(.referer)
        return [
            Row("layers/field, function", over: "layers/function") { count in
                for _ in 0..<count { _ = try await hand.setField(request) }
            },
            Row("layers/field, static, 1", over: "layers/field, function", sending: request, through: one),
            // The first layer copies the fields that the caller still holds; the difference is the cost of a further layer.
            Row(
                "layers/field, static, 5", over: "layers/field, static, 1", layers: 4, [.instructionsPerLayer: 1500],
                sending: request, through: five),
            Row(
                "layers/field, AnyConnection, 5", over: "layers/field, static, 1", layers: 4,
                [.instructionsPerLayer: 2080], sending: request, through: AnyConnection(five)),
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
        let api = try Origin("https://api.example.com")
        let client = OAuthClient(
            "benchmarks", of: try AuthorizationServer(token: "https://id.example.com/token"), over: memory)
        let token = try Token("token", expiry: Date.now + 86_400)
        let tokens = Tokens(in: MemoryTokenStore(token), from: client.refreshing())
        let confirming = MemoryConnection(.notModified, fields: [.eTag: "\"1\""])
        let validatable = MemoryConnection(fields: [.eTag: "\"1\"", .contentType: "text/plain"])
        let fresh = try filledStore([.cacheControl: "max-age=86400"])
        // Stored each time, and never used again.
        let replaced = MemoryConnection(fields: [.cacheControl: "max-age=0", .contentType: "text/plain"])
        return try [
            Row("decorators/terminal", sending: try .sample(), through: composed(0, over: memory) { $0 }),
            row("resolving", to: "/v1/feed?page=2", 3550, 1, memory.resolving(against: "https://api.example.com")),
            row("relative, absolute URL", 465, 0, memory.resolving(against: "https://api.example.com")),
            row("addingDefaultFields", 2210, 1, memory.addingDefaultFields([.acceptEncoding: "gzip"])),
            row("addingDefaultFields, there already", 600, 0, memory.addingDefaultFields([.accept: "*/*"])),
            row("overridingFields", 2430, 1, memory.overridingFields(with: [.cacheControl: "max-age=0"])),
            row("identifyingClient", 2255, 1, memory.identifyingClient(as: ClientInformation(name: "benchmarks"))),
            row("acceptingLanguages", 2210, 1, memory.acceptingLanguages(["en"])),
            row("decompressing", 2710, 1, memory.decompressing()),
            row("compressing", 415, 0, memory.compressing()),
            row("retrying", 2420, 0, memory.retrying()),
            row("followingRedirects", 2090, 0, memory.followingRedirects()),
            row("authenticating", 3460, 1, memory.authenticating(with: .bearer("token"), for: api)),
            row("validatingStatus", 1330, 0, memory.validatingStatus()),
            row("intercepting", 405, 0, memory.intercepting { request, base in try await base.send(request) }),
            row("authenticating, valid token", 4880, 1, memory.authenticating(with: tokens, for: api)),
            row("keepingCookies, 10 in the jar", 31_000, 10, memory.keepingCookies(in: jar(10))),
            row("keepingCookies, 3000 in the jar", 31_000, 10, memory.keepingCookies(in: jar(3000))),
            row("caching, hit", 10_700, 4, memory.caching(in: fresh)),
            row("caching, miss", 20_800, 6.6, memory.caching(in: MemoryResponseStore())),
            firstMissRow(28_200, 8.9, memory.caching(in: MemoryResponseStore())),
            row("caching, miss, stored", 63_800, 28, replaced.caching(in: MemoryResponseStore())),
            row("coalescing", 21_500, 7, memory.coalescing()),
            row("revalidating, miss", 16_200, 4.4, memory.revalidating(in: MemoryResponseStore())),
            row("revalidating, hit", 68_400, 31, confirming.revalidating(in: filledStore())),
            row("revalidating, changed", 52_200, 25, validatable.revalidating(in: filledStore())),
            row("limiting", 3200, 1, memory.limiting()),
            row("limiting, adaptive", 3650, 1, memory.limiting(.adaptive)),
            row("breakingCircuits", 1780, 0, memory.breakingCircuits()),
            row("hedging", 17_100, 11, memory.hedging()),
            row("waitingForNetwork", 1260, 1, memory.waitingForNetwork(on: FixedNetwork())),
            row("routing", 1180, 0, memory.routing(byGroup: ["images": replaced])),
            row("fallingBack", 1320, 0, memory.fallingBack(to: .response(Response(status: .ok)))),
            row("observing", 5080, 2, memory.observing { _ in }),
            row("observing, statistics", 10_200, 2, memory.observing(ExchangeStatistics())),
            row("logging", 38_200, 11, memory.logging(to: LogSink { _ in })),
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

    /// The first request for each URL, whose response may turn out to be one for several callers.
    private static func firstMissRow(
        _ instructions: Double, _ allocations: Double, _ connection: some Connection
    ) throws -> Row {
        // More than there are measured, and than a cache remembers.
        let requests = try (0..<2000).map { try Request.sample("https://api.example.com/v1/feed?page=\($0)") }
        let next = Atomic(0)
        return Row(
            "decorators/caching, first miss", over: "decorators/terminal",
            bounds: [.instructionsPerLayer: instructions, .allocationsPerLayer: allocations]
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

    /// A row whose bounds are the counted values, plus a tenth for instructions.
    private static func row(
        _ name: String, to url: String = "https://api.example.com/v1/feed?page=2", _ instructions: Double,
        _ allocations: Double, _ connection: some Connection
    ) throws -> Row {
        Row(
            "decorators/\(name)", over: "decorators/terminal",
            [.instructionsPerLayer: instructions, .allocationsPerLayer: allocations], sending: try .sample(url),
            through: composed(0, over: connection) { $0 })
    }
}

/// The costs of whole stacks over a transport in memory.
enum StackRows {
    static func rows() throws -> [Row] {
        let memory = MemoryConnection()
        let fresh = MemoryConnection(fields: [.cacheControl: "max-age=86400"])
        let hand = HandWritten(memory)
        let request = try Request.sample()
        let (relative, long) = (try Request.sample("/v1/feed"), try Request.sample("/v1/feed", furtherFields: 16))
        let (terminal, byHand, whole, hit) = (
            "stacks/terminal", "stacks/six by hand", "stacks/canonical", "stacks/canonical, hit"
        )
        let six: [Quantity: Double] = [.instructions: 27_900, .allocations: 9]
        let wholeBounds: [Quantity: Double] = [.instructions: 55_000, .allocations: 16]
        return try [
            Row(terminal, sending: request, through: composed(0, over: memory) { $0 }),
            Row(byHand, over: terminal) { count in
                for _ in 0..<count { _ = try await hand.work(request) }
            },
            Row(
                "stacks/six working layers", over: byHand, six, sending: request,
                through: composed(0, over: self.six(over: memory)) { $0 }),
            Row(
                "stacks/six working layers, AnyConnection", over: byHand, six, sending: request,
                through: AnyConnection(self.six(over: memory))),
            Row(whole, over: terminal, wholeBounds, sending: relative, through: canonical(memory)),
            Row(
                hit, over: terminal, [.instructions: 37_600, .allocations: 11], sending: relative,
                through: canonical(fresh)),
            Row(
                "stacks/canonical, each further field", over: whole, layers: 16, [.instructionsPerLayer: 1430],
                sending: long, through: canonical(memory)),
            Row(
                "stacks/canonical, hit, each further field", over: hit, layers: 16, [.instructionsPerLayer: 1180],
                sending: long, through: canonical(fresh)),
            Row("stacks/standard", over: terminal, wholeBounds, sending: relative, through: standard(memory)),
            Row("stacks/streamed", reading: request, through: StreamingConnection()),
            Row(
                "stacks/canonical, streamed", over: "stacks/streamed",
                [.instructionsPerLayer: 90_100, .allocationsPerLayer: 34], reading: request,
                through: canonical(StreamingConnection())),
        ]
            + [1, 5, 10, 20].map { depth in
                Row(
                    "stacks/depth \(depth)", over: terminal, layers: depth,
                    [.instructionsPerLayer: depth == 1 ? 2390 : 2120], sending: request, through: stack(depth, memory))
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
    static func standard(_ transport: any Connection, measuresLayers: Bool = false) throws -> any Connection {
        var stack = StandardStack(for: "https://api.example.com/")
        (stack.time, stack.attemptTime, stack.pacing, stack.retries) = (nil, nil, nil, nil)
        (stack.callLog, stack.measuresLayers) = (.line, measuresLayers)
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
