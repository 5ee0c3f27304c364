import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Tests which requests count as identical.
@Suite(.timeLimit(.minutes(3))) struct CoalescingKeyTests {
    static let base: @Sendable () throws -> Request = {
        var request = try Request.get(
            "https://a.example/page", fields: [.accept: "text/html", .acceptLanguage: "en", .acceptLanguage: "de"])
        request.options.principal = Principal("ann")
        return request
    }

    /// Sends two requests at the same time, and counts those that the base gets.
    private func count(
        _ first: Request, _ second: Request, policy: CoalescingPolicy = .standard, addingCredentials: Bool = false
    ) async throws -> Int {
        let gate = Gate()
        let stub = StubConnection { request in
            try await gate.wait()
            return Response(status: .ok)
        }
        let facts: Set<Layer.Fact> = addingCredentials ? [.addsCredentials] : []
        let connection = stub.intercepting(facts: facts) { request, base in try await base.send(request) }
            .coalescing(policy)
        let callers = await Callers.start(2) { number in try await connection.send(number == 0 ? first : second) }
        gate.open()
        for caller in callers { _ = try await caller.value }
        return stub.requests.count
    }

    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let apply: @Sendable (inout Request) throws -> Void

        init(_ description: String, _ apply: @escaping @Sendable (inout Request) throws -> Void) {
            testDescription = description
            self.apply = apply
        }
    }

    static let same: [Change] = [
        .init("nothing") { _ in },
        .init("the order of fields") {
            $0.head.headerFields = [.acceptLanguage: "en", .accept: "text/html", .acceptLanguage: "de"]
        },
        .init("trace context") { $0.head.headerFields[try name("traceparent")] = "00-1-2-01" },
        .init("the request's identifier") { $0.head.headerFields[try name("X-Request-Id")] = "42" },
        .init("the spelling of the URI") {
            $0.head.authority = "A.example:443"
            $0.head.path = "/x/../p%61ge"
        },
        .init("an option") { $0.options.routeName = "page" },
    ]

    static let different: [Change] = [
        .init("the wish for coded content") { $0.options.keepsContentCoding = true },
        .init("the policy for redirections") { $0.options.redirectionPolicy = .never },
        .init("the times of a call") { $0.options.timePolicy = .modelAnswer },
        .init("the times of an attempt") { $0.options.attemptTimePolicy = AttemptTimePolicy(.seconds(1)) },
        .init("the policy for retries") { $0.options.retryPolicy = .never },
        .init("a network that is forbidden") { $0.options.allowsCellularAccess = false },
        .init("the method") { $0.head.method = .head },
        .init("the scheme") { $0.head.scheme = "http" },
        .init("the host") { $0.head.authority = "b.example" },
        .init("the port") { $0.head.authority = "a.example:8443" },
        .init("the query") { $0.head.path = "/page?" },
        .init("the fragment") { $0.options.fragment = "part" },
        .init("the principal") { $0.options.principal = Principal("bob") },
        .init("no principal") { $0.options.principal = nil },
        .init("Authorization") { $0.head.headerFields[.authorization] = "Bearer bob" },
        .init("Cookie") { $0.head.headerFields[.cookie] = "a=b" },
        .init("an API key") { $0.head.headerFields[try name("X-API-Key")] = "key" },
        .init("Accept") { $0.head.headerFields[.accept] = "text/plain" },
        .init("no Accept") { $0.head.headerFields[.accept] = nil },
        .init("Range") { $0.head.headerFields[.range] = "bytes=0-9" },
        .init("If-None-Match") { $0.head.headerFields[.ifNoneMatch] = #""1""# },
        .init("Cache-Control") { $0.head.headerFields[.cacheControl] = "no-cache" },
        .init("the order of the values of a field") {
            $0.head.headerFields = [.accept: "text/html", .acceptLanguage: "de", .acceptLanguage: "en"]
        },
        .init("a repeated field") {
            $0.head.headerFields = [
                .accept: "text/html", .acceptLanguage: "en", .acceptLanguage: "de", .acceptLanguage: "de",
            ]
        },
        .init("another field of the same number") {
            $0.head.headerFields = [.accept: "text/html", .acceptLanguage: "en", .server: "de"]
        },
    ]

    private static func name(_ name: String) throws -> HTTPField.Name {
        try #require(HTTPField.Name(name))
    }

    @Test(arguments: same)
    func `Requests that differ in this are the same`(change: Change) async throws {
        var other = try Self.base()
        try change.apply(&other)
        #expect(try await count(Self.base(), other) == 1)
        #expect(try await count(other, Self.base()) == 1)
    }

    @Test(arguments: different)
    func `Requests that differ in this are not the same`(change: Change) async throws {
        var other = try Self.base()
        try change.apply(&other)
        #expect(try await count(Self.base(), other) == 2)
        #expect(try await count(other, Self.base()) == 2)
        #expect(try await count(other, other) == 1)
    }

    static let unshared: [Change] = [
        .init("a body") { $0.body = "content" },
        .init("a stream") { $0.body = GatedTransfer().body(chunks: 0) },
        .init("POST") { $0.head.method = .post },
        .init("DELETE") { $0.head.method = .delete },
        .init("OPTIONS") { $0.head.method = .options },
        .init("no-store") { $0.head.headerFields[.cacheControl] = "max-age=0, No-Store" },
        .init("the option") { $0.options.allowsCoalescing = false },
    ]

    @Test(arguments: unshared)
    func `A request that must not be shared is not shared`(change: Change) async throws {
        var request = try Self.base()
        try change.apply(&request)
        #expect(try await count(request, request) == 2)
    }

    @Test func `Credentials that are added further in are shared only for one principal`() async throws {
        var request = try Self.base()
        #expect(try await count(request, request, addingCredentials: true) == 1)
        request.options.principal = nil
        #expect(try await count(request, request, addingCredentials: true) == 2)
        #expect(try await count(request, request) == 1)
    }

    @Test func `A policy may ignore fields, but not credentials`() async throws {
        let policy = CoalescingPolicy(ignoring: [.accept, .authorization, .cookie])
        var other = try Self.base()
        other.head.headerFields[.accept] = "text/plain"
        #expect(try await count(Self.base(), other, policy: policy) == 1)
        other.head.headerFields[.cookie] = "a=b"
        #expect(try await count(Self.base(), other, policy: policy) == 2)
        other.head.headerFields[.cookie] = nil
        other.head.headerFields[.authorization] = "Bearer bob"
        #expect(try await count(Self.base(), other, policy: policy) == 2)
    }
}
