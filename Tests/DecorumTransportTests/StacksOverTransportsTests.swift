import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// A stack with the defaults over servers that send something for ever, and never an answer.
    @Suite(.timeLimit(.minutes(5))) struct DrippingServerTests {
        enum Server: String, CaseIterable, Sendable {
            case silent, drippedHead, informational, redirections, overload, refusal

            var answer: LoopbackOrigin.Answer {
                switch self {
                case .silent: .hanging
                case .drippedHead: .script(.trickle("HTTP/1.1 200 OK\r\nA: " + .long("a"), every: .milliseconds(5)))
                case .informational:
                    .script(.trickle(String.long("HTTP/1.1 103 Early Hints\r\n\r\n"), by: 9, every: .milliseconds(5)))
                case .redirections: "computed for each request"
                case .overload: .init(.serviceUnavailable, fields: ["Retry-After": "7"], body: "later")
                case .refusal: .closing
                }
            }
        }

        enum Transport: String, CaseIterable, Sendable {
            case system, urlSession

            func connection(_ clock: any DatedClock) -> any Connection {
                switch self {
                case .system: SystemConnection(clock: clock)
                case .urlSession: URLSessionConnection(clock: clock)
                }
            }
        }

        private let clock = VirtualClock()
        private let origin: LoopbackOrigin

        init() throws {
            origin = try LoopbackOrigin()
        }

        /// The stack with the default times, and more redirections and retries than any call has time for.
        private func stack(_ transport: Transport, _ policy: TimePolicy = .interactive) -> any Connection {
            transport.connection(clock)
                .limitingTime(as: .attempt, clock: clock)
                .retrying(RetryPolicy(retries: 1000, baseDelay: .seconds(1)), clock: clock)
                .coalescing(clock: clock)
                .caching(in: MemoryResponseStore(), clock: clock)
                .followingRedirects(upTo: 1_000_000, clock: clock)
                .limitingTime(policy, clock: clock)
        }

        /// Waits for the end of a call, for which at most a minute passes on the clock, and some seconds in reality.
        private func end<Value: Sendable>(of call: Task<Value, any Error>) async throws -> Result<Value, any Error> {
            let ended = Gate()
            let watching = Task {
                _ = await call.result
                ended.open()
            }
            defer { watching.cancel() }
            for _ in 0..<60 where !ended.isOpen {
                clock.advance(by: .seconds(1))
                try await Task.sleep(for: .milliseconds(5))
            }
            let alarm = Task {
                try await Task.sleep(for: .seconds(20))
                call.cancel()
            }
            defer { alarm.cancel() }
            return await call.result
        }

        @Test(arguments: Server.allCases, Transport.allCases)
        func `A stack with the defaults ends each call`(server: Server, transport: Transport) async throws {
            let pages = SeededGenerator(seed: 1)
            origin.route(nil, "*") { _ in
                guard server == .redirections else { return server.answer }
                return .init(.found, fields: ["Location": "/\(pages.next())"], body: "elsewhere")
            }
            let stack = stack(transport)
            let request = try Request.get(origin.url + "/")
            let call = Task { try await stack.send(request) }
            // The clock moves for a minute only, so the call must have begun.
            try await origin.waitForHeads(1)
            switch try await end(of: call) {
            case .failure(let error): #expect(error is TransportError, "\(error)")
            case .success(let response):
                #expect([302, 503].contains(response.status.code))
            }
        }

        @Test(arguments: Transport.allCases)
        func `A body that is dripped for ever ends at the deadline that a policy has for it`(
            transport: Transport
        ) async throws {
            var policy = TimePolicy.interactive
            policy.body = .seconds(40)
            origin.route(
                nil, "*",
                .script(.head(.ok, ["Content-Length": "1000000"]), .trickle(String.long("b"), every: .milliseconds(5))))
            let response = try await stack(transport, policy).send(.get(origin.url + "/"))
            let result = try await end(of: Task { try await response.body.data(upTo: 2 << 20) })
            let error = #expect(throws: TransportError.self) { try result.get() }
            #expect(error?.code == .deadlineExceeded)
            #expect(error?.stage == .body)
            try await origin.waitForOpenConnections(0)
        }
    }
}

extension String {
    /// The text so often that it takes longer to drip than a test.
    fileprivate static func long(_ text: String) -> String {
        String(repeating: text, count: 200_000 / text.utf8.count)
    }
}

extension IsolatedTests {
    /// One stack over each transport gives the same bytes.
    @Suite(.timeLimit(.minutes(3))) struct ContentCodingTests {
        #if os(Linux)
        @Test func `Over libcurl, all is decoded by the layer`() async throws {
            let connection = try CurlConnection()
            try await CodingChecks(connection).checkAnswers()
            try await CodingChecks(connection).checkTrailers()
            try await CodingChecks(connection).checkTruncatedMessage()
            try await CodingChecks(connection).checkTruncatedCoding()
            try await CodingChecks(connection).checkBomb()
            try await CodingChecks(connection).checkRequests()
        }
        #endif

        #if canImport(FoundationNetworking)
        @Test func `Over URLSession, the same comes decoded from beneath`() async throws {
            let checks = try CodingChecks(URLSessionConnection(), undecodable: ["items.members.gz", "items.deflate"])
            try await checks.checkAnswers()
            try await checks.checkTruncatedMessage()
            try await checks.checkRequests()
        }
        #endif
    }
}
