extension Target {
    /// What transports, callers, stores and cassettes are held to.
    static let all = urlSession + curl + asyncHTTPClient + memory + cassettes

    private static let urlSession: [Target] = [
        .atLeast(0.85, .rate, "transports/sequential/URLSessionConnection", last: 1),
        .atLeast(0.85, .rate, "transports/concurrent/URLSessionConnection", last: 0.92),
        .atLeast(1.9, .rate, "transports/down/URLSessionConnection", last: 4.23),
        .atLeast(1.9, .rate, "transports/up/URLSessionConnection", last: 10.23),
        .atMost(1.05, .processor, "transports/sequential/URLSessionConnection, stack", last: 1.08),
        .atMost(1.05, .processor, "transports/concurrent/URLSessionConnection, stack", last: 1.02),
    ]

    private static let curl: [Target] = [
        .atLeast(nil, .rate, "transports/sequential/CurlConnection", last: 0.44),
        .atLeast(0.65, .rate, "transports/concurrent/CurlConnection", last: 0.83),
        .atLeast(0.55, .rate, "transports/down/CurlConnection", last: 0.84),
        .atMost(20, .added, "transports/sequential/CurlConnection, stack", last: 20),
        .atMost(20, .added, "transports/concurrent/CurlConnection, stack", last: 20),
    ]

    private static let asyncHTTPClient: [Target] = [
        // The other way round, since CurlConnection is the baseline: it takes half of the processor time, or 0.6 of it.
        .atLeast(2, .processor, "transports/sequential/AsyncHTTPClient", last: 1.23),
        .atLeast(1 / 0.6, .processor, "transports/concurrent/AsyncHTTPClient", last: 1.23),
        .atMost(1, .rate, "transports/sequential/AsyncHTTPClient", last: 1),
        .atMost(1, .rate, "transports/concurrent/AsyncHTTPClient", last: 1),
        .atMost(1, .rate, "transports/down/AsyncHTTPClient", last: 1),
        .atMost(1, .rate, "transports/up/AsyncHTTPClient", last: 1),
        .atLeast(0.95, .rate, "transports/sequential/AsyncHTTPClientConnection", last: 0.54),
        .atLeast(0.95, .rate, "transports/concurrent/AsyncHTTPClientConnection", last: 0.56),
        .atLeast(0.95, .rate, "transports/down/AsyncHTTPClientConnection", last: 0.95),
        .atLeast(0.95, .rate, "transports/up/AsyncHTTPClientConnection", last: 0.95),
        .atMost(1.05, .processor, "transports/sequential/AsyncHTTPClientConnection", last: 1.38),
        .atMost(1.05, .processor, "transports/concurrent/AsyncHTTPClientConnection", last: 1.33),
    ]

    private static let memory: [Target] = [
        .atMost(2, .time, "caller/terminal", last: 0.34),
        .atMost(2, .time, "caller/revalidating", last: 0.62),
        .atMost(2, .time, "caller/caching, hit", last: 1.56),
        .atMost(2, .time, "caller/canonical, hit", last: 5.5),
        .atMost(2, .added, "stores/caching in memory, hit, 1000", last: 2),
        .atMost(2, .added, "stores/caching in memory, hit, 100000", last: 2),
        .atMost(12, .added, "stores/caching in files, hit, 1000", last: 12),
        .atMost(12, .added, "stores/caching in files, hit, 100000", last: 12),
    ]

    private static let cassettes: [Target] = [
        .atMost(20_000, .time, "cassettes/open, 10,000", last: 20_200),
        .atMost(20.0 / 120, .processor, "cassettes/open, 10,000", last: 0.17),
        .atMost(10, .processor, "cassettes/open, 100,000", last: 12.7),
        .atMost(5, .added, "cassettes/replay each once, 10,000", last: 7),
    ]
}
