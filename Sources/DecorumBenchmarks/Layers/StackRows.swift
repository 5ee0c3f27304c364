import Decorum
import HTTPTypes

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
                "stacks/canonical", over: "stacks/terminal", bounds: .instructions(73_000), .allocations(14),
                sending: .sample("/v1/feed"), through: canonical(memory)),
            Row(
                "stacks/canonical, hit", over: "stacks/terminal", bounds: .instructions(51_500), .allocations(10),
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
                "stacks/standard", over: "stacks/terminal", bounds: .instructions(73_000), .allocations(14),
                sending: .sample("/v1/feed"), through: standard(memory)),
            Row("stacks/streamed", reading: request, through: StreamingConnection()),
            Row(
                "stacks/canonical, streamed", over: "stacks/streamed", bounds: .instructionsPerLayer(100_000),
                .allocationsPerLayer(29), reading: request, through: canonical(StreamingConnection())),
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
