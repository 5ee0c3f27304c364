import Decorum
import DecorumAuthentication
import DecorumCookies
import Foundation
import HTTPTypes
import Synchronization

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
            try row("logging", 21_200, 5, memory.logging(to: LogSink { _ in })),
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
