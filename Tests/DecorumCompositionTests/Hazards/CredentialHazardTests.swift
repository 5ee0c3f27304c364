import Decorum
import DecorumTesting
import HTTPTypes
import Testing

/// Credentials at the wrong place of a stack: the harm on the wire, the finding, and the mended stack.
@Suite(.timeLimit(.minutes(3))) struct CredentialHazardTests {
    private let foreign = { @Sendable (request: Request) -> Response in
        request.head.authority == "a.example" ? .redirection(to: "https://b.example/") : .page
    }

    @Test func `Another server gets a credential that is bound to no origin`() async throws {
        let (leaking, kept) = (StubConnection(foreign), StubConnection(foreign))
        let wrong = leaking.addingDefaultFields([.authorization: "Bearer secret"]).followingRedirects()
        let mended = kept.authenticating(with: try .bearer("secret"), for: site).followingRedirects()

        _ = try await wrong.send(.page)
        _ = try await mended.send(.page)

        #expect(leaking.values(of: .authorization) == ["Bearer secret", "Bearer secret"])
        #expect(kept.values(of: .authorization) == ["Bearer secret", nil])
        expectFinding(
            of: "credentialsForEveryOrigin", in: wrong, naming: ["addingDefaultFields", "followingRedirects"],
            notIn: mended)
    }

    @Test func `Credentials over http are found and refused, unless they are allowed`() async throws {
        let stub = StubConnection { _ in .page }
        let wrong = stub.authenticating(from: CountingSource(), for: try Origin("http://a.example"))
        let mended = wrong.allowingUnencryptedCredentials()
        let request = try Request.get("http://a.example/")

        await #expect(throws: InvalidRequestError.self) { try await wrong.send(request) }
        #expect(stub.requests.isEmpty)
        _ = try await mended.send(request)
        #expect(stub.values(of: .authorization) == ["Bearer token1"])
        expectFinding(of: "unencryptedCredentials", in: wrong, naming: ["authenticating"], notIn: mended)
        #expect(wrong.findings.map(\.severity) == [.error])
    }

    @Test func `A closure that adds a credential is found, unless it says that it compares the origin`() {
        func stack(_ facts: Set<Layer.Fact>) -> some Connection {
            StubConnection().intercepting("token", facts: facts, secretFields: [.authorization]) {
                try await $1.send($0)
            }
            .followingRedirects()
        }
        expectFinding(
            of: "credentialsForEveryOrigin", in: stack([.addsCredentials]), naming: ["token", "followingRedirects"],
            notIn: stack([.addsCredentials, .bindsToOrigins]))
    }

    @Test func `A relative request gets no credentials outside of its base`() async throws {
        let (without, with) = (StubConnection { _ in .page }, StubConnection { _ in .page })
        let wrong = try without.resolving(against: "https://a.example/").authenticating(with: .bearer("t"), for: site)
        let mended = try with.authenticating(with: .bearer("t"), for: site).resolving(against: "https://a.example/")

        _ = try await wrong.send(.get("items"))
        _ = try await mended.send(.get("items"))

        #expect(without.values(of: .authorization) == [nil])
        #expect(with.values(of: .authorization) == ["Bearer t"])
        expectFinding(of: "originSetTooLate", in: wrong, naming: ["resolving", "authenticating"], notIn: mended)
    }

    @Test func `A closure with a secret field is found inside of redirections, also where it declares nothing else`()
        throws
    {
        let key = try #require(HTTPField.Name("X-API-Key"))
        let wrong = StubConnection { _ in .page }
            .intercepting("key", secretFields: [key]) { try await $1.send($0) }.followingRedirects()
        #expect(wrong.findings.map(\.hazard) == ["credentialsForEveryOrigin"])
    }

    @Test func `A base URL without a slash at its end loses its last segment, and one with a query loses that`()
        async throws
    {
        let (cut, whole) = (StubConnection { _ in .page }, StubConnection { _ in .page })
        let wrong = try cut.resolving(against: "https://a.example/api/v3")
        let mended = try whole.resolving(against: "https://a.example/api/v3/")
        for connection: any Connection in [wrong, mended] { _ = try await connection.send(.get("user")) }

        #expect(cut.requests.map(\.head.path) == ["/api/user"])
        #expect(whole.requests.map(\.head.path) == ["/api/v3/user"])
        expectFinding(of: "baseURLCut", in: wrong, naming: ["resolving"], notIn: mended)
    }

    @Test func `Retries and pauses outside of the base URL take all servers for one`() throws {
        let wrong = try ClosureConnection(named: "transport", choosingFrom: []) { _ in .page }
            .resolving(against: "https://a.example/").pacing().retrying().limitingTime()
        #expect(wrong.findings.map(\.hazard) == ["originSetTooLate"])
        #expect(wrong.findings.first?.severity == .warning)
        #expect("\(wrong.findings)".contains("`retrying`") && "\(wrong.findings)".contains("`pacing`"))
    }

    @Test func `A cache over credentials stores nothing without a principal, or with one that is set further in`()
        async throws
    {
        let stubs = (0..<3).map { _ in StubConnection { _ in .page } }
        let credentials = try Credentials.bearer("t")
        let user = Principal("user")
        let without = stubs[0].authenticating(with: credentials, for: site).caching(in: MemoryResponseStore())
        let inside = stubs[1].authenticating(with: credentials, for: site).acting(for: user)
            .caching(in: MemoryResponseStore())
        let mended = stubs[2].authenticating(with: credentials, for: site).caching(in: MemoryResponseStore())
            .acting(for: user)

        for _ in 1...2 {
            _ = try await without.send(.page).text()
            _ = try await inside.send(.page).text()
            _ = try await mended.send(.page).text()
        }

        #expect(stubs.map(\.requests.count) == [2, 2, 1])
        #expect(throws: CompositionError.self) { try without.checked() }
        let ofMany = stubs[0].authenticating(from: CountingSource(servesOneUser: false), for: site).coalescing()
        #expect(ofMany.findings.map(\.severity) == [.information])
        expectFinding(of: "principalMissing", in: without, naming: ["caching", "authenticating"], notIn: mended)
        expectFinding(of: "principalSetTooLate", in: inside, naming: ["acting", "caching"], notIn: mended)
        let shared = stubs[0].authenticating(with: credentials, for: site).coalescing()
        expectFinding(
            of: "principalMissing", in: shared, naming: ["coalescing", "authenticating"],
            notIn: shared.acting(for: user))
    }

    @Test func `A principal for the whole stack gives one user the responses of another`() async throws {
        func server() -> StubConnection {
            StubConnection { request in
                var response = Response.page
                response.body = Body(request.head.headerFields[.authorization] ?? "")
                return response
            }
        }
        let (mixed, separate) = (server(), server())
        let users = CountingSource(servesOneUser: false)
        let wrong = mixed.authenticating(from: users, for: site).caching(in: MemoryResponseStore())
            .acting(for: Principal("token1"))
        let mended = separate.authenticating(from: users, for: site).caching(in: MemoryResponseStore())

        let first = try await wrong.send(.page).text()
        let second = try await wrong.send(.page).text()
        let third = try await mended.send(.page(of: "token2")).text()
        let fourth = try await mended.send(.page(of: "token3")).text()

        #expect(first == second && mixed.requests.count == 1)
        #expect(third != fourth && separate.requests.count == 2)
        expectFinding(
            of: "principalOfChangingUsers", in: wrong, naming: ["acting", "caching", "authenticating"], notIn: mended)
        let ofOneUser = mixed.authenticating(from: CountingSource(), for: site).caching(in: MemoryResponseStore())
            .acting(for: Principal("user"))
        #expect(ofOneUser.findings.isEmpty)
        let computed = mixed.overridingFields(secretFields: [.authorization]) { _ in [.authorization: "Bearer x"] }
        #expect(
            computed.caching(in: MemoryResponseStore()).acting(for: Principal("user")).findings
                .contains { $0.hazard == "principalOfChangingUsers" })
    }

    @Test func `Credentials outside of retries are those of the first attempt`() async throws {
        let clock = ImpatientClock()
        let (old, new) = (StubConnection { _ in .busy }, StubConnection { _ in .busy })
        let policy = RetryPolicy(retries: 1, budget: .perCall(1))
        let wrong = old.retrying(policy, clock: clock).authenticating(from: CountingSource(), for: site)
        let mended = new.authenticating(from: CountingSource(), for: site).retrying(policy, clock: clock)

        _ = try await wrong.send(.page)
        _ = try await mended.send(.page)

        #expect(old.values(of: .authorization) == ["Bearer token1", "Bearer token1"])
        #expect(new.values(of: .authorization) == ["Bearer token1", "Bearer token2"])
        expectFinding(
            of: "credentialsOutsideOfRetries", in: wrong, naming: ["authenticating", "retrying"], notIn: mended)
    }
}
