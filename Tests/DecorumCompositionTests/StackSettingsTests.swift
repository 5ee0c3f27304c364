import Decorum
import Foundation
import HTTPTypes
import Testing

/// The settings of a standard stack in files.
@Suite struct StackSettingsTests {
    private func decode(_ text: String) throws -> StandardStack {
        try JSONDecoder().decode(StandardStack.self, from: Data(text.utf8))
    }

    private func text(of stack: StandardStack) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(stack), as: UTF8.self)
    }

    private static var odd: StandardStack {
        var odd = StandardStackTests.full
        odd.time = TimePolicy(call: .milliseconds(30_015), body: .seconds(86_400 * 365), idle: .nanoseconds(3))
        odd.attemptTime = AttemptTimePolicy(nil, idle: .microseconds(1))
        odd.fields = [.accept: "a/b", .via: "one"]
        odd.decompression = DecompressionPolicy(codings: [.brotli], limits: .init(maximumLength: 1 << 40))
        odd.compression?.level = 9
        odd.pacing = PacingPolicy(heedsRateLimits: false, separatesRoutes: false)
        odd.caching?.staleIfSlow = .milliseconds(100)
        odd.coalescing?.ignoredFields = [.accept, .via]
        (odd.redirects, odd.redirectLimit, odd.remembersPermanentRedirects) = (.httpsOnly, 1, true)
        odd.retries = RetryPolicy(
            retries: 9, when: .status(418), methods: [.get, .post], factor: 3, certainPart: 0.25, budget: .unlimited)
        odd.wireLog = .bodies(upTo: 99)
        return odd
    }

    private static var bare: StandardStack {
        var bare = StandardStack()
        bare.statusValidation = false
        (bare.time, bare.attemptTime, bare.redirects, bare.decompression) = (nil, nil, nil, nil)
        (bare.caching, bare.retries, bare.pacing) = (nil, nil, nil)
        return bare
    }

    @Test(arguments: [.init(.app), .init(.server), .init(.tool), StandardStackTests.full, odd, bare])
    func `Settings are the same after they were written and read, also as a property list`(stack: StandardStack) throws
    {
        let written = try text(of: stack)
        #expect(try text(of: decode(written)) == written)
        let list = try PropertyListEncoder().encode(stack)
        #expect(try text(of: PropertyListDecoder().decode(StandardStack.self, from: list)) == written)
        let layers = { (stack: StandardStack) in
            try stack.composed(over: ClosureConnection { _ in .page }).layers.map(\.description)
        }
        #expect(try layers(decode(written)) == layers(stack))
    }

    @Test func `A file names what differs from a preset`() throws {
        #expect(try text(of: decode(#"{"preset": "tool"}"#)) == text(of: StandardStack(.tool)))
        var expected = StandardStack(.server, for: "https://api.example.com/")
        expected.retries?.retries = 1
        expected.retries?.budget = .perCall(4)
        (expected.pacing, expected.caching) = (nil, StandardStack().caching)
        expected.time?.call = .milliseconds(12_500)
        expected.time?.idle = nil
        (expected.callLog, expected.wireLog, expected.redirects) = (.line, .bodies(upTo: 99), .sameOrigin)
        expected.fields = [.accept: "text/plain"]
        let read = try decode(
            """
            {
              "preset": "server", "baseURL": "https://api.example.com/", "pacing": false, "caching": true,
              "retries": { "retries": 1, "budget": 4 }, "time": { "call": 12.5, "idle": false }, "callLog": "line",
              "wireLog": 99, "redirects": "sameOrigin", "fields": { "accept": "text/plain" }
            }
            """)
        #expect(try text(of: read).lowercased() == text(of: expected).lowercased())
        #expect(read.retries?.maximumRetryAfter == .seconds(5))
    }

    @Test(arguments: [
        (#"{"preset": "phone"}"#, "preset"), (#"{"retries": {"max": 3}}"#, "retries.max"),
        (#"{"timeout": 3}"#, "timeout"),
        (#"{"retries": {"retries": "3"}}"#, "retries.retries"), (#"{"retries": {"budget": "none"}}"#, "retries.budget"),
        (#"{"retries": 3}"#, "retries"), (#"{"time": {"call": "30 s"}}"#, "time.call"),
        (#"{"time": {"call": 1e300}}"#, "time.call"),
        (#"{"retries": {"when": {"statuses": [1]}}}"#, "retries.when.statuses"),
        (#"{"redirects": "all"}"#, "redirects"), (#"{"time": false}"#, "retries"),
        (#"{"caching": {"mayStore": 1}}"#, "caching.mayStore"),
        (#"{"fields": {"Authorization": "Bearer 1"}}"#, "fields.Authorization"),
        (#"{"fields": {"A B": "x"}}"#, "fields.A B"), (#"{"fields": {":path": "/"}}"#, "fields.:path"),
        (#"{"fields": {"X-Note": "a\r\nX-Evil: 1"}}"#, "fields.X-Note"), (#"{"fields": []}"#, "fields"),
        (#"{"client": {"nam": "Reader"}}"#, "client.name"), (#"{"client": {"name": "My App"}}"#, "client"),
        (#"{"baseURL": "/v1"}"#, "baseURL"), (#"{"callLog": "all"}"#, "callLog"),
    ])
    func `A file with an unsuitable setting is refused with its path, and nothing of it is quoted`(
        text: String, path: String
    ) throws {
        let error = #expect(throws: StackSettingsError.self) { try decode(text) }
        #expect(error?.path == path, "\(String(describing: error))")
        struct Configuration: Codable { let http: StandardStack }
        let inner = #expect(throws: StackSettingsError.self) {
            try JSONDecoder().decode(Configuration.self, from: Data(#"{"http": \#(text)}"#.utf8))
        }
        #expect(inner?.path == "http." + path)
    }

    @Test func `No text of a file is quoted, since it may be a secret in the wrong place`() throws {
        for key in ["preset", "callLog", "time", "retries", "languages", "fields", "client", "caching", "redirects"] {
            for value in [#""s3cret""#, #"["s3cret"]"#, #"{"s": "s3cret"}"#] {
                do { _ = try decode(#"{"\#(key)": \#(value)}"#) } catch { #expect(!"\(error)".contains("s3cret")) }
            }
        }
    }

    @Test func `A closure, a state of this process and a credential are written to no file`() throws {
        let own = ContentCoding("x-own") { UnusedDecoder() }
        let changes: [(path: String, change: (inout StandardStack) -> Void)] = [
            ("redirects", { $0.redirects = RedirectionPolicy("standard") { _ in true } }),
            ("redirects", { $0.redirects = .standard.allowingDowngrades() }),
            ("retries.when", { $0.retries?.when = .standard || RetryRule("own") { _ in true } }),
            ("retries.budget", { $0.retries?.budget = RetryBudget() }),
            ("caching.mayStore", { $0.caching?.mayStore = { _, _ in true } }),
            ("caching.meansServerNotReached", { $0.caching?.meansServerNotReached = { _ in true } }),
            ("decompression.codings", { $0.decompression?.codings = [own] }),
            ("compression.coding", { $0.compression = CompressionPolicy(coding: own) }),
            ("fields.Authorization", { $0.fields = [.authorization: "Bearer t"] }),
            ("fields.User-Agent", { $0.fields = [.userAgent: "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"] }),
        ]
        for (path, change) in changes {
            var stack = StandardStack()
            change(&stack)
            let error = #expect(throws: StackSettingsError.self) { try JSONEncoder().encode(stack) }
            #expect(error?.path == path)
        }
    }
}

private struct UnusedDecoder: ContentCodingDecoder {
    func decode(_: inout Data, upTo _: Int) -> Data { Data() }

    func finish() {}
}
