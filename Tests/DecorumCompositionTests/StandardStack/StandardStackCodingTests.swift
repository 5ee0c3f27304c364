import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The settings of a standard stack in files.
@Suite struct StandardStackCodingTests {
    private func decode(_ text: String) throws -> StandardStack {
        try JSONDecoder().decode(StandardStack.self, from: Data(text.utf8))
    }

    private func roundTrip(_ stack: StandardStack) throws -> StandardStack {
        try JSONDecoder().decode(StandardStack.self, from: JSONEncoder().encode(stack))
    }

    @Test func `Settings are the same after they were written and read`() throws {
        for preset in StandardStack.Preset.allCases {
            let stack = StandardStack(preset, for: "https://api.example.com/")
            #expect(try roundTrip(stack) == stack)
        }
        #expect(try roundTrip(StandardStackTests.full) == StandardStackTests.full)

        var odd = StandardStackTests.full
        odd.time = .init(
            call: .milliseconds(30_015), attempt: .microseconds(1), body: .seconds(86_400 * 365), idle: .nanoseconds(3))
        odd.fields = [.accept: "a/b", .via: "one"]
        odd.fields.append(HTTPField(name: .via, value: "two"))
        odd.decompression?.limits.maximumLength = 1 << 40
        odd.compression?.level = 9
        odd.pacing = PacingPolicy(heedsRateLimits: false, separatesRoutes: false)
        odd.caching?.staleIfSlow = .milliseconds(100)
        odd.coalescing?.ignoredFields = [.accept, .via]
        odd.redirects = StandardStack.Redirects(maximum: 1, targets: .httpsOnly, remembersPermanent: true)
        #expect(try roundTrip(odd) == odd)

        var bare = StandardStack()
        bare.statusValidation = false
        (bare.time, bare.redirects, bare.decompression, bare.caching, bare.retries, bare.pacing) = (
            nil, nil, nil, nil, nil, nil
        )
        #expect(try roundTrip(bare) == bare)
    }

    @Test func `Credentials are written to no file`() throws {
        for field in [HTTPField(name: .authorization, value: "Bearer t"), Self.partner] {
            var stack = StandardStack()
            stack.fields.append(field)
            #expect(throws: StackSettingsError.self) { try JSONEncoder().encode(stack) }
        }
    }

    private static let partner = HTTPField(
        name: .userAgent, value: "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a")

    @Test func `A file is a property list too`() throws {
        let data = try PropertyListEncoder().encode(StandardStackTests.full)
        #expect(try PropertyListDecoder().decode(StandardStack.self, from: data) == StandardStackTests.full)
    }

    @Test func `A file names what differs from a preset`() throws {
        #expect(try decode("{}") == StandardStack())
        #expect(try decode(#"{"preset": "tool"}"#) == StandardStack(.tool))
        var expected = StandardStack(.server, for: "https://api.example.com/")
        expected.retries?.maximum = 1
        expected.pacing = nil
        expected.caching = StandardStack.Caching()
        expected.time?.call = .milliseconds(12_500)
        expected.wireLog = StandardStack.Log(.bodies, bodyLimit: 99)
        expected.fields = [.accept: "text/plain", .via: "x"]
        let read = try decode(
            """
            {
              "preset": "server", "baseURL": "https://api.example.com/", "retries": { "maximum": 1 }, "pacing": false,
              "caching": true, "time": { "call": 12.5 }, "wireLog": { "detail": "bodies", "bodyLimit": 99 },
              "fields": { "accept": "text/plain", "Via": ["x"] }
            }
            """)
        #expect(read == expected)
    }

    @Test func `Large whole numbers are read exactly`() throws {
        let text = #"{"caching": {"size": 9007199254740993}, "time": {"body": 9007199254740993}}"#
        let stack = try decode(text)
        #expect(stack.caching?.size == 9_007_199_254_740_993)
        #expect(stack.time?.body == .seconds(9_007_199_254_740_993))
        #expect(try roundTrip(stack) == stack)
    }

    @Test(arguments: ["9223372036.9", "9223372036854775807", "2147483648.5"])
    func `A duration of any length is read and written again`(number: String) throws {
        let stack = try decode(#"{"pacing": {"longestWait": \#(number)}}"#)
        #expect(try roundTrip(stack) == stack)
    }

    @Test func `The longest durations are written as no limit`() throws {
        let longest = Duration(attoseconds: .max)
        var stack = StandardStack()
        stack.retries = nil
        stack.time = .init(call: longest, attempt: .seconds(1), body: longest, idle: longest)
        let layers = try roundTrip(stack).composed(over: StubConnection()).layers
        #expect(layers.filter { $0.timeLimit != .unbounded }.map(\.timeLimit) == [.atMost(.seconds(1))])
    }

    private struct Configuration: Codable {
        let http: StandardStack
    }

    @Test func `Within another file, the path begins at its top`() throws {
        let text = #"{"http": {"caching": {"size": 0}, "callLog": true}}"#
        let error = try #require(throws: StackSettingsError.self) {
            try JSONDecoder().decode(Configuration.self, from: Data(text.utf8))
        }
        #expect(error.problems.map(\.path) == ["http.caching.size"])
        #expect("\(error)" == "`http.caching.size` has to be above zero; `false` leaves the part out.")
    }
}
